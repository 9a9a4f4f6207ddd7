"""Hunt the corpus and the training programs with few steps, and count misjudged controls. Run with `make controls
CORPUS=FOLDER`.

Results are kept in a file as they come; hunts with a result in it are skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.controls.jobs import LOADS, STEPS, Job, Targets, all_jobs, part_of
from benchmarks.corpus.__main__ import cases_in
from benchmarks.corpus.running import Hunted, hunt

RESULTS = Path("build/controls.jsonl")
BUSY = "while True: pass"


@dataclass(frozen=True)
class Result:
    """How a hunt judged its controls."""

    program: str
    steps: int
    load: int
    verdict: str  # "-" if the hunt left no report
    controls: int  # number judged; 0 if the run was too short and says so
    wrong: tuple[str, ...]  # each with its judgement
    trouble: str
    seconds: float

    @property
    def is_broken(self) -> bool:
        """Whether it left no report, or an inconclusive verdict without a reason."""
        return self.verdict == "-" or (not self.controls and not self.trouble)


def result_of(job: Job, hunted: Hunted) -> Result:
    """Read a hunt's result."""
    document = hunted.document or {"verdict": "-", "controls": [], "trouble": hunted.said}
    controls = document["controls"]
    wrong = tuple(f"{one['name']}: {one['observed']}" for one in controls if one["observed"] != one["expected"])
    trouble = str(document.get("trouble") or "")
    return Result(
        job.program,
        job.steps,
        job.load,
        str(document["verdict"]),
        len(controls),
        wrong,
        trouble,
        round(hunted.seconds, 1),
    )


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run this many busy processes during the block."""
    children = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def read(path: Path) -> dict[str, Result]:
    """Read earlier results by key."""
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    results = (Result(**{**row, "wrong": tuple(row["wrong"])}) for row in rows)
    return {Job(one.program, one.steps, one.load).key: one for one in results}


def hunt_all(jobs: Iterable[Job], targets: Targets, folder: Path, limit: float) -> Iterator[Result]:
    """Run every hunt, one at a time."""
    for job in jobs:
        target, arguments = targets.command(job)
        with busy(job.load):
            yield result_of(job, hunt(target, folder, limit, arguments, options=("--steps", str(job.steps))))


def print_results(results: list[Result], asked: int) -> None:
    """Print a row for each number of steps, then the errors."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 150)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("steps", "busy loops", "hunts", "controls misjudged", "too short for controls", "broken"):
        table.add_column(head, justify="right")
    for steps in STEPS:
        for load in LOADS:
            rows = [one for one in results if (one.steps, one.load) == (steps, load)]
            wrong, short = sum(bool(one.wrong) for one in rows), sum(not one.controls for one in rows)
            broken = sum(one.is_broken for one in rows)
            table.add_row(*map(str, (steps, load, len(rows), wrong, short, broken)))
    console.print(table)
    for one in results:
        if one.wrong or one.is_broken:
            said = "; ".join(one.wrong) or one.trouble
            console.print(f"{Job(one.program, one.steps, one.load).key}: {one.verdict}: {said}")
    wrong = sum(bool(one.wrong) for one in results)
    console.print(f"hunts with a misjudged control: {wrong} of {len(results)} ({asked} asked for)")


def main() -> int:
    """Print the table; 0 if no control was misjudged."""
    arguments = parse_arguments()
    cases = list(cases_in(Path(arguments.folder), ""))
    part, parts = map(int, arguments.part.split("/"))
    jobs = list(part_of(all_jobs(cases, arguments.k), part, parts))
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    known = read(arguments.results)
    with (
        tempfile.TemporaryDirectory(prefix="controls-") as folder,
        open(arguments.results, "a", encoding="utf-8") as file,
    ):
        left = [job for job in jobs if job.key not in known]
        for number, one in enumerate(hunt_all(left, Targets(cases, Path(folder)), Path(folder), arguments.limit), 1):
            key = Job(one.program, one.steps, one.load).key
            known[key] = one
            print(json.dumps(asdict(one)), file=file, flush=True)
            print(f"{number}/{len(left)} {key}: {'; '.join(one.wrong) or 'right'}", file=sys.stderr)
    results = [known[job.key] for job in jobs]
    print_results(results, len(jobs))
    return 1 if any(one.wrong or one.is_broken for one in results) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.controls", description=__doc__)
    parser.add_argument("folder", nargs="?", default="corpus", help="where the labelled programs are (default: corpus)")
    parser.add_argument("-k", metavar="TEXT", default="", help="only programs with this in their name")
    parser.add_argument("--part", metavar="N/M", default="1/1", help="one of so many fair parts of all hunts")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a hunt is killed (default 300)")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"file of results (default {RESULTS})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
