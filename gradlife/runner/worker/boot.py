"""Start a worker interpreter with its parent's import path, or another interpreter with the worker's archive and its
own path; never with the current folder.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Sequence

#: The code that the interpreter runs. It sets the path first, so that nothing is imported from the working folder.
_BOOT = (
    "import sys; sys.path[:] = [entry for entry in sys.path if entry]; import json; order = json.loads(sys.argv[1]); "
    "sys.path[:] = order['path'] or [order['archive']] + sys.path; "
    "from gradlife.runner.worker.start import started; started(order)"
)


def boot_arguments(role: str, order: dict[str, Any]) -> list[str]:
    """Return the command line of a worker (`serve` or `fresh`) in this interpreter."""
    path = [entry for entry in sys.path if entry]
    order = dict(order, role=role, path=path, package=list(package_folders()))
    return [sys.executable, "-c", _BOOT, json.dumps(order)]


def foreign_boot_arguments(interpreter: str, archive: str, package: Sequence[str], order: dict[str, Any]) -> list[str]:
    """Return the command line of a server in another interpreter, whose path follows the worker's archive.

    package: where it finds the rest of gradlife, if it can use that.
    """
    order = dict(order, role="serve", path=[], archive=archive, package=list(package))
    return [interpreter, "-c", _BOOT, json.dumps(order)]


def package_folders() -> list[str]:
    """Return the list of folders that gradlife is imported from, to be changed in place."""
    folders: list[str] = vars(sys.modules["gradlife"])["__path__"]
    return folders
