"""Find the interpreters for the releases."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path


def find_python(version: str, given: Mapping[str, str]) -> str | None:
    """Return the path of an interpreter of this version: the given one, pyenv's newest, or the one on PATH."""
    return given.get(version) or newest_of_pyenv(version) or shutil.which(f"python{version}")


def newest_of_pyenv(version: str) -> str | None:
    """Return pyenv's newest interpreter of a version."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(root.glob(f"versions/{version}.*/bin/python3"), key=numbers)
    return str(found[-1]) if found else None


def numbers(path: Path) -> list[int]:
    """Return the release numbers in a path of pyenv."""
    return [int(number) for number in re.findall(r"\d+", path.parent.parent.name)]
