"""Measure how long watching stops a program: the longest time between two of its steps, bare and under `gradlife.watch`.

``python -m benchmarks.attach.pauses OBJECTS SECONDS`` measures one process, and prints JSON. The processor time of a pause
is that of the whole process, whichever thread stopped the others: on a quiet machine a pause takes no longer than that.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gradlife.program.hunt.following import Follow
from gradlife.program.hunt.running import RunningHunt, Terms

#: Seconds between two steps, and those of a bare run.
REST = 0.001
BARE_SECONDS = 5.0

#: Least seconds of a later round. A measurement is taken as often.
EVERY = 2.0

#: Each step makes so many objects, and one in so many keeps them.
MADE, KEPT_ONE_IN = 300, 100

kept: list[object] = []


@dataclass(frozen=True)
class Pauses:
    """The longest pauses of one run, in seconds."""

    steps: int
    wall: float
    processor: float


@dataclass(frozen=True)
class Measured:
    """One process, bare and watched."""

    objects: int
    megabytes: float
    fork: float  # processor seconds of one fork
    bare: Pauses
    watched: Pauses
    looks: int


def step(number: int) -> list[list[int]]:
    """Make some objects; now and then keep them."""
    made = [[one] for one in range(MADE)]
    if number % KEPT_ONE_IN == 0:
        kept.append(made)
    return made


def pauses_of(seconds: float) -> Pauses:
    """Take steps for some seconds, and measure the time between them."""
    walls, processor = [], []
    end = time.perf_counter() + seconds
    number = 0
    wall, used = time.perf_counter(), time.process_time()
    while wall < end:
        step(number)
        time.sleep(REST)
        number += 1
        now, now_used = time.perf_counter(), time.process_time()
        walls.append(now - wall)
        processor.append(now_used - used)
        wall, used = now, now_used
    return Pauses(number, above_usual(walls), above_usual(processor))


def above_usual(times: Sequence[float]) -> float:
    """Return by how much the longest is longer than the usual one."""
    return max(times) - statistics.median(times)


def fork_seconds() -> float:
    """Return the processor seconds of a fork."""
    before = time.process_time()
    copy = os.fork()
    if not copy:
        os._exit(0)
    after = time.process_time()
    os.waitpid(copy, 0)
    return after - before


def watched_pauses(seconds: float) -> tuple[Pauses, int]:
    """Measure under a watcher that takes snapshots and measurements; return the number of snapshots, too."""
    hunt = RunningHunt("pauses", "", Terms(step_on=f"{__name__}:step", seconds=3600.0), EVERY)
    looks: list[object] = []
    follow = Follow(hunt, EVERY, looks.append, looks.append)
    watcher = threading.Thread(target=follow.run)
    watcher.start()
    try:
        return pauses_of(seconds), len(looks)
    finally:
        follow.stop()
        watcher.join()


def measure(objects: int, seconds: float) -> Measured:
    """Measure this process, with so many objects more."""
    heap = [[number] for number in range(objects)]
    gc.collect()
    megabytes = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    fork = min(fork_seconds() for _ in range(3))
    bare = pauses_of(BARE_SECONDS)
    watched, looks = watched_pauses(seconds)
    assert len(heap) == objects
    return Measured(objects, megabytes, fork, bare, watched, looks)


def measured_in_child(objects: int, seconds: float) -> Measured:
    """Measure a process of its own."""
    command = [sys.executable, "-m", "benchmarks.attach.pauses", str(objects), str(seconds)]
    row = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return Measured(**{**row, "bare": Pauses(**row["bare"]), "watched": Pauses(**row["watched"])})


def main() -> None:
    """Measure this process, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", type=int)
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    print(json.dumps(asdict(measure(args.objects, args.seconds))))


if __name__ == "__main__":
    main()
