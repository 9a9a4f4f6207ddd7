"""Hunt pairs of programs, a leak and a clean look-alike of the same shape. Run with `make twins`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.running import hunt
from benchmarks.twins.judging import FALSE_ALARM, MISSED, RIGHT, UNDECIDED, UNNAMED, Row, judge
from benchmarks.twins.pair import LENGTHS, Pair
from benchmarks.twins.pairs import AREAS
from benchmarks.twins.truth import check_truth

#: What `--memory-limit` gives gradlife.
LIMIT = "4G"


@dataclass(frozen=True)
class Job:
    """A program to hunt."""

    area: str
    pair: Pair
    is_leaking: bool
    steps: int

    @property
    def title(self) -> str:
        """Return the program's name with its length."""
        return f"{self.area}/{self.pair.name} {'leak' if self.is_leaking else 'twin'} {self.steps}"


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """Return the programs that are asked for; a pair is left out at a length that cannot tell it apart."""
    return [
        Job(area, pair, is_leaking, steps)
        for steps in arguments.steps
        for area, pairs in AREAS.items()
        for pair in pairs
        if arguments.k in f"{area}/{pair.name}" and (arguments.all_lengths or steps in pair.steps)
        for is_leaking in (True, False)
        if arguments.only in ("", "leaks" if is_leaking else "twins")
    ]


def hunt_all(jobs: list[Job], arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Hunt each program."""

    def one(job: Job) -> Row:
        path = folder / f"{job.pair.name}_{'leak' if job.is_leaking else 'twin'}_{job.steps}.py"
        path.write_text(job.pair.source(job.is_leaking, job.steps), encoding="utf-8")
        limit = job.pair.limit or (LIMIT if arguments.memory_limit else "")
        options = ("--memory-limit", limit) if limit else ()
        hunted = hunt(str(path), folder, arguments.limit, options=options, python=arguments.python)
        return judge(job.area, job.pair, job.is_leaking, job.steps, limit, hunted)

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for job, row in zip(jobs, pool.map(one, jobs), strict=True):
            print(f"{job.title}: {row.result} ({row.verdict} {' '.join(row.codes)}) {row.said}", file=sys.stderr)
            yield row


def print_rows(rows: list[Row]) -> None:
    """Print what is wrong, then the totals by area."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    wrong = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", "", "steps", "result", "verdict", "exit", "findings", "declared"):
        wrong.add_column(head, overflow="fold")
    for row in rows:
        if row.result != RIGHT:
            name = f"{row.area}/{row.name}"
            cells = (row.result, row.verdict, str(row.status), " ".join(row.codes), row.why)
            wrong.add_row(name, row.kind, str(row.steps), *cells)
    if wrong.row_count:
        console.print(wrong)
        console.print()
    totals = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("area", "leaks", "missed", "holder not named", "twins", "false alarms", "undecided"):
        totals.add_column(head, justify="left" if head == "area" else "right")
    for area in AREAS:
        add_totals(totals, area, [row for row in rows if row.area == area])
    add_totals(totals, "all", rows)
    console.print(totals)


def add_totals(table: Table, title: str, rows: list[Row]) -> None:
    """Add the totals of some hunts, if there are any."""
    if rows:
        leaks = sum(row.is_leaking for row in rows)
        came = Counter(row.result for row in rows)
        counts = (leaks, came[MISSED], came[UNNAMED], len(rows) - leaks, came[FALSE_ALARM], came[UNDECIDED])
        table.add_row(title, *(str(count) for count in counts))


def lengths(text: str) -> tuple[int, ...]:
    """Read `--steps`."""
    return tuple(int(one) for one in text.split(","))


def main() -> int:
    """Print the table; 0 if every leak is found where it is held, and every twin is clean."""
    parser = argparse.ArgumentParser(prog="benchmarks.twins", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only pairs with this in AREA/NAME")
    parser.add_argument("--only", choices=("leaks", "twins"), default="", help="only one program of each pair")
    parser.add_argument(
        "--steps", metavar="N,N", type=lengths, default=(40,), help=f"lengths of the runs, of {LENGTHS} (default 40)"
    )
    parser.add_argument("--all-lengths", action="store_true", help="also lengths that cannot tell a pair apart")
    parser.add_argument("--memory-limit", action="store_true", help=f"give gradlife the option --memory-limit {LIMIT}")
    parser.add_argument(
        "--truth", action="store_true", help="hunt nothing: run the programs bare, measure their growth"
    )
    parser.add_argument("--jobs", type=int, default=1, help="hunts at a time (default 1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the hunts (default: this one)")
    arguments = parser.parse_args()
    if arguments.truth:
        return check_truth(arguments.k, arguments.python)
    with tempfile.TemporaryDirectory(prefix="twins-") as folder:
        rows = []
        for row in hunt_all(jobs_of(arguments), arguments, Path(folder)):
            rows.append(row)
            if arguments.json:
                text = json.dumps([asdict(one) for one in rows], indent=1) + "\n"
                Path(arguments.json).write_text(text, encoding="utf-8")
    print_rows(rows)
    return 0 if all(row.result == RIGHT for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
