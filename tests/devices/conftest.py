"""The simulated accelerator, compiled once for all workers, and programs that run on it in children."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from device_programs import PRELUDE

SOURCES = Path(__file__).parent / "simulated"
SERVER = Path(__file__).parent / "support" / "device_server.py"
LIBRARY = "simulated_accelerator.so"

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


@pytest.fixture(scope="session")
def device_server(accelerator: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has imported torch with the accelerator, and runs programs in copies of itself."""
    path = os.pathsep.join([str(accelerator), str(SOURCES)])
    with subprocess.Popen(
        [sys.executable, str(SERVER)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield server
        server.kill()


@pytest.fixture(scope="session")
def run_on_device(device_server: subprocess.Popen[str]) -> Callable[[Path, str], dict[str, Any]]:
    """Runs a program in a folder on the accelerator; what it shows last, from JSON."""

    def run(folder: Path, program: str) -> dict[str, Any]:
        script = folder / "program.py"
        script.write_text(PRELUDE + program)
        assert device_server.stdin is not None
        assert device_server.stdout is not None
        print(script, file=device_server.stdin, flush=True)
        status = device_server.stdout.readline()
        assert status == "0\n", Path(f"{script}.err").read_text()
        shown: dict[str, Any] = json.loads(Path(f"{script}.out").read_text().splitlines()[-1])
        return shown

    return run


@pytest.fixture
def on_device(run_on_device: Callable[[Path, str], dict[str, Any]], tmp_path: Path) -> Program:
    """Runs a program on the accelerator; what it shows last, from JSON."""
    return lambda program: run_on_device(tmp_path, program)
