"""The tools of an assistant. Each answer is that of a command, run in a child; no file of the program is changed."""

from __future__ import annotations

import json
import os
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


def hunt(target: str, arguments: Sequence[str] = (), steps: int | None = None, folder: str = ".") -> dict[str, Any]:
    """Run a training script (train.py), module (-m package.train) or function (file.py::step), find what grows from step to
    step, and say where it is stored (stored_at), who holds it, and the change that ends it (patch, a unified diff).

    The program runs as it is, in the folder; its files are not changed.
    """
    with tempfile.TemporaryDirectory(prefix="gradlife-mcp-") as name:
        report = Path(name, "report.json")
        words = ["hunt", "--json", str(report), *([] if steps is None else ["--steps", str(steps)])]
        said = command([*words, *target_words(target), "--", *arguments], folder, is_program=True)
        if not report.exists():
            raise ToolFailed(said or "the program left no report", "gradlife hunt TARGET in a terminal")
        document = json.loads(report.read_text(encoding="utf-8"))
    findings = [{key: one[key] for key in FINDING_KEYS if key in one} for one in document["findings"]]
    kept = {key: document[key] for key in ("verdict", "stepped_by", "trouble", "limits") if key in document}
    return {**kept, "findings": findings, "screen": said}


def why(snapshot: str, what: str) -> str:
    """Say why an object of a snapshot file is alive: the path from a root. ``what``: a type, a name or an address."""
    return command(["why", *names(snapshot, what)])


def snapshot(script: str, output: str, arguments: Sequence[str] = (), folder: str = ".") -> str:
    """Run a script, write its heap at its end to a new file, and say what the program's variables hold.

    The answer begins with the path of the file, for ``why`` and ``diff``.
    """
    path = os.path.join(folder, *names(output))
    if os.path.exists(path):
        raise ToolFailed(f"{path} exists", "another file name")
    said = command(["snapshot", "-o", output, *target_words(script), *arguments], folder, is_program=True)
    if not os.path.exists(path):
        raise ToolFailed(said, "gradlife snapshot -o FILE SCRIPT in a terminal")
    return f"{os.path.abspath(path)}:\n{command(['open', output], folder)}"


def diff(before: str, after: str) -> str:
    """Say what is new, gone and grown between two snapshot files."""
    return command(["diff", *names(before, after)])


def explain(name: str) -> str:
    """Explain a code such as GL402: why it leaks and what to do; or describe a lifetime story by its name."""
    return command(["explain", "--no-run", *names(name)])


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


def command(words: Sequence[str], folder: str = ".", is_program: bool = False) -> str:
    """Return what a command prints. Raises ToolFailed if it gave no answer; a program's own exit status does not
    matter.
    """
    status, said, errors = ended([sys.executable, "-m", "gradlife", *words], folder)
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
