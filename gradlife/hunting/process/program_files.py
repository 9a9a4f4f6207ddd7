"""Files of installed packages, whose functions may be a program's steps, too."""

from __future__ import annotations

import functools
import os

from gradlife.heap.program_modules import absolute, package_folders

GRADLIFE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")


@functools.cache
def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package other than torch and gradlife."""
    path = absolute(file)
    if not file.endswith(".py") or path.startswith(GRADLIFE):
        return False
    rest = next((path[len(folder) :] for folder in package_folders() if path.startswith(folder)), "")
    return bool(rest) and rest.split(os.sep)[0] != "torch"
