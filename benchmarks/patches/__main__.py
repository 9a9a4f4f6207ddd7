"""Hunt the leaking cases of a corpus and the planted leaks: is the stored line right, and does its patch work?

Run with `make bench-patch CORPUS=FOLDER`. A patch is right if `git apply` takes it, a hunt of the changed program is clean,
and the program computes the same: what it prints, its losses, results, weights and gradients. The statements that store
are labelled in `benchmarks/patches/labels.py`. With `--json FILE` a run goes on where one was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.running import hunt
from benchmarks.patches.jobs import Job, all_jobs
from benchmarks.patches.labels import is_right
from benchmarks.patches.trial import FIXED, tried

RIGHT, UNSURE, WRONG, NONE = "right", "unsure", "wrong", "none"

#: Target shares.
LINES_ASKED, PATCHES_ASKED = 0.95, 0.70


@dataclass(frozen=True)
class Row:
    """The result of one."""

    name: str
    line: str  # right, unsure: marked as unsure, right or not, wrong, none
    source: str
    patch: str  # fixed, none, or what is wrong with it
    change: str  # the lines that the patch adds
    seconds: float
    codes: str = ""


def row_of(job: Job, limit: float) -> Row:
    """Hunt a program, and try the patch of the first finding that has one."""
    hunted = hunt(job.target, job.folder, limit, job.arguments)
    findings = (hunted.document or {"findings": []})["findings"]
    stored = next((one["stored_at"] for one in findings if one.get("stored_at")), None)
    patch = next((one["patch"] for one in findings if one.get("patch")), None)
    source = str(stored["source"]) if stored is not None else ""
    line = NONE if stored is None else judged(source, stored["confidence"], job.accepted)
    came_of = tried(job, patch["diff"], limit) if patch is not None else NONE
    change = " ".join(patch["added"]) if patch is not None else ""
    return Row(
        job.name,
        line,
        source,
        came_of,
        change,
        round(hunted.seconds, 1),
        " ".join(str(one["code"]) for one in findings),
    )


def judged(source: str, confidence: str, accepted: tuple[str, ...]) -> str:
    """Judge a stored line: right, wrong, or wrong but reported as unsure, which misleads nobody."""
    if confidence != "sure":
        return UNSURE
    return RIGHT if is_right(source, accepted) else WRONG


def print_rows(rows: list[Row]) -> None:
    """Print a row a case, then the shares."""
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
    """Return the totals with their targets."""
    lines = {word: sum(row.line == word for row in rows) for word in (RIGHT, UNSURE, WRONG, NONE)}
    right = f"{lines[RIGHT]} of {len(rows)} ({share(lines[RIGHT], rows):.0%}; asked for {LINES_ASKED:.0%})"
    yield f"stored line right: {right}; unsure {lines[UNSURE]}, none {lines[NONE]}, wrong {lines[WRONG]}"
    given = [row for row in rows if row.patch != NONE]
    yield f"patches given: {len(given)} of {len(rows)} ({share(len(given), rows):.0%}; asked for {PATCHES_ASKED:.0%})"
    fixed = sum(row.patch == FIXED for row in given)
    yield f"patches that make their case clean and change nothing that it computes: {fixed} of {len(given)} (asked for all)"


def share(count: int, rows: list[Row]) -> float:
    """Format a part of all rows."""
    return count / max(1, len(rows))


def is_reached(rows: list[Row]) -> bool:
    """Whether all targets are met."""
    right = sum(row.line == RIGHT for row in rows)
    given = sum(row.patch != NONE for row in rows)
    is_safe = all(row.patch in {FIXED, NONE} and row.line != WRONG for row in rows)
    return is_safe and share(right, rows) >= LINES_ASKED and share(given, rows) >= PATCHES_ASKED


def known_rows(path: str | None) -> dict[str, Row]:
    """The rows that an earlier run wrote, one a line."""
    if path is None or not Path(path).is_file():
        return {}
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return {row.name: row for row in (Row(**json.loads(line)) for line in lines)}


def main() -> int:
    """Print the table; 0 if all targets are met."""
    parser = argparse.ArgumentParser(prog="benchmarks.patches", description=__doc__)
    parser.add_argument("corpus", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with this in their name")
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    parser.add_argument(
        "--json", metavar="FILE", help="write the rows here, one a line; those in it are not made again"
    )
    arguments = parser.parse_args()
    rows = known_rows(arguments.json)
    with tempfile.TemporaryDirectory(prefix="patches-") as name, ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [job for job in all_jobs(Path(arguments.corpus), Path(name)) if arguments.k in job.name]
        todo = [job for job in jobs if job.name not in rows]
        for row in pool.map(lambda job: row_of(job, arguments.limit), todo):
            print(f"{row.name}: line {row.line}, patch {row.patch}", file=sys.stderr, flush=True)
            rows[row.name] = row
            if arguments.json:
                with open(arguments.json, "a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(asdict(row))}\n")
    found = [rows[job.name] for job in jobs if job.name in rows]
    print_rows(found)
    return 0 if is_reached(found) else 1


if __name__ == "__main__":
    sys.exit(main())
