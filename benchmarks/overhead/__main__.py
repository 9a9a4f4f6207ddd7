"""Measure CPU per step under gradlife's passes and its peers, relative to the bare loop. Run with `make bench-hunt`.

Every run is a separate process between two runs of the bare loop, and is compared with their mean, so that a
disturbance affects neighbours alike. A step's figure is the median of a run, a ratio the median of all rounds; "of the
best" compares the least disturbed runs. Work between steps (heap snapshots) is listed separately in CPU seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.overhead.breakdown import print_parts
from benchmarks.overhead.loop import MODELS, OBSERVERS

LOOP = str(Path(__file__).with_name("loop.py"))
BARE = "bare loop"
MEGABYTE = 1_000_000
HEADS = (
    *("model", "pass", "CPU ratio", "of the best", "target", "ms a step"),
    *("CPU s between", "added peak MB", "bytes a step"),
)


@dataclass(frozen=True)
class Pass:
    """A way to run the loop: code before and after it, and limits for its ratios."""

    name: str
    before: tuple[str, ...] = ()
    observer: str = "none"
    targets: tuple[float, float] | None = None  # limits for mlp, transformer
    share: float = 1.0  # fraction of the steps: a pass that takes fifty times as long needs fewer


PASSES = (
    Pass(BARE),
    Pass("gradlife hunt, counting", ("-m", "gradlife", "hunt"), targets=(1.05, 1.05)),
    Pass("gradlife.watch", observer="watch", targets=(1.05, 1.05)),
    Pass("gradlife hunt, creation lines", observer="lines", targets=(1.4, 1.2)),  # in every step, as in the second pass
    *(
        Pass(name, observer=name, share=0.1 if "scan" in name else 1.0)
        for name in OBSERVERS
        if name not in {"none", "watch", "lines"}
    ),
)


@dataclass(frozen=True)
class Run:
    """One process."""

    step: float  # CPU seconds, median
    between: float  # CPU seconds of slow parts: snapshots
    peak: int  # growth since the first measured step, in bytes
    growth: float  # bytes per step over the second half


@dataclass(frozen=True)
class Row:
    """A pass on a model."""

    model: str
    name: str
    ratio: float
    step_ms: float
    between: float
    peak: int
    growth: float
    target: float | None


def run_once(one: Pass, model: str, folder: Path, factor: float) -> Run | str:
    """Return a process's figures, or why there are none."""
    out = folder / "out.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, *one.before, LOOP, model, str(out), "--observer", one.observer, "--steps"]
    command.append(str(factor * one.share))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if not out.exists():
        return (done.stderr.strip() or "it left no figures").splitlines()[-1]
    found = json.loads(out.read_text(encoding="utf-8"))
    times = found["times"]
    median = statistics.median(times)
    return Run(
        step=median,
        between=sum(value - median for value in times if value > 10 * median),
        peak=found["peak"] - found["start"],
        growth=(found["end"] - found["half"]) / (len(times) / 2),
    )


def measure(models: Sequence[str], rounds: int, factor: float, text: str) -> tuple[list[Row], dict[str, str]]:
    """Run rounds of all passes, each between two runs of the bare loop."""
    passes = [one for one in PASSES if text in one.name and one.name != BARE]
    ratios: dict[tuple[str, str], list[float]] = {}
    runs: dict[tuple[str, str], list[Run]] = {(model, BARE): [] for model in models}
    absent: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        for number, model in itertools.product(range(rounds), models):
            before = run_once(PASSES[0], model, Path(folder), factor)
            for one in (one for one in passes if one.name not in absent):
                done, after = (run_once(each, model, Path(folder), factor) for each in (one, PASSES[0]))
                if isinstance(before, str) or isinstance(after, str) or isinstance(done, str):
                    absent[one.name] = next(found for found in (done, before, after) if isinstance(found, str))
                    continue
                ratios.setdefault((model, one.name), []).append(done.step / statistics.mean([before.step, after.step]))
                ratios.setdefault((model, BARE), []).append(after.step / before.step)
                runs.setdefault((model, one.name), []).append(done)
                runs[model, BARE].append(after)
                print(f"round {number + 1} {model} {one.name}: {ratios[model, one.name][-1]:.3f}", file=sys.stderr)
                before = after
    targets = {
        (model, one.name): one.targets and one.targets[list(MODELS).index(model)] for one in PASSES for model in MODELS
    }
    rows = [
        Row(
            *key,
            ratio=statistics.median(ratios[key]),
            step_ms=1e3 * min(run.step for run in found),
            between=statistics.median(run.between for run in found),
            peak=min(run.peak for run in found),
            growth=statistics.median(run.growth for run in found),
            target=targets[key],
        )
        for key, found in runs.items()
        if found
    ]
    return sorted(rows, key=lambda row: list(MODELS).index(row.model)), absent


def print_rows(rows: Sequence[Row], absent: dict[str, str]) -> None:
    """Print a row per pass."""
    console = Console(highlight=False, markup=False, width=None if Console().is_terminal else 130)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in HEADS:
        table.add_column(head, justify="left" if head in {"model", "pass"} else "right")
    bare = {row.model: row for row in rows if row.name == BARE}
    for row in rows:
        target = f"{row.target:.2f}" if row.target else ""
        peak = (row.peak - bare[row.model].peak) / MEGABYTE
        figures = (
            f"{row.ratio:.3f}",
            f"{row.step_ms / bare[row.model].step_ms:.3f}",
            target,
            f"{row.step_ms:.3f}",
            f"{row.between:.2f}",
            f"{peak:.1f}",
            f"{row.growth:.0f}",
        )
        table.add_row(row.model, row.name, *figures)
    console.print(table)
    for name, why in absent.items():
        console.print(f"{name}: not measured: {why}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=float, default=1.0, help="factor on the number of steps")
    parser.add_argument("-k", metavar="TEXT", default="", help="only passes with this in their name, and the bare loop")
    parser.add_argument("--model", choices=MODELS, action="append", help="only this model")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    parser.add_argument(
        "--parts", action="store_true", help="only a hunt of docs/examples/train.py and what its parts take"
    )
    arguments = parser.parse_args()
    if arguments.parts:
        print_parts(arguments.rounds)
        return
    rows, absent = measure(arguments.model or list(MODELS), arguments.rounds, arguments.steps, arguments.k)
    print_rows(rows, absent)
    print_parts(arguments.rounds)
    if arguments.json:
        document = {"rows": [asdict(row) for row in rows], "absent": absent}
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
