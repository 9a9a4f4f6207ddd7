"""Random lifetime programs on the mini engine and on PyTorch, in lock step. Run with `make fuzz`.

Prints each distinct difference, then programs, rate, differences and coverage; 0 if every difference is explained. With
`--stories FOLDER` each distinct difference becomes a scenario file there.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import itertools
import math
import sys
import time
import warnings
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks.fuzz.campaign import Slice, Systems, run_slices
from benchmarks.fuzz.children import Child, Died, start_child
from benchmarks.fuzz.other_python.client import Elsewhere
from benchmarks.fuzz.profiles import check_programs
from benchmarks.fuzz.report import distinct, print_report, print_violations
from benchmarks.fuzz.story import story_of
from gradlife.environments.records import interpreter_of

SPAN = 1000  # programs per process
# PyTorch imports this during the first sum with a zero that has no memory; a frame of the import is caught in a
# cycle, and with it the program's frames, until the collector runs. Also, each child would import it anew.
IMPORTED_LATE = "torch._dynamo"


def main() -> int:
    arguments = parse_arguments()
    if arguments.without_torch:
        return main_without_torch(arguments)
    systems = load_systems(arguments.profile, arguments.elsewhere)
    started = time.perf_counter()
    try:
        result = run_in_processes(systems, arguments)
    finally:
        if isinstance(systems.second, Elsewhere):
            systems.second.close()
    is_met = print_report(result, arguments.seed, time.perf_counter() - started)
    if arguments.stories:
        write_stories(result, arguments.seed, Path(arguments.stories))
    return 0 if is_met else 1


def main_without_torch(arguments: argparse.Namespace) -> int:
    """Compare profiles of the engine with each other, one program after another."""
    warnings.simplefilter("ignore")
    engine: Any = importlib.import_module("gradlife.engine")
    started = time.perf_counter()
    end = arguments.first + arguments.programs
    found = list(itertools.chain.from_iterable(check_programs(engine, arguments.seed, arguments.first, end)))
    print_violations(found, arguments.programs, arguments.seed, time.perf_counter() - started)
    return 1 if found else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=2000, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="begin no more programs after this time")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--profile", default="torch-2.13", help="profile of the engine that is compared with PyTorch")
    parser.add_argument(
        "--elsewhere", metavar="WHERE", help="an interpreter with PyTorch: a name of gradlife env, a path"
    )
    parser.add_argument("--without-torch", action="store_true", help="the engine's profiles against each other instead")
    parser.add_argument("--shrinks", type=int, default=200, help="differences to shrink in each process, at most")
    parser.add_argument("--stories", metavar="FOLDER", help="write each distinct difference as a scenario file")
    return parser.parse_args()


def load_systems(profile: str, elsewhere: str | None = None) -> Systems:
    """Load the engine under a profile, and PyTorch with one thread; children are forked from here."""
    warnings.simplefilter("ignore")
    engine: Any = importlib.import_module("gradlife.engine")
    engine.set_default_profile(profile)
    if elsewhere:
        return Systems(engine, Elsewhere(interpreter_of(elsewhere)))
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        importlib.import_module(IMPORTED_LATE)
    gc.collect()
    gc.freeze()  # no child needs to scan all this again
    return Systems(engine, torch)


def run_in_processes(systems: Systems, arguments: argparse.Namespace) -> Slice:
    """Run in several processes, each taking one batch of programs after another until all are done or time is up."""
    end = arguments.first + arguments.programs
    spans = deque((first, min(first + SPAN, end)) for first in range(arguments.first, end, SPAN))
    ends_at = time.monotonic() + (arguments.seconds or math.inf)
    running: deque[Child] = deque()
    result = Slice()
    while spans or running:
        while spans and len(running) < max(arguments.processes, 1) and time.monotonic() < ends_at:
            span = spans.popleft()
            running.append(start_child(lambda span=span: run_span(systems, arguments, *span)))  # type: ignore[misc]
        if not running:
            break
        one = running.popleft().result()
        if isinstance(one, Died):
            raise SystemExit(f"a process of the fuzzer {one.text}")
        result.add(one)
        print(f"{result.coverage.programs} programs, {result.differing} differ", file=sys.stderr)
    return result


def run_span(systems: Systems, arguments: argparse.Namespace, first: int, end: int) -> Slice:
    result = Slice()
    for one in run_slices(systems, arguments.seed, first, end, arguments.shrinks):
        result.add(one)
    return result


def write_stories(result: Slice, seed: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for group in distinct(result.found):
        path = folder / f"program_{group[0].index}_of_seed_{seed}.py"
        path.write_text(story_of(group[0], seed), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
