"""A script run as `python SCRIPT` runs it: as the main module, with its own arguments, output, errors and status."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import types
from dataclasses import dataclass

from gradlife.errors import UsageError
from gradlife.hunting.stepping import EnoughSteps
from gradlife.hunting.targets import AskedWrongly, ScriptTarget
from gradlife.output import reason

INTERRUPTED = 130


@dataclass(frozen=True)
class Ended:
    """How a script came to its end."""

    status: int
    error: BaseException | None = None  # what it died of; its traceback holds the frames


def compiled(path: str) -> types.CodeType:
    """The script's code; UsageError where there is none."""
    try:
        with open(path, "rb") as file:
            return compile(file.read(), path, "exec", dont_inherit=True)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}", "the name of a Python script") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python script: {error}", f"python {path}") from None


def become_main(target: ScriptTarget) -> types.ModuleType:
    """Makes the module, the arguments and the path that the script expects."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=target.path, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    sys.argv[:] = [target.path, *target.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(target.path))
    return main


def run_script(code: types.CodeType, main: types.ModuleType) -> Ended:
    """Runs to the end of the script; what it raises is told as Python tells it."""
    try:
        exec(code, main.__dict__)
        wait_for_threads()
    except SystemExit as error:
        return Ended(exit_status(error.code))
    except EnoughSteps:
        return Ended(0)
    except AskedWrongly:
        raise
    except BaseException as error:  # an interrupt too: the report comes first
        tell(error)
        return Ended(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, error)
    return Ended(0)


def wait_for_threads() -> None:
    """Threads that the script left running belong to it: Python waits for them, too."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def exit_status(code: object) -> int:
    """What `sys.exit(code)` means."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def tell(error: BaseException) -> None:
    """Prints what the script died of, through its own hook if it has one, without the frames that ran it."""
    strip_own_frames(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception:
        traceback.print_exc()
    sys.stderr.flush()


def strip_own_frames(error: BaseException) -> None:
    """Takes the frames of gradlife off the top of a traceback."""
    trace = error.__traceback__
    while trace is not None and is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    error.__traceback__ = trace if trace is not None else error.__traceback__


def is_own(file: str) -> bool:
    """Is this code gradlife's?"""
    return file == "<hunt>" or file.startswith(os.path.dirname(os.path.abspath(__file__)) + os.sep)
