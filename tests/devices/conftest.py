"""The simulated accelerator, compiled once for all workers, and programs that run on it in children."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).parent / "simulated"
LIBRARY = "simulated_accelerator.so"

#: What every program begins with.
PRELUDE = """
import json, torch
import simulated_accelerator as native
import simulated_device
from gradlife.devices.live import device_memory
device = "simulated"
def show(**more):
    import dataclasses
    print(json.dumps({**dataclasses.asdict(device_memory()), **more}))
"""

Program = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def accelerator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the library of the accelerator."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / "accelerator"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / LIBRARY).exists():
            compile_into(folder)
    return folder


def compile_into(folder: Path) -> None:
    """Compile the accelerator against the installed torch."""
    torch = Path(pytest.importorskip("torch").__file__).parent
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("this machine has no C++ compiler")
    include = torch / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    libraries = ["-ltorch", "-ltorch_cpu", "-lc10", "-ltorch_python", f"-L{torch / 'lib'}"]
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-w", *(f"-I{one}" for one in folders)]
    target = folder / f"{LIBRARY}.partial"
    subprocess.run([*command, str(SOURCES / "accelerator.cpp"), "-o", str(target), *libraries], check=True, timeout=900)
    target.rename(folder / LIBRARY)


@pytest.fixture
def on_device(accelerator: Path, tmp_path: Path) -> Program:
    """Runs a program on the accelerator; what it shows last, from JSON."""

    def run(program: str) -> dict[str, Any]:
        script = tmp_path / "program.py"
        script.write_text(PRELUDE + program)
        path = os.pathsep.join([str(accelerator), str(SOURCES)])
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stderr
        shown: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return shown

    return run
