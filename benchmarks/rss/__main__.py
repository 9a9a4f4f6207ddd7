"""Compare the growth that a hunt reports with the growth of resident memory. Run with `make rss CORPUS=FOLDER`.

Each leaking program of the corpus is hunted, and run once without a hunt. Those that grow by more than 100 kB per step
are compared.
"""

from __future__ import annotations

import argparse
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

#: Programs that grow by less are skipped: pages of resident memory are too coarse.
LEAST_BYTES = 100_000

#: The allowed relative difference.
TOLERANCE = 0.2

#: Kinds of findings that grow.
GROWING = frozenset({"growth", "never", "native"})


@dataclass(frozen=True)
class Row:
    """One program."""

    slug: str
    reported: float  # bytes a step
    resident: float

    @property
    def is_compared(self) -> bool:
        """Whether it grows enough, by either measure."""
        return max(self.reported, self.resident) >= LEAST_BYTES

    @property
    def ratio(self) -> float:
        """Return reported over measured growth."""
        return self.reported / self.resident if self.resident > 0 else float("inf")

    @property
    def is_right(self) -> bool:
        """Whether the two agree."""
        return abs(self.ratio - 1) <= TOLERANCE


def reported_rate(document: dict[str, Any] | None) -> float:
    """Return the bytes per step that a report's findings retain."""
    findings = (document or {}).get("findings", [])
    rates = (one["per_step"] for one in findings if one["kind"] in GROWING)
    return float(sum(max(rate["bytes"], rate["retained_bytes"]) for rate in rates))


def resident_rate(target: str) -> float:
    """Return the growth of a bare run in bytes per step; 0 if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.rss.bare", target], capture_output=True, text=True, check=False
    )
    return float(done.stdout.split()[-1]) if done.returncode == 0 else 0.0


def rows_of(cases: Iterable[Case], folder: Path, limit: float) -> Iterator[Row]:
    """Hunt and run every leaking case."""
    for case in cases:
        target = f"{write_copy(bare(case.tree), folder, random.Random(case.slug))}::step"
        yield Row(case.slug, reported_rate(hunt(target, folder, limit).document), resident_rate(target))


def print_rows(rows: list[Row]) -> None:
    """Print a row per compared program."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 120)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("case", "reported kB/step", "resident kB/step", "ratio", ""):
        table.add_column(head, justify="right" if "kB" in head or head == "ratio" else "left")
    compared = [row for row in rows if row.is_compared]
    for row in sorted(compared, key=lambda row: -row.resident):
        kilobytes = (f"{nbytes / 1000:,.1f}" for nbytes in (row.reported, row.resident))
        table.add_row(row.slug, *kilobytes, f"{row.ratio:.2f}", "" if row.is_right else "OFF")
    console.print(table)
    right = sum(row.is_right for row in compared)
    console.print(f"within {TOLERANCE:.0%}: {right} of {len(compared)}; {len(rows) - len(compared)} grow by less")


def main() -> int:
    """Print the table; 0 if all agree."""
    parser = argparse.ArgumentParser(prog="benchmarks.rss", description=__doc__)
    parser.add_argument("folder", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in their name")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    arguments = parser.parse_args()
    cases = [case for case in cases_in(Path(arguments.folder), arguments.k) if case.kind not in (None, "needs-gc")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="rss-") as folder:
        for number, row in enumerate(rows_of(cases, Path(folder), arguments.limit), 1):
            rows.append(row)
            print(f"{number}/{len(cases)} {row.slug}: {row.ratio:.2f}", file=sys.stderr, flush=True)
    print_rows(rows)
    return 0 if all(row.is_right for row in rows if row.is_compared) else 1


if __name__ == "__main__":
    sys.exit(main())
