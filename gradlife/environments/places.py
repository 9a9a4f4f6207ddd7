"""Folders and names of registered environments."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gradlife.errors import UsageError, shortened

#: The variable with the folder for everything that gradlife keeps between runs.
FOLDER_VARIABLE = "GRADLIFE_HOME"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def environments_folder() -> Path:
    """Return the folder of all environments: in $GRADLIFE_HOME, else in the user's data folder."""
    home = os.environ.get(FOLDER_VARIABLE)
    if home:
        return Path(home).absolute() / "environments"
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if os.path.isabs(data) else Path.home() / ".local" / "share"
    return base / "gradlife" / "environments"


def environment_folder(name: str) -> Path:
    """Return the folder of an environment of this name, which may not exist."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{shortened(name)!r} is not a valid name for an environment",
            "letters, digits and . _ + - after a letter or a digit, at most 64",
        )
    return environments_folder() / name


def python_of(folder: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return folder / "bin" / "python"
