"""The checks of `make gpu`, on the simulated accelerator: they pass there, and without a device they say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIMULATED = Path(__file__).parent / "simulated"


def gpu(*words: str, path: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "benchmarks.gpu", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)


@pytest.mark.torch
def test_without_a_gpu_it_says_so_and_checks_nothing() -> None:
    done = gpu()
    assert (done.returncode, done.stdout) == (0, "no GPU: torch finds no cuda here, so nothing was checked\n")


@pytest.mark.torch
@pytest.mark.whole
@pytest.mark.long
def test_a_leak_and_an_out_of_memory_are_recognized_on_a_device(accelerator: Path, tmp_path: Path) -> None:
    size = ("--width", "64", "--steps", "40", "--piece", "64")
    device = ("--device", "simulated", "--import", "simulated_device")
    report = tmp_path / "figures.json"
    done = gpu(*device, *size, "--only", "leak", "out_of_memory", "--json", str(report), path=(accelerator, SIMULATED))
    assert done.returncode == 0, done.stdout + done.stderr
    checks = json.loads(report.read_text())["checks"]
    assert [(one["name"], one["is_right"]) for one in checks] == [
        ("outputs kept each step", True),
        ("an out of memory", True),
    ]
