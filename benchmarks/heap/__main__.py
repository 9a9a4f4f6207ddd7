"""Ask gradlife, its peers and the bare walk the same questions about the same heaps, in turns, and judge the targets."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.heap.children import Outcome
from benchmarks.heap.report import table_of, verdict_line
from benchmarks.heap.targets import TARGETS, Row, growth_row, linear_rows, truth_rows

PACKAGES = ("torch", "objgraph", "guppy3", "refcycle")


@dataclass(frozen=True)
class Heap:
    """A heap to build. `with_slow`: also ask peers that need minutes."""

    name: str
    size: int
    tensors: int
    rounds: int
    with_slow: bool = False
    is_fragmented: bool = False

    def command(self, only: str) -> list[str]:
        """Return the command that builds the heap and asks the question, in its own process."""
        flags = ["--fragmented"] * self.is_fragmented + ["--slow"] * self.with_slow
        numbers = ["--size", str(self.size), "--tensors", str(self.tensors), "--rounds", str(self.rounds)]
        return [sys.executable, "-m", "benchmarks.heap.host", *numbers, *flags, "--only", only]


QUICK = (Heap("20 k", 20_000, 2_000, 1, with_slow=True),)
FULL = (
    Heap("100 k", 100_000, 10_000, 5),
    Heap("1 M", 1_000_000, 10_000, 5, with_slow=True),
    Heap("1 M fragmented", 1_000_000, 10_000, 5, is_fragmented=True),
    Heap("3 M", 3_000_000, 10_000, 3),
)
#: Columns if the terminal does not say.
WIDTH = 180
#: The heap of the targets.
JUDGED = "1 M"

Results = dict[str, dict[str, list[Outcome]]]


def lines_of(command: list[str]) -> Iterator[dict[str, object]]:
    """Yield the lines that a process writes; a process that fails ends the benchmark."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")


def ask_all(heap: Heap, only: str, progress: Progress) -> dict[str, list[Outcome]]:
    task = progress.add_task(f"{heap.name}: building", total=None)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for line in lines_of(heap.command(only)):
        if "questions" in line:
            progress.update(task, total=float(str(line["questions"])))
            continue
        question = str(line["question"])
        outcomes[question].append(Outcome.read(str(line["outcome"])))
        progress.update(task, description=f"{heap.name}: {question}", advance=1)
    progress.update(task, description=heap.name, total=1, completed=1)
    return outcomes


def side_rows(count: int, progress: Progress) -> Iterator[Row]:
    """Yield rows for questions that need their own processes: allocated bytes, many snapshots."""
    task = progress.add_task("retained bytes beside tracemalloc", total=None)
    for line in lines_of([sys.executable, "-m", "benchmarks.heap.region"]):
        yield from truth_rows({key: list(map(int, pair)) for key, pair in line.items() if isinstance(pair, list)})
    progress.update(task, description=f"{count:,} snapshots", total=11)
    looks = []
    for line in lines_of([sys.executable, "-m", "benchmarks.heap.many", "--count", str(count)]):
        looks.append({key: int(str(value)) for key, value in line.items()})
        progress.advance(task)
    yield growth_row(looks)


def versions() -> str:
    names = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES if is_installed(name)]
    return f"Python {platform.python_version()} on {platform.machine()}; {', '.join(names)}; one thread; CPU seconds"


def is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.heap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small heap, once: do the questions work?")
    parser.add_argument("--heap", metavar="NAME", action="append", help="only this heap: '100 k', '1 M', '3 M', ...")
    parser.add_argument("--rounds", type=int, help="instead of three to five")
    parser.add_argument("--snapshots", type=int, help="in a row, to see whether anything grows (default 10,000)")
    parser.add_argument("-k", metavar="PATTERN", default="", help="only questions whose name matches")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured here as well")
    return parser.parse_args()


def main() -> None:
    """Measure, judge, print."""
    arguments = parse_arguments()
    heaps = [heap for heap in (QUICK if arguments.quick else FULL) if not arguments.heap or heap.name in arguments.heap]
    if arguments.rounds:
        heaps = [replace(heap, rounds=arguments.rounds) for heap in heaps]
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    console.print(versions())
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    results: Results = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for heap in heaps:
            results[heap.name] = ask_all(heap, arguments.k, progress)
        count = arguments.snapshots or (100 if arguments.quick else 10_000)
        sides = list(side_rows(count, progress)) if not arguments.k else []
    tables = {name: [judge(outcomes) for judge in TARGETS] for name, outcomes in results.items()}
    tables[heaps[-1].name] += sides
    if "100 k" in results and "3 M" in results:
        tables["3 M"] += linear_rows(results["100 k"], results["3 M"], ("100 k", "3 M"))
    for name, rows in tables.items():
        shown = [row for row in rows if row.is_met is not None or name in {JUDGED, QUICK[0].name}]
        console.print(table_of(f"{name}{', where the targets hold' * (name == JUDGED)}", shown))
        console.print(verdict_line(shown))
    if arguments.json:
        write_json(Path(arguments.json), results, tables)


def write_json(path: Path, results: Results, tables: dict[str, list[Row]]) -> None:
    outcomes = {
        heap: {question: [asdict(outcome) for outcome in each] for question, each in found.items()}
        for heap, found in results.items()
    }
    rows = {heap: [asdict(row) for row in found] for heap, found in tables.items()}
    path.write_text(json.dumps({"versions": versions(), "outcomes": outcomes, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
