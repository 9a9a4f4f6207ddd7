"""The tools of an assistant. Each answer is that of a command, run in a child; no file of the program is changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradlife.errors import EXIT_COULD_NOT_TELL, EXIT_FOUND, GradlifeError

#: Time limit of a program, in seconds.
LIMIT = 900

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
        said = command([*words, *target_words(target), *arguments], folder, is_program=True)
        if not report.exists():
            raise ToolFailed(said or "the program left no report", "gradlife hunt TARGET in a terminal")
        document = json.loads(report.read_text(encoding="utf-8"))
    findings = [{key: one[key] for key in FINDING_KEYS if key in one} for one in document["findings"]]
    kept = {key: document[key] for key in ("verdict", "stepped_by", "trouble", "limits") if key in document}
    return {**kept, "findings": findings, "screen": said}


def why(snapshot: str, what: str) -> str:
    """Say why an object of a snapshot file is alive: the path from a root. ``what``: a type, a name or an address."""
    return command(["why", snapshot, what])


def snapshot(script: str, output: str, arguments: Sequence[str] = (), folder: str = ".") -> str:
    """Run a script, write its heap at its end to a new file, and say what the program's variables hold."""
    path = os.path.join(folder, output)
    if os.path.exists(path):
        raise ToolFailed(f"{path} exists", "another file name")
    said = command(["snapshot", "-o", output, *target_words(script), *arguments], folder, is_program=True)
    if not os.path.exists(path):
        raise ToolFailed(said, "gradlife snapshot -o FILE SCRIPT in a terminal")
    return command(["open", output], folder)


def diff(before: str, after: str) -> str:
    """Say what is new, gone and grown between two snapshot files."""
    return command(["diff", before, after])


def explain(name: str) -> str:
    """Explain a code such as GL402: why it leaks and what to do; or describe a lifetime story by its name."""
    return command(["explain", "--no-run", name])


def target_words(target: str) -> list[str]:
    """Split the target into command-line words: `-m package.train` is two."""
    return target.split(maxsplit=1) if target.startswith("-m ") else [target]


def command(words: Sequence[str], folder: str = ".", is_program: bool = False) -> str:
    """Return what a command prints. Raises ToolFailed if it gave no answer; a program's own exit status does not
    matter.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gradlife", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailed(f"it did not run: {error}", "gradlife in a terminal") from None
    if not is_program and done.returncode not in ANSWERS:
        raise ToolFailed(done.stderr.strip() or f"status {done.returncode}", "gradlife --help")
    if not is_program:
        return done.stdout.strip()
    return "\n".join(part for part in (done.stderr.strip(), done.stdout.strip()) if part)[-MAX_TEXT:]
