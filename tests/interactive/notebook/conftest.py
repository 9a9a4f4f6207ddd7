"""Cells run in a real IPython shell, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from notebooks import RUNNER, Cells


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    """Return the output of each cell, in a new shell that has the extension."""

    def run(*sources: str) -> list[str]:
        command = [sys.executable, "-c", RUNNER, json.dumps(["%load_ext gradlife", *sources])]
        environment = {**os.environ, "IPYTHONDIR": str(tmp_path), "COLUMNS": "100", "PYTHONWARNINGS": "error"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        loaded, *said = [json.loads(line) for line in done.stdout.splitlines()]
        assert loaded == ""
        return said

    return run
