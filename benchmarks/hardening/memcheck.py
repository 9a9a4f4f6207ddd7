"""The tests marked `valgrind`, under its memcheck. Run with `make valgrind`; arguments go to pytest.

Wrong reads, writes and frees count wherever they are, in children as well; of values that were never written, those that
the engine looks at; of leaks, what is definitely lost and was allocated on behalf of the engine. 0 if nothing was seen.
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
# Memcheck keeps freed memory back, and borrowed references are broken by design.
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
    """One error of one process: its kind, memcheck's sentence on it, and the functions down to the program's start."""

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
        """Is it the engine that runs, or that called what runs, and no Python code?

        CPython 3.11 multiplies the digit of a zero, which it never wrote, by its size: nought times whatever. Memcheck
        takes that for unknown, and whatever Python code does with the number after it.
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
    """The command's exit status, what was found in it and its forked children, and how many of them there were."""
    with tempfile.TemporaryDirectory() as folder:
        under = ["valgrind", *OPTIONS, f"--xml-file={folder}/%p.xml", *command]
        # CPython's own allocator would hide its blocks from memcheck.
        done = subprocess.run(under, env={**os.environ, "PYTHONMALLOC": "malloc"}, check=False)
        reports = sorted(Path(folder).iterdir())
        return done.returncode, [each for report in reports for each in findings(report) if each.counts], len(reports)


def findings(report: Path) -> Iterator[Finding]:
    """The errors in one process's report, which ends early where the process did."""
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
