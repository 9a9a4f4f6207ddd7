"""Compare the growth that a hunt reports with the growth of memory in a bare run. Run with `make rss CORPUS=FOLDER`.

Each leaking program of the corpus is hunted, and run once more bare up to the step at which the hunt ended. The truth is
the bytes in use, by malloc's counters, with Python's objects in malloc too. Resident memory is printed beside it: what
the allocator keeps between blocks in use belongs to no object, and differs from machine to machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.corpus.__main__ import cases_in
from benchmarks.corpus.cases import Case, bare, write_copy
from benchmarks.corpus.running import hunt

#: Programs that grow by less are not compared: tables of the interpreter grow by leaps that count for as much.
MIN_BYTES = 10_000

#: Share by which the two may differ.
TOLERANCE = 0.2

#: Kinds of findings that grow.
GROWING = frozenset({"growth", "never", "native"})

#: The last rounds, by which a hunt tells a rate.
JUDGED_ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One program."""

    slug: str
    reported: float = 0.0  # bytes a step
    in_use: float = 0.0
    resident: float = 0.0
    trouble: str = ""  # why it was not measured

    @property
    def is_compared(self) -> bool:
        """Whether memory grows enough, by either measure."""
        return max(self.reported, self.in_use) >= MIN_BYTES

    @property
    def ratio(self) -> float:
        """The reported growth by the measured one."""
        return self.reported / self.in_use if self.in_use > 0 else float("inf")

    @property
    def is_right(self) -> bool:
        """Whether the two measures agree."""
        return abs(self.ratio - 1) <= TOLERANCE


def reported_rate(document: dict[str, Any]) -> float:
    """Bytes a step that would be freed with what a report's findings leave behind."""
    rates = (one["per_step"] for one in document["findings"] if one["kind"] in GROWING)
    return float(sum(max(rate["bytes"], rate["retained_bytes"]) for rate in rates))


def judged_steps(document: dict[str, Any]) -> tuple[int, int]:
    """The steps at which the rounds began and ended by which the rates were judged."""
    lengths = [one["steps"] for one in document["rounds"]]
    last = document["warmup_steps"] + sum(lengths)
    return last - sum(lengths[-JUDGED_ROUNDS:]), last


def measured(target: str, first: int, last: int) -> dict[str, float] | None:
    """Bytes a step by which a bare run of the target grows between two steps; None where it fails."""
    command = [sys.executable, "-m", "benchmarks.rss.bare", target, str(first), str(last)]
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found: dict[str, float] | None = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    return found


def row_of(case: Case, target: str, folder: Path, limit: float) -> Row:
    """Hunt a program and run it bare."""
    document = hunt(target, folder, limit).document
    if document is None or not document["rounds"]:
        return Row(case.slug, trouble="the hunt left no report in time")
    grown = measured(target, *judged_steps(document))
    if grown is None:
        return Row(case.slug, trouble="the bare run failed")
    return Row(case.slug, reported_rate(document), grown["in_use"], grown["resident"])


def rows_of(cases: Iterable[Case], folder: Path, limit: float) -> Iterator[Row]:
    """Hunt and run every leaking case."""
    for case in cases:
        target = f"{write_copy(bare(case.tree), folder, random.Random(case.slug))}::step"
        yield row_of(case, target, folder, limit)


def print_rows(rows: list[Row]) -> None:
    """A row for each program that is compared."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 120)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("case", "reported kB/step", "in use kB/step", "resident kB/step", "ratio", ""):
        table.add_column(head, justify="right" if "kB" in head or head == "ratio" else "left")
    compared = [row for row in rows if row.is_compared]
    for row in sorted(compared, key=lambda row: -row.in_use):
        kilobytes = (f"{nbytes / 1000:,.1f}" for nbytes in (row.reported, row.in_use, row.resident))
        table.add_row(row.slug, *kilobytes, f"{row.ratio:.2f}", "" if row.is_right else "OFF")
    console.print(table)
    failed = [row for row in rows if row.trouble]
    for row in failed:
        console.print(f"{row.slug}: not measured: {row.trouble}")
    right, less = sum(row.is_right for row in compared), len(rows) - len(compared) - len(failed)
    console.print(
        f"within {TOLERANCE:.0%}: {right} of {len(compared)}; {less} grow by less, {len(failed)} not measured"
    )


def main() -> int:
    """Print the table; 0 if all agree."""
    parser = argparse.ArgumentParser(prog="benchmarks.rss", description=__doc__)
    parser.add_argument("folder", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in their name")
    parser.add_argument("--limit", type=float, default=1200, help="seconds after which a hunt is killed (default 1200)")
    arguments = parser.parse_args()
    cases = [case for case in cases_in(Path(arguments.folder), arguments.k) if case.kind not in (None, "needs-gc")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="rss-") as folder:
        for number, row in enumerate(rows_of(cases, Path(folder), arguments.limit), 1):
            rows.append(row)
            shown = row.trouble or f"{row.reported:.0f} / {row.in_use:.0f} = {row.ratio:.2f}"
            print(f"{number}/{len(cases)} {row.slug}: {shown}", file=sys.stderr, flush=True)
    print_rows(rows)
    return 0 if all(row.is_right for row in rows if row.is_compared or row.trouble) else 1


if __name__ == "__main__":
    sys.exit(main())
