"""Hunt the leaking cases of a corpus and the planted leaks: is the stored line right, and what does its patch do?

Run with `make bench-patch CORPUS=FOLDER`. A patch is tried with `gradlife hunt --fix`: it is right if it ends the leak and
leaves the losses as they are.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.cases import bare, read_case, write_copy
from benchmarks.corpus.running import Hunted, hunt
from benchmarks.patches.labels import CORPUS, PROGRAMS, is_right
from benchmarks.programs.planted import FOLDER

RIGHT, UNSURE, WRONG, NONE = "right", "unsure", "wrong", "none"
FIXED, NOT_FIXED = "fixed", "not fixed"

#: Shares that are asked for.
LINES_ASKED, PATCHES_ASKED = 0.95, 0.70


@dataclass(frozen=True)
class Job:
    """A hunt to make."""

    name: str
    target: str
    accepted: tuple[str, ...]
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """What came of one."""

    name: str
    line: str  # right, unsure: right and marked as unsure, wrong, none
    source: str
    patch: str  # fixed, not fixed, none
    change: str  # the lines that the patch adds
    seconds: float
    said: str = ""


def judge(job: Job, hunted: Hunted) -> Row:
    """The first finding that has a line or a patch."""
    document = hunted.document or {"findings": []}
    findings = document["findings"]
    stored = next((one["stored_at"] for one in findings if one.get("stored_at")), None)
    patch = next((one["patch"] for one in findings if one.get("patch")), None)
    line, source = NONE, ""
    if stored is not None:
        source = str(stored["source"])
        is_sure = stored["confidence"] == "sure"
        line = (RIGHT if is_sure else UNSURE) if is_right(source, job.accepted) else (WRONG if is_sure else UNSURE)
    tried = (FIXED if hunted.said.startswith("fixed: ") else NOT_FIXED) if patch is not None else NONE
    change = " ".join(patch["added"]) if patch is not None else ""
    return Row(job.name, line, source, tried, change, round(hunted.seconds, 1), hunted.said[:200])


def corpus_jobs(corpus: Path, folder: Path) -> Iterator[Job]:
    """The cases that keep memory, as copies without their labels."""
    chance = random.Random(0)
    for name, accepted in CORPUS.items():
        path = corpus / f"{name}.py"
        if path.is_file():
            copy = write_copy(bare(read_case(path).tree), folder, chance)
            yield Job(name, f"{copy.name}::step", accepted)


def program_jobs(folder: Path) -> Iterator[Job]:
    """The planted leaks, in copies of the programs: a patch is only given below the working folder."""
    for path in FOLDER.glob("*.py"):
        shutil.copy(path, folder)
    for name, accepted in PROGRAMS.items():
        program, _, leak = name.partition("-")
        yield Job(name, f"{program}.py", accepted, ("--leak", leak))


def print_rows(rows: list[Row]) -> None:
    """A row a case, then the shares."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 170)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("case", "line", "statement", "patch", "change", "s"):
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(row.name, row.line, row.source, row.patch, row.change, f"{row.seconds:.1f}")
    console.print(table)
    for text in sums(rows):
        console.print(text)


def sums(rows: list[Row]) -> Iterator[str]:
    """What is asked for, and what was reached."""
    lines = {word: sum(row.line == word for row in rows) for word in (RIGHT, UNSURE, WRONG, NONE)}
    right = f"{lines[RIGHT]} of {len(rows)} ({share(lines[RIGHT], rows):.0%}; asked for {LINES_ASKED:.0%})"
    yield f"stored line right: {right}; unsure {lines[UNSURE]}, none {lines[NONE]}, wrong {lines[WRONG]}"
    given = [row for row in rows if row.patch != NONE]
    yield f"patches given: {len(given)} of {len(rows)} ({share(len(given), rows):.0%}; asked for {PATCHES_ASKED:.0%})"
    fixed = sum(row.patch == FIXED for row in given)
    yield f"patches that end the leak and leave the losses: {fixed} of {len(given)} (asked for all)"


def share(count: int, rows: list[Row]) -> float:
    """A part of all rows."""
    return count / max(1, len(rows))


def is_reached(rows: list[Row]) -> bool:
    """Is all that is asked for reached?"""
    right = sum(row.line == RIGHT for row in rows)
    given = sum(row.patch != NONE for row in rows)
    is_safe = all(row.patch != NOT_FIXED and row.line != WRONG for row in rows)
    return is_safe and share(right, rows) >= LINES_ASKED and share(given, rows) >= PATCHES_ASKED


def main() -> int:
    """Print the table; 0 if what is asked for is reached."""
    parser = argparse.ArgumentParser(prog="benchmarks.patches", description=__doc__)
    parser.add_argument("corpus", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="patches-") as name, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = Path(name)
        jobs = [*corpus_jobs(Path(arguments.corpus), folder), *program_jobs(folder)]
        jobs = [job for job in jobs if arguments.k in job.name]
        options = ("--fix",)
        for row in pool.map(
            lambda job: judge(job, hunt(job.target, folder, arguments.limit, job.arguments, options)), jobs
        ):
            print(f"{row.name}: line {row.line}, patch {row.patch}", file=sys.stderr, flush=True)
            rows.append(row)
    print_rows(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0 if is_reached(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
