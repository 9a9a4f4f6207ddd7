"""Measure the CPU that the pytest plugin adds to test suites, beside pytest-memray. Run with `make bench-plugin`.

Every run is a separate process, and counts with its children. The runs of a round follow one another, so that a
disturbance affects neighbours; the least of all rounds counts. Runs of a single test measure the fixed cost of a
session.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.plugin import suites

#: Plugins that are disabled, unless a mode needs them.
OFF = ("asyncio", "pytest_cov", "randomly", "rerunfailures", "memray", "hypothesispytest", "xdist", "cacheprovider")

MILLISECONDS, PERCENT = "ms a test", "%"
BARE = ("-p", "no:gradlife")

#: Repetitions per round of short runs, of which one per cent must be visible.
TIMES = 5


@dataclass(frozen=True)
class Mode:
    """A suite run in one mode, and its cost limit relative to the bare run."""

    title: str
    name: str
    write: Callable[[int], str]
    tests: int
    options: tuple[str, ...] = ()
    bare: Callable[[int], str] | None = None  # suite of the bare run, if different
    has_memray: bool = False
    unit: str = MILLISECONDS
    target: float | None = None
    status: int = 0


def modes(factor: float) -> list[Mode]:
    """Return all modes; the numbers of tests are multiplied by a factor."""
    thousand, hundreds, few = (max(2, round(factor * count)) for count in (1000, 300, 4))
    none, loaded, steps, one = (
        f"{thousand:,} empty tests",
        f"{hundreds:,} empty tests, torch loaded",
        f"{hundreds:,} training steps",
        f"{few:,} training steps",
    )
    memray = {"options": ("--memray", *BARE), "has_memray": True}
    return [
        Mode(none, "gradlife, no option", suites.empty, thousand, unit=PERCENT, target=1.0),
        Mode(none, "pytest-memray, no option", suites.empty, thousand, BARE, has_memray=True, unit=PERCENT),
        Mode(loaded, "gradlife --leaks", suites.empty_beside_torch, hundreds, ("--leaks",), target=5.0),
        Mode(loaded, "pytest-memray --memray", suites.empty_beside_torch, hundreds, **memray),  # type: ignore[arg-type]
        Mode(steps, "gradlife --leaks", suites.training, hundreds, ("--leaks",), target=5.0),
        Mode(steps, "pytest-memray --memray", suites.training, hundreds, **memray),  # type: ignore[arg-type]
        Mode(one, "marked no_leaks, clean", suites.marked, few, bare=suites.training),
        Mode(one, "marked no_leaks, leaky", suites.leaky, few, bare=suites.training, status=1),
    ]


@dataclass(frozen=True)
class Job:
    """One process: a suite of so many tests, and its options."""

    text: str
    options: tuple[str, ...]
    has_memray: bool = False
    status: int = 0
    times: int = 1  # per round


def jobs(mode: Mode) -> Iterator[Job]:
    """Return the bare run and the other one, each with one test and with all."""
    times = TIMES if mode.unit == PERCENT else 1
    for count in (1, mode.tests):
        yield Job((mode.bare or mode.write)(count), BARE, times=times)
        yield Job(mode.write(count), mode.options, mode.has_memray, mode.status, times)


def run(job: Job, folder: Path) -> float:
    """Return the CPU seconds of a run and its children."""
    (folder / "test_suite.py").write_text(job.text, encoding="utf-8")
    off = [word for name in OFF if not (name == "memray" and job.has_memray) for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", "-q", "test_suite.py", *off, *job.options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != job.status:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment() -> dict[str, str]:
    """Return the environment of runs: modules are compiled once, as usual, not in every run."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTEST_ADDOPTS": "", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Row:
    """The cost of running the suite in one mode."""

    title: str
    name: str
    bare: float  # CPU seconds of the bare suite
    start: float  # fixed CPU seconds of a session
    more: float  # in the unit
    unit: str
    target: float | None

    @property
    def is_met(self) -> bool | None:
        """Whether the cost is below its target."""
        return None if self.target is None else self.more <= self.target


def row_of(mode: Mode, least: dict[Job, float]) -> Row:
    """Compute a mode's figures. A share is of the whole run; the cost per test omits the session's fixed cost."""
    bare_one, one, bare, all_ = (least[job] for job in jobs(mode))
    share = 100 * (all_ - bare) / bare
    each = 1000 * ((all_ - one) - (bare - bare_one)) / (mode.tests - 1)
    return Row(
        mode.title, mode.name, bare, one - bare_one, share if mode.unit == PERCENT else each, mode.unit, mode.target
    )


def measure(asked: Sequence[Mode], rounds: int) -> list[Row]:
    """Run rounds of all runs, each once per round."""
    least: dict[Job, float] = {}
    every = list(dict.fromkeys(job for mode in asked for job in jobs(mode)))
    with tempfile.TemporaryDirectory(prefix="plugin-") as folder:
        for number in range(rounds):
            for turn in range(TIMES):
                for job in (one for one in every if turn < one.times):
                    seconds = run(job, Path(folder))
                    least[job] = min(seconds, least.get(job, seconds))
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
    return [row_of(mode, least) for mode in asked]


def print_rows(rows: Sequence[Row]) -> None:
    """Print a row per mode."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 130)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("suite", "run", "bare CPU s", "session CPU s", "more", "target", ""):
        table.add_column(head, justify="left" if head in {"suite", "run", ""} else "right")
    verdicts = {True: Text("met", "green"), False: Text("missed", "bold red"), None: Text("")}
    for row in rows:
        target = f"{row.target:g} {row.unit}" if row.target is not None else ""
        figures = (f"{row.bare:.2f}", f"{row.start:+.3f}", f"{row.more:.2f} {row.unit}", target)
        table.add_row(row.title, row.name, *figures, verdicts[row.is_met])
    console.print(table)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.plugin", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", type=float, default=1.0, metavar="FACTOR", help="on the numbers of tests")
    parser.add_argument("-k", metavar="TEXT", default="", help="only runs with this in their suite's name or their own")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    arguments = parser.parse_args()
    asked = [mode for mode in modes(arguments.tests) if arguments.k in f"{mode.title}, {mode.name}"]
    rows = measure(asked, arguments.rounds)
    print_rows(rows)
    if arguments.json:
        document = {"load": os.getloadavg(), "rows": [asdict(row) for row in rows]}
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
