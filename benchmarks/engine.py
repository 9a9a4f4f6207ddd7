"""Compare the mini engine with PyTorch: one thread each, in turns in one run, so that disturbances affect both.

The engine is made for observation, not speed; this shows that observing it is affordable. Run with `make bench`.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.workloads import WORKLOADS, Work, Workload

SYSTEMS = {"mini": "gradlife.engine", "torch": "torch"}


@dataclass(frozen=True)
class Row:
    """The times of one workload in microseconds: each system's median and best batch, and mini over torch."""

    title: str
    median: dict[str, float]
    best: dict[str, float]
    ratio: float | None
    has_target: bool


def load_systems() -> dict[str, Any]:
    """Load both systems with one thread each; a missing one is reported and skipped."""
    found = {}
    for name, module in SYSTEMS.items():
        try:
            found[name] = importlib.import_module(module)
        except ImportError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
    if "torch" in found:
        found["torch"].set_num_threads(1)
    return found


def measure(workload: Workload, systems: dict[str, Any], seconds: float, rounds: int) -> Row:
    """Time a workload in batches, the systems in turns: a b, b a, a b, ..."""
    works = {name: workload.prepare(fw) for name, fw in systems.items()}
    batches = {name: batch_size(work, seconds / rounds) for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for _ in range(rounds):
        for name in names:
            times[name].append(timed(works[name], batches[name]) * 1e6)
        names.reverse()
    median = {name: statistics.median(values) for name, values in times.items()}
    ratio = median["mini"] / median["torch"] if len(median) == len(SYSTEMS) else None
    best = {name: min(values) for name, values in times.items()}
    return Row(workload.title, median, best, ratio, workload.has_target)


def batch_size(work: Work, seconds: float) -> int:
    work()
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds / 2:
        work()
        count += 1
    return max(1, count)


def timed(work: Callable[[], object], times: int) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def describe_machine(systems: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {getattr(fw, '__version__', '?')}" for name, fw in systems.items())
    return f"{cpu_name()}; Python {platform.python_version()}; {versions}; one thread"


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def line_of(row: Row) -> str:
    cells = "".join(f"{row.median[name]:12.2f}" for name in row.median)
    best = "".join(f"{row.best[name]:12.2f}" for name in row.best)
    ratio = f"{row.ratio:8.2f}" if row.ratio is not None else ""
    return f"{row.title:38}{cells}{best}{ratio}{'' if row.has_target else '  no target'}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.engine", description=__doc__)
    parser.add_argument("-k", metavar="TEXT", default="", help="only workloads whose title contains this")
    parser.add_argument("--seconds", type=float, default=1.5, help="time for each workload and system (default 1.5)")
    parser.add_argument("--rounds", type=int, default=9, help="batches for each workload and system (default 9)")
    parser.add_argument("--json", metavar="FILE", help="write the rows here as well")
    return parser.parse_args()


def main() -> None:
    """Print a row per workload: median and best microseconds of each system, and the ratio of the medians."""
    arguments = parse_arguments()
    systems = load_systems()
    machine = describe_machine(systems)
    print(machine)
    heads = [f"{name} {kind}" for kind in ("median", "best") for name in systems]
    print(f"{'microseconds':38}" + "".join(f"{head:>12}" for head in heads) + f"{'ratio':>8}")
    rows = []
    for workload in WORKLOADS:
        if arguments.k in workload.title:
            rows.append(measure(workload, systems, arguments.seconds, arguments.rounds))
            print(line_of(rows[-1]), flush=True)
    if arguments.json:
        document = {"machine": machine, "rows": [asdict(row) for row in rows]}
        Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
