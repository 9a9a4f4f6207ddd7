"""Makes a running interpreter run a file with `sys.remote_exec`, from Python 3.14 on. The process is not stopped.

Its main thread runs the file when it next runs Python code: not while it sleeps, or waits for another thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from gradlife.attach.processes import SERVE_HINT, Target
from gradlife.attach.protocol import AttachError


def runs_on_request(target: Target) -> bool:
    """Whether this interpreter can make the other one run code. Both must have the same version, 3.14 or later."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return remote_exec() is not None and target.python == own


def remote_exec() -> Callable[[int, str], Any] | None:
    """Return `sys.remote_exec`, if this Python has it and it is not switched off."""
    return getattr(sys, "remote_exec", None) if not os.environ.get("PYTHON_DISABLE_REMOTE_DEBUG") else None


def request(target: Target, source: str, path: str) -> None:
    """Make the process run the source soon, in its main thread; AttachError if that is not allowed.

    ``path``: a file that the process can read, to which the source is written.
    """
    run = remote_exec()
    assert run is not None
    with open(path, "w", encoding="ascii") as file:
        file.write(source)
    try:
        run(target.pid, path)
    except (OSError, RuntimeError) as error:
        raise AttachError(f"{target.title} cannot be asked: {error}", SERVE_HINT) from None


def withdraw(target: Target) -> None:
    """Make the process run nothing instead of the file that was requested, which is about to go.

    There is one request at a time. The process would print an error about a file that is not there.
    """
    run = remote_exec()
    assert run is not None
    with contextlib.suppress(OSError, RuntimeError):
        run(target.pid, os.devnull)
