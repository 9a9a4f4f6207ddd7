"""Seconds of `make hammer`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sources import ROOT


@pytest.mark.parametrize("profile", ["torch-1.2", "torch-1.10", "torch-2.9", "torch-2.13", "oneflow-0.9"])
def test_eight_threads_leave_nothing_behind(profile: str) -> None:
    options = ["--seconds", "0.5", "--profile", profile]
    command = [sys.executable, "-m", "benchmarks.hardening.hammer", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith("left alive: nothing\n")
