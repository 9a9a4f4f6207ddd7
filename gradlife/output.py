"""Output files of reports: checked before anything runs, and replaced atomically.

A GitHub job summary is the exception: earlier content from other steps of the job is kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from gradlife.descriptors import move_up
from gradlife.errors import EXIT_COULD_NOT_TELL, OutputError
from gradlife.visible_text import visible_lines

STDOUT = "-"

#: Characters of a report's name in the name of the file that becomes the report: a name has at most 255 bytes.
LONGEST_START = 50

#: The variable with the file of a step's summary on GitHub, in Markdown.
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


class LostOutputError(OutputError):
    """The output could be opened before the run, but not written after it."""

    exit_status = EXIT_COULD_NOT_TELL


class OutputFile:
    """A file to be written at the end of a run; entering it proves that it can be.

    An ordinary file is written next to its destination and then moved, so that neither a failed run nor a full disk
    destroys an earlier report.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        self._partial = ""
        self._target = ""  # the place that `path` named when the file was opened
        self._pid = os.getpid()

    def __enter__(self) -> OutputFile:
        try:
            self._open()
        except OSError as error:
            self.__exit__(None, None, None)
            raise OutputError(
                f"cannot write {self.path}: {reason(error)}", "name a file in a folder that you may write to"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if self._partial and os.getpid() == self._pid:  # a fork of this process leaves the file alone
            unlink_quietly(self._partial)

    def write(self, text: str) -> None:
        """Write the whole file, as visible lines. JSON has escaped by itself what they would spell out."""
        data = visible_lines(text).encode("utf-8", "replace")
        self.fill(lambda descriptor: write_all(descriptor, data), "another place, or -")

    def fill(self, write: Callable[[int], None], hint: str = "another place") -> None:
        """Write the file through a function that receives its descriptor."""
        try:
            write(self._descriptor)
            self._close()
            if self._partial:
                os.replace(self._partial, self._target)
                self._partial = ""
        except OSError as error:
            raise LostOutputError(f"the report could not be written to {self.path}: {reason(error)}", hint) from None

    def _open(self) -> None:
        mode = file_mode(self.path)
        if mode is not None and not stat.S_ISREG(mode):
            self._descriptor = move_up(os.open(self.path, os.O_WRONLY))
            return
        self._target = target = os.path.realpath(self.path)  # the program may change the folder before it is written
        if mode is not None:
            os.close(os.open(target, os.O_WRONLY))  # never replace a read-only file
        descriptor, self._partial = made_beside(target, 0o666 if mode is None else 0o600)
        self._descriptor = move_up(descriptor)
        if mode is not None:
            os.fchmod(self._descriptor, stat.S_IMODE(mode))

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class AppendedFile(OutputFile):
    """A file to which a report is appended, because other commands write to it, too, and its reader holds it open."""

    def _open(self) -> None:
        file_mode(self.path)
        self._descriptor = move_up(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666))

    def write(self, text: str) -> None:
        """Append the text, after a blank line if the file has content."""
        super().write("\n" * (os.fstat(self._descriptor).st_size > 0) + text)


class OutputStream:
    """Standard output in place of a file."""

    def __enter__(self) -> OutputStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def write(self, text: str) -> None:
        """Write the whole text as visible lines, and flush it."""
        try:
            sys.stdout.write(visible_lines(text))
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise LostOutputError(f"the report could not be written to standard output: {reason(error)}") from None


class NoOutput(OutputStream):
    """The writer for an output that was not requested."""

    def write(self, text: str) -> None:
        """Drop the text."""


def open_output(path: str | None) -> OutputFile | OutputStream:
    """Open the output that `--json PATH` requests."""
    if path is None:
        return NoOutput()
    if path == STDOUT:
        return OutputStream()
    return AppendedFile(path) if is_summary(path) else OutputFile(path)


def is_summary(path: str) -> bool:
    """Whether this is the summary file of the current GitHub step."""
    summary = os.environ.get(SUMMARY_VARIABLE)
    return bool(summary) and os.path.realpath(path) == os.path.realpath(summary or "")


def file_mode(path: str) -> int | None:
    """Return the mode of an existing file, None if there is none. Refuses a folder."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "is a folder")
    return mode


def made_beside(target: str, mode: int) -> tuple[int, str]:
    """Make a file in the folder of another; return its descriptor and path. The system takes the umask off the mode: to read
    the umask is to set it for a moment, for all threads of the program.
    """
    folder, name = os.path.split(target)
    while True:
        path = os.path.join(folder, f".{name[:LONGEST_START]}.{os.urandom(4).hex()}.partial")
        with contextlib.suppress(FileExistsError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, in as many calls as needed."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def reason(error: OSError) -> str:
    """Return the system's reason for an error."""
    return (error.strerror or str(error)).lower()


def unlink_quietly(path: str) -> None:
    """Remove a file if it exists."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def say(words: str, to: TextIO | None = None) -> None:
    """Print a message at once, to standard error by default; a closed stream is ignored."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # None where Python began without standard error
        stream = sys.stderr if to is None else to
        stream.write(f"{visible_lines(words)}\n")  # in one piece: a program may write to the same file
        stream.flush()


def say_to_runner(command: str, to: TextIO) -> None:
    """Print a command for a CI runner, whose words were escaped one by one."""
    print(command, file=to, flush=True)
