"""Hunt programs of public libraries as they are and with a leak planted. Run with `make real`.

Each program runs three times: bare, hunted, and hunted with the leak of `plants.py`. The bare run and the hunted one have the
same seed and one thread, so step i of one does what step i of the other does: the CPU seconds of steps are compared from
the end of the first optimizer step on, which leaves out start-up. What a hunt does in the program's process (its share of a
look, collections, forks) counts; what its forked copies do beside the program does not.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.real.judging import MAX_OVERHEAD, MIN_FOUND, Planted, Unmodified, judge_planted, judge_unmodified
from benchmarks.real.peaks import PeakRow, print_peaks, run_peak
from benchmarks.real.plants import PLANTS
from benchmarks.real.running import run_bare, run_hunted

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Row:
    """One program; `absent` names the libraries without which it was not run."""

    program: str
    absent: tuple[str, ...] = ()
    unmodified: Unmodified | None = None
    planted: Planted | None = None


def absent_libraries(source: str) -> tuple[str, ...]:
    """The libraries that a script imports and that are not installed."""
    nodes = list(ast.walk(ast.parse(source)))
    found = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return tuple(sorted(name for name in {name.partition(".")[0] for name in found} if not is_installed(name)))


def is_installed(name: str) -> bool:
    """Whether the module can be imported."""
    return importlib.util.find_spec(name) is not None


def run_program(script: Path, folder: Path, limit: float, as_it_is: bool = True, with_leak: bool = True) -> Row:
    """The runs of one program."""
    source = script.read_text(encoding="utf-8")
    absent = absent_libraries(source)
    if absent:
        return Row(script.stem, absent)
    unmodified = planted = None
    if as_it_is:
        bare = run_bare(script, folder, limit)
        unmodified = judge_unmodified(bare, *run_hunted(script, folder, limit))
    plant = PLANTS.get(script.stem)
    if plant and with_leak:
        copy = folder / f"{script.stem}_planted.py"
        copy.write_text(plant.applied(source), encoding="utf-8")
        planted = judge_planted(plant, run_hunted(copy, folder, limit)[0])
    return Row(script.stem, (), unmodified, planted)


def run_all(arguments: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Each program; a line on the error stream as each is done."""

    def one(script: Path) -> Row:
        row = run_program(script, folder, arguments.limit, not arguments.planted, not arguments.unmodified)
        print("\n".join(misses(row) or [f"{row.program}: right"]), file=sys.stderr, flush=True)
        return row

    with ThreadPoolExecutor(arguments.jobs) as pool:
        yield from pool.map(one, chosen_scripts(arguments.k))


def chosen_scripts(text: str) -> list[Path]:
    """The scripts with this text in folder/name."""
    return [path for path in sorted(SCRIPTS.glob("*/*.py")) if text in f"{path.parent.name}/{path.stem}"]


def run_peaks(arguments: argparse.Namespace, folder: Path) -> Iterator[PeakRow]:
    """The peak of each program whose libraries are installed; a line on the error stream as each is done."""
    for script in chosen_scripts(arguments.k):
        absent = absent_libraries(script.read_text(encoding="utf-8"))
        if absent:
            print(f"{script.stem}: skipped, no {', '.join(absent)}", file=sys.stderr, flush=True)
            continue
        row = run_peak(script, folder, arguments.limit)
        print(f"{row.program}: {row.trouble or f'{row.saved_share:.1%} to save'}", file=sys.stderr, flush=True)
        yield row


def misses(row: Row) -> list[str]:
    """What went wrong in the runs of a program, a line each."""
    lines = [f"{row.program}: skipped, no {', '.join(row.absent)}"] if row.absent else []
    if row.unmodified and not row.unmodified.is_right:
        losses = "" if row.unmodified.same_losses else "other losses than bare"
        parts = (row.unmodified.verdict, *row.unmodified.alarms, losses, row.unmodified.said)
        lines.append(f"{row.program}, unmodified: " + "; ".join(part for part in parts if part))
    if row.planted and not row.planted.is_right:
        lacking = f"trace lacks {', '.join(row.planted.lacking)}" if row.planted.lacking else ""
        parts = (row.planted.verdict, *row.planted.codes, lacking, row.planted.said)
        lines.append(f"{row.program}, {row.planted.leak}: " + "; ".join(part for part in parts if part))
    return lines


