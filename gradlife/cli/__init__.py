"""The command line: `gradlife COMMAND ...`.

Each command is a module of this package with two functions, `add_arguments(parser)` and `run(args)`, and is imported
only when used. Every `GradlifeError` ends here as one line on standard error and an exit status.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence

from gradlife.descriptors import NONE_LEFT
from gradlife.errors import EXIT_COULD_NOT_TELL, EXIT_USAGE, GradlifeError, line_of
from gradlife.output import say

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

#: Error numbers of a disk that is full or broken.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status of the process."""
    try:
        from gradlife.cli.dispatch import dispatch

        open_missing_streams()
        forgive_narrow_encodings()
        # not `list(...)`: once that command is imported, the name means its module
        status = dispatch([*(sys.argv[1:] if arguments is None else arguments)])
        with contextlib.suppress(AttributeError, ValueError):  # a script that ran here took or closed it
            sys.stdout.flush()
        return status
    except GradlifeError as error:
        say(one_line(error))
        return error.exit_status
    except MemoryError:
        say("gradlife: error: the answer does not fit into memory (try: a machine with more memory, or fewer rows)")
        return EXIT_COULD_NOT_TELL
    except KeyboardInterrupt:
        say("gradlife: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno in NONE_LEFT:
            say("gradlife: error: this process may open no more files (try: ulimit -n 256)")
            return EXIT_USAGE
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        abandon_stdout()
        say(f"gradlife: error: standard output can't be written: {error.strerror}")
        return EXIT_COULD_NOT_TELL


def one_line(error: GradlifeError) -> str:
    """Format an error as the one line that a user sees."""
    text = f"gradlife: error: {error.message}"
    if error.hint:
        text += f" (try: {error.hint.removeprefix('try: ')})"
    return line_of(text)


def open_missing_streams() -> None:
    """Replace closed standard streams by the null device, so that no file gets one of their descriptors."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def forgive_narrow_encodings() -> None:
    """Print a question mark instead of a traceback for a character that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def abandon_stdout() -> None:
    """Discard output at interpreter exit: the reader (`| head`) has gone, which is not an error."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
