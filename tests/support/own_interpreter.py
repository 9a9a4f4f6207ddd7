"""Programs in an interpreter of their own, and the lines that they print."""

from __future__ import annotations

import os
import subprocess
import sys


def lines_of(program: str, **environment: str) -> list[str]:
    """Run a program with further variables; it must end well and print no error."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()
