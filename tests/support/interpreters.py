"""Interpreters made on the spot: virtual environments with a framework of a few lines, and scripts that only look like one."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: A framework that is enough for stories about plain tensors.
TORCH = """
__version__ = "1.1.0"

class Storage:
    def nbytes(self):
        return 16

class Tensor:
    grad_fn = None
    def __init__(self, size):
        self.size = size
        self._storage = Storage()
    def untyped_storage(self):
        return self._storage
    def requires_grad_(self):
        return self
    def tolist(self):
        return [1.0] * self.size

def ones(size):
    return Tensor(size)
"""


def make_environment(folder: Path, base: str = sys.executable, **modules: str) -> str:
    """A virtual environment with these modules, `torch="..."`; the path of its interpreter."""
    subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for name, source in modules.items():
        (packages / f"{name}.py").write_text(source, encoding="utf-8")
    return str(folder / "bin" / "python")


def make_script(file: Path, *lines: str) -> str:
    """A shell script in the place of an interpreter."""
    file.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def old_python(minor: int) -> str:
    """Python 3.minor; the test is skipped where it is not there."""
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = sorted(glob.glob(f"{root}/versions/3.{minor}.*/bin/python3"))
    path = found[-1] if found else shutil.which(f"python3.{minor}")
    if path is None or subprocess.run([path, "-c", "import venv"], capture_output=True).returncode:
        pytest.skip(f"no Python 3.{minor} here")
    return path
