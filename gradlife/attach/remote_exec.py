"""Has a running interpreter run a file: `sys.remote_exec`, from Python 3.14 on. Nothing stops meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from gradlife.attach.processes import SERVE_HINT, Target
from gradlife.attach.protocol import AttachError


def runs_on_request(target: Target) -> bool:
    """Can this interpreter ask the other one? Both must be of the same version, 3.14 at least."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return remote_exec() is not None and target.python == own


def remote_exec() -> Callable[[int, str], Any] | None:
    """The function, where this Python has it and nobody switched it off."""
    return getattr(sys, "remote_exec", None) if not os.environ.get("PYTHON_DISABLE_REMOTE_DEBUG") else None


def request(target: Target, source: str, path: str) -> None:
    """Have the process run the source, soon and in its main thread; AttachError where it may not be asked.

    ``path`` is a file that the process can read; it is written here.
    """
    run = remote_exec()
    assert run is not None
    with open(path, "w", encoding="ascii") as file:
        file.write(source)
    try:
        run(target.pid, path)
    except (OSError, RuntimeError) as error:
        raise AttachError(f"{target.title} cannot be asked: {error}", SERVE_HINT) from None
