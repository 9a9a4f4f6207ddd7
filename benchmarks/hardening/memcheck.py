"""Run the tests marked `valgrind` under memcheck. Run with `make valgrind`; arguments go to pytest.

Wrong reads, writes and frees count everywhere, also in children; uninitialized values count if the engine reads them;
of leaks, memory that is definitely lost and was allocated for the engine. Exit status 0 if nothing was found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

SUPPRESSIONS = Path(__file__).with_name("python.supp")
ENGINE = "_engine."
# memcheck delays reuse of freed memory, and borrowed references are broken on purpose
MARKED = "valgrind and not torch and not reuse and not unsound and not scan and not slow"
OPTIONS = (
    "--quiet",
    "--xml=yes",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--num-callers=40",
    f"--suppressions={SUPPRESSIONS}",
)


@dataclass(frozen=True)
class Finding:
    """One error of one process: its kind, memcheck's sentence, and the call stack."""

    kind: str
    text: str
    frames: tuple[str, ...]

    @property
    def counts(self) -> bool:
        if self.kind.startswith("Uninit"):
            return self.is_of_engine
        return not self.kind.startswith("Leak_") or any(ENGINE in frame for frame in self.frames)

    @property
    def is_of_engine(self) -> bool:
        """Whether the engine is running or called what is running, without Python code between.

        CPython 3.11 multiplies an uninitialized digit of a zero by its size, zero. Memcheck takes the result for
        uninitialized, and so every use of that number.
        """
        for frame in self.frames:
            if ENGINE in frame or frame.startswith("_PyEval_EvalFrameDefault "):
                return ENGINE in frame
        return False

    def __str__(self) -> str:
        return "\n    ".join([f"{self.kind}: {self.text}", *self.frames[:20]])


def main() -> int:
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 0
    command = [sys.executable, "-m", "pytest", "-m", MARKED, "-p", "no:cacheprovider", *marked_files(), *sys.argv[1:]]
    status, found, processes = memcheck(command)
    print(*found, sep="\n\n", end="\n\n" if found else "")
    print(f"{processes} processes under memcheck, {len(found)} errors")
    return status or bool(found)


def marked_files() -> list[str]:
    """Return the marked files. Only they are collected: under memcheck even collecting takes long."""
    return [str(path) for path in sorted(Path("tests").rglob("test_*.py")) if "mark.valgrind" in path.read_text()]


def memcheck(command: Sequence[str]) -> tuple[int, list[Finding], int]:
    """Return the command's exit status, the findings in it and its forked children, and their number."""
    with tempfile.TemporaryDirectory() as folder:
        under = ["valgrind", *OPTIONS, f"--xml-file={folder}/%p.xml", *command]
        # CPython's own allocator would hide its blocks from memcheck
        done = subprocess.run(under, env={**os.environ, "PYTHONMALLOC": "malloc"}, check=False)
        reports = sorted(Path(folder).iterdir())
        return done.returncode, [each for report in reports for each in findings(report) if each.counts], len(reports)


def findings(report: Path) -> Iterator[Finding]:
    """Return the errors in a process's report, which is shorter if the process ended early."""
    try:
        for _, element in ElementTree.iterparse(report):
            if element.tag == "error":
                yield finding(element)
    except ElementTree.ParseError:
        return


def finding(error: ElementTree.Element) -> Finding:
    text = error.findtext("what") or error.findtext("xwhat/text") or ""
    frames = error.findall("stack[1]/frame")
    return Finding(error.findtext("kind") or "", text, tuple(map(place, frames)))


def place(frame: ElementTree.Element) -> str:
    return f"{frame.findtext('fn') or '?'} in {Path(frame.findtext('obj') or '?').name}"


if __name__ == "__main__":
    sys.exit(main())
