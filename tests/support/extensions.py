"""Extension modules that are made for a test, from one file each."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest


def compiled(source: Path, folder: Path, *flags: str) -> Any:
    """The module of a C++ file, whose name it has. Skips the test where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("this machine has no C++ compiler")
    path = folder / f"{source.stem}.so"
    include = sysconfig.get_paths()["include"]
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", f"-I{include}", str(source)]
    subprocess.run([*command, "-o", str(path), *flags], check=True, timeout=900)
    spec = importlib.util.spec_from_file_location(source.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