def cells(row: Row) -> list[str]:
    """The cells of one program."""
    one, two = row.unmodified, row.planted
    ratio = f"{one.overhead:.2f}" if one and one.overhead else ""
    median = f"{one.median_overhead:.2f}" if one and one.median_overhead else ""
    return [
        row.program,
        ("ok" if one.is_right else "WRONG") if one else "",
        str(len(one.notes)) if one and one.notes else "",
        str(one.steps) if one and one.steps else "",
        ratio,
        median,
        f"{one.seconds:.0f}" if one else "",
        two.leak if two else "",
        ("ok" if two.is_right else "WRONG") if two else "",
        two.codes[0].partition(" ")[0] if two and two.codes else "",
        f"{two.seconds:.0f}" if two else "",
    ]


HEADS = ("program", "as it is", "notes", "steps", "CPU", "median", "s", "planted", "", "code", "s")


def print_rows(rows: list[Row]) -> None:
    """A row a program, the misses with their reasons, then the figures."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in HEADS:
        table.add_column(head, overflow="fold")
    for row in rows:
        if not row.absent:
            table.add_row(*cells(row))
    console.print(table)
    for row in rows:
        for line in misses(row):
            console.print(line)
    for line in figures(rows):
        console.print(line)


def figures(rows: list[Row]) -> list[str]:
    """The sums."""
    hunted = [row.unmodified for row in rows if row.unmodified]
    planted = [row.planted for row in rows if row.planted]
    ratios = [one.overhead for one in hunted if one.overhead]
    medians = [one.median_overhead for one in hunted if one.median_overhead]
    lines = [
        f"findings above note in unmodified programs: {sum(len(one.alarms) for one in hunted)} in {len(hunted)} (target 0)",
        f"the same losses as the bare run: {sum(one.same_losses for one in hunted)} of {len(hunted)}",
        f"planted leaks found, their container named: {sum(one.is_right for one in planted)} of {len(planted)}"
        f" (target {MIN_FOUND:.0%})",
    ]
    if ratios:
        lines.append(
            f"CPU of the steps, hunted / bare: median of programs {statistics.median(ratios):.2f},"
            f" largest {max(ratios):.2f}; of the median step {statistics.median(medians):.2f} (target {MAX_OVERHEAD})"
        )
    return lines


def is_enough(rows: list[Row]) -> bool:
    """Whether all targets are met."""
    hunted = [row.unmodified for row in rows if row.unmodified]
    planted = [row.planted for row in rows if row.planted]
    ratios = [one.overhead for one in hunted if one.overhead]
    found = sum(one.is_right for one in planted)
    is_cheap = not ratios or statistics.median(ratios) <= MAX_OVERHEAD
    return all(one.is_right for one in hunted) and found >= MIN_FOUND * len(planted) and is_cheap


def main() -> int:
    """Print the table; 0 if the targets are met."""
    parser = argparse.ArgumentParser(prog="benchmarks.real", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in folder/name")
    parser.add_argument("--planted", action="store_true", help="only hunts with a planted leak")
    parser.add_argument("--unmodified", action="store_true", help="only programs as they are")
    parser.add_argument("--peak", action="store_true", help="record the peak of each program, and hunt none")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time (default 1)")
    parser.add_argument("--limit", type=float, default=900, help="seconds after which a run is killed (default 900)")
    parser.add_argument("--keep", metavar="FOLDER", help="leave scripts, reports and output here")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="real-") as folder:
        kept = Path(arguments.keep or folder)
        kept.mkdir(parents=True, exist_ok=True)
        if arguments.peak:
            print_peaks(list(run_peaks(arguments, kept.absolute())))
            return 0
        rows = list(run_all(arguments, kept.absolute()))
    print_rows(rows)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0 if is_enough(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
