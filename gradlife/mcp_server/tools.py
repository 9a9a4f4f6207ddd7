"""The tools of an assistant. Each answer is that of a command, run in a child; no file of the program is changed.

Programs and files lie below a root folder; those that a symbolic link leads out of it are refused.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from gradlife.errors import EXIT_COULD_NOT_TELL, EXIT_FOUND, GradlifeError

#: Time limit of a program, in seconds, and the time that gradlife then has for its report.
LIMIT, GRACE = 900.0, 60.0

#: Most characters of a program's output and report.
MAX_TEXT = 8_000

#: Keys of a finding that an assistant needs; the whole report would fill its context.
FINDING_KEYS = (
    "code",
    "title",
    "kind",
    "severity",
    "stored_at",
    "patch",
    "per_step",
    "retained_bytes",
    "created_at",
    "diagnosis",
)

#: Exit statuses of a command that gave an answer.
ANSWERS = (0, EXIT_FOUND, EXIT_COULD_NOT_TELL)


class ToolFailed(GradlifeError):
    """The command gave no answer; the text is its output."""


class Tools:
    """The tools of a server whose programs and files lie below a root folder."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def hunt(
        self, target: str, arguments: Sequence[str] = (), steps: int | None = None, folder: str = "."
    ) -> dict[str, Any]:
        """Run a training script (train.py), module (-m package.train) or function (file.py::step), find what grows from
        step to step, and say where it is stored (stored_at), who holds it, and the change that ends it (patch, a unified
        diff).

        The program runs as it is, in the folder; its files are not changed. ``ran`` is the command that was run.
        """
        place = self._below(folder)
        program = self._program(target, place)
        with tempfile.TemporaryDirectory(prefix="gradlife-mcp-") as name:
            report = Path(name, "report.json")
            words = ["hunt", "--json", str(report), *([] if steps is None else ["--steps", str(steps)])]
            said = command([*words, *program, "--", *arguments], place, is_program=True)
            if not report.exists():
                raise ToolFailed(said or "the program left no report", "gradlife hunt TARGET in a terminal")
            document = json.loads(report.read_text(encoding="utf-8"))
        findings = [{key: one[key] for key in FINDING_KEYS if key in one} for one in document["findings"]]
        kept = {key: document[key] for key in ("verdict", "stepped_by", "trouble", "limits") if key in document}
        ran = shlex.join(["gradlife", "hunt", *program, *arguments])
        return {"ran": f"{ran} in {place}", **kept, "findings": findings, "screen": said}

    def why(self, snapshot: str, what: str) -> str:
        """Say why an object of a snapshot file is alive: the path from a root. ``what``: a type, a name or an address."""
        return command(["why", self._below(names(snapshot)[0]), *names(what)], self._root)

    def snapshot(self, script: str, output: str, arguments: Sequence[str] = (), folder: str = ".") -> str:
        """Run a script, write its heap to a new file when its outermost function returns, and say what its variables hold.

        The answer begins with the path of the file, for ``why`` and ``diff``, and the command that was run.
        """
        place = self._below(folder)
        program = self._program(script, place)
        path = self._below(names(output)[0], place)
        if os.path.lexists(path):
            raise ToolFailed(f"{path} exists", "another file name")
        said = command(["snapshot", "-o", path, *program, *arguments], place, is_program=True)
        if not os.path.exists(path):
            raise ToolFailed(said, "gradlife snapshot -o FILE SCRIPT in a terminal")
        ran = shlex.join(["gradlife", "snapshot", "-o", output, *program, *arguments])
        return f"{path}:\nran {ran} in {place}\n{command(['open', path], place)}"

    def diff(self, before: str, after: str) -> str:
        """Say what is new, gone and grown between two snapshot files."""
        return command(["diff", *(self._below(one) for one in names(before, after))], self._root)

    def explain(self, name: str) -> str:
        """Explain a code such as GL402: why it leaks and what to do; or describe a lifetime story of gradlife by its name.

        No file is imported.
        """
        return command(["explain", "--no-run", *names(name)], self._root)

    def _below(self, path: str, folder: str = "") -> str:
        """Return the real path of a file or folder. Raises ToolFailed if it lies outside of the root, perhaps by a link."""
        try:
            real = os.path.realpath(os.path.join(folder or self._root, path))
        except ValueError:  # a zero byte
            raise ToolFailed(f"{path!r} is no path", "the name of a file") from None
        if real != self._root and not real.startswith(os.path.join(self._root, "")):
            raise ToolFailed(f"{path} is outside of {self._root}", "gradlife mcp --root FOLDER, as its user")
        return real

    def _program(self, target: str, folder: str) -> list[str]:
        """Return the words of a program, whose file or package must not lie outside of the root."""
        words = target_words(target)
        if words[0] == "-m":
            self._module(words[1], folder)
        elif (
            words[0].partition("::")[0].endswith(".py")
            or os.sep in words[0]
            or os.path.lexists(os.path.join(folder, words[0]))
        ):
            self._below(words[0].partition("::")[0], folder)
        else:
            self._module(words[0].partition(":")[0], folder)
        return words

    def _module(self, name: str, folder: str) -> None:
        """Raise ToolFailed if a module of the folder is a link out of the root. Others are those of the server's Python."""
        first = name.partition(".")[0]
        for file in (first, f"{first}.py", f"{name.replace('.', os.sep)}.py"):
            if os.path.lexists(os.path.join(folder, file)):
                self._below(file, folder)


def target_words(target: str) -> list[str]:
    """Split the target into command-line words: `-m package.train` is two. Other options are refused."""
    if target.startswith("-m "):
        return ["-m", *names(target.removeprefix("-m ").strip())]
    return names(target)


def names(*words: str) -> list[str]:
    """Return the words; raise ToolFailed for one that the command would read as an option, such as ``--write``."""
    wrong = next((word for word in words if word.startswith("-")), None)
    if wrong is not None:
        raise ToolFailed(f"{wrong!r} is an option", "the name of a program, a file or an object")
    return list(words)


def command(words: Sequence[str], folder: str, is_program: bool = False) -> str:
    """Return what a command prints. Raises ToolFailed if it gave no answer; a program's own exit status does not
    matter.
    """
    status, said, errors = ended(
        [sys.executable, "-P", "-m", "gradlife", *words], folder
    )  # -P: no module of the folder
    if not is_program and status not in ANSWERS:
        raise ToolFailed(errors or f"status {status}", "gradlife --help")
    if not is_program:
        return said
    return "\n".join(part for part in (errors, said) if part)[-MAX_TEXT:]


def ended(command: Sequence[str], folder: str) -> tuple[int, str, str]:
    """Run a command to its end or the time limit; return its exit status, output and errors.

    They go to files: what a program leaves running in the background may hold its output open.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            )
        except OSError as error:
            raise ToolFailed(f"it did not run: {error}", "gradlife in a terminal") from None
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            status = end(process)
            errors.write(f"\nended after {LIMIT:,.0f} seconds".encode())
        except BaseException:
            end(process)
            raise
        return status, text_of(output), text_of(errors)


def end(process: subprocess.Popen[bytes]) -> int:
    """End a command and what it runs. gradlife passes the signal on to its program, and writes what it knows by then."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def text_of(file: IO[bytes]) -> str:
    """Return what was written to a file."""
    file.seek(0)
    return file.read().decode(errors="replace").strip()
