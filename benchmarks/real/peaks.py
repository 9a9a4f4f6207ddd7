"""What `gradlife peak` says of the programs as they are: their peaks, and what could be saved in each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.real.running import SETTINGS
from gradlife.model.codec import CodecError
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.reports.peak.words import percent
from gradlife.reports.values import size

#: Counted steps after which a program is stopped. A peak needs five.
STEPS = "12"


@dataclass(frozen=True)
class PeakRow:
    """One program: its report, or why there is none."""

    program: str
    report: PeakReport | None
    trouble: str = ""

    @property
    def saved_share(self) -> float:
        """The share of the peak that all edits together save."""
        return self.report.saved_bytes / self.report.peak_bytes if self.report is not None else 0.0


def run_peak(script: Path, folder: Path, limit: float) -> PeakRow:
    """Record the peak of one program in a process of its own."""
    written, output = folder / f"{script.stem}.peak.json", folder / f"{script.stem}.peak.out"
    command = [
        sys.executable,
        "-m",
        "gradlife",
        "peak",
        "--full",
        "--steps",
        STEPS,
        "--json",
        str(written),
        str(script),
    ]
    try:
        with output.open("wb") as file:
            ended = subprocess.run(
                command,
                cwd=folder,
                env={**os.environ, **SETTINGS},
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
        report = codec.loads(written.read_text(encoding="utf-8"))
    except subprocess.TimeoutExpired:
        return PeakRow(script.stem, None, f"took more than {limit:.0f} s")
    except (OSError, CodecError):
        said = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        return PeakRow(script.stem, None, said[0] if said else f"exit status {ended.returncode}")
    return PeakRow(script.stem, report if report.peak_bytes else None, report.trouble)


def peak_table(rows: list[PeakRow]) -> Table:
    """Return a table with the largest shares first, and one row for each saving."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("program", "peak", "unread", "saved", "holder", "edit"):
        table.add_column(head, overflow="fold", justify="right" if head in {"peak", "unread", "saved"} else "left")
    for row in sorted(rows, key=lambda one: -one.saved_share):
        if row.report is not None:
            for number, cells in enumerate(saving_cells(row.report)):
                table.add_row("" if number else row.program, *cells)
    return table


def saving_cells(report: PeakReport) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each saving of a program; one row if there is none."""
    head = size(report.peak_bytes), percent(report.unused_bytes, report.peak_bytes)
    if not report.savings:
        yield *head, "nothing", "", ""
    for number, saving in enumerate(report.savings):
        edits = "; ".join(edit.text for edit in saving.edits)
        yield *(("", "") if number else head), percent(saving.saved_bytes, report.peak_bytes), saving.holder, edits


def print_peaks(rows: list[PeakRow]) -> None:
    """Print the table, then why a program has no report, then the figures."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 170)
    console.print(peak_table(rows))
    for row in rows:
        if row.report is None:
            console.print(f"{row.program}: {row.trouble}")
    known = [row.report for row in rows if row.report is not None]
    wasteful = sum(bool(one.savings) for one in known)
    console.print(f"peaks of {len(known)} of {len(rows)} programs; something to save in {wasteful}")
