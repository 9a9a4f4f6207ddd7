"""CPU of a step under the recorder and its peers, beside the bare step, in turns: a process for each row.

Run by `benchmarks.peak`, which runs it once more for each row: ``python -m benchmarks.peak.cost MODEL WAY``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.table import Table

#: Rounds of both ways, and steps of one way per round, by model.
ROUNDS = 5
STEPS = {"mlp": 40, "transformer": 12, "GPT": 2}

#: The ways to run a step; only the recorder has a target.
BARE, RECORDED, LOGGED, PROFILED, MEMRAY = (
    "bare",
    "gradlife peak, recorded",
    "logging dispatch mode",
    "torch.profiler, memory",
    "memray",
)
WAYS = (BARE, RECORDED, LOGGED, PROFILED, MEMRAY)
TARGET = "3.00"

#: Seconds after which a row is given up.
LIMIT = 240.0


class Recorded:
    """The recorder around some steps."""

    def __enter__(self) -> None:
        from gradlife.peaks.recording.torch import Contexts, Recorder

        self._recorder = Recorder(Contexts(), lambda: None)
        self._recorder.start()
        self._recorder.mark_step()

    def __exit__(self, *_: object) -> None:
        self._recorder.stop()


def profiled() -> AbstractContextManager[Any]:
    """Run torch's profiler with memory accounting."""
    import torch

    return torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU])


def way_of(name: str) -> Callable[[], AbstractContextManager[Any]]:
    """Return what a way enters around its steps."""
    from benchmarks.overhead.loop import Logger, memray

    makers: dict[str, Callable[[], AbstractContextManager[Any]]]
    makers = {BARE: nullcontext, RECORDED: Recorded, LOGGED: Logger, PROFILED: profiled, MEMRAY: memray}
    return makers[name]


def gpt() -> tuple[Any, Any, Any]:
    """A hundred million parameters: twelve layers of width 768, one sequence of 32."""
    import torch
    from torch import nn

    layers = [nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True) for _ in range(12)]
    model = nn.Sequential(nn.Embedding(10_000, 768), *layers, nn.Linear(768, 10_000), nn.Flatten(0, 1))
    tokens = torch.randint(10_000, (1, 32))
    return model, tokens, tokens.flatten()


def step_of(name: str) -> Callable[[], None]:
    """A training step."""
    import torch

    from benchmarks.overhead.loop import mlp, transformer

    torch.manual_seed(0)
    model, x, y = {"mlp": mlp, "transformer": transformer, "GPT": gpt}[name]()
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def seconds(way: Callable[[], AbstractContextManager[Any]], step: Callable[[], None], steps: int) -> float:
    """Return the CPU seconds of one of several steps."""
    found = []
    with way():
        for _ in range(steps):
            before = time.process_time()
            step()
            found.append(time.process_time() - before)
    return statistics.median(found)


def measure(model: str, way: str) -> tuple[float, float]:
    """Return the milliseconds of a step, and its ratio to the bare one: the medians of all rounds."""
    step, make = step_of(model), way_of(way)
    for _ in range(3):
        step()
    rounds = []
    for number in range(ROUNDS):
        bare = seconds(nullcontext, step, STEPS[model])
        rounds.append((bare, bare if way == BARE else seconds(make, step, STEPS[model])))
        print(f"{model}, {way}: round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
    ratio = statistics.median(other / bare for bare, other in rounds)
    return 1000 * statistics.median(other for _, other in rounds), ratio


def measured_apart(model: str, way: str, limit: float) -> tuple[float, float] | str:
    """Measure in a process of its own, with one thread. Return why there is no figure where there is none."""
    if way == MEMRAY and importlib.util.find_spec("memray") is None:
        return "not installed"
    command = [sys.executable, "-m", "benchmarks.peak.cost", model, way]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"more than {limit:.0f} s"
    if ended.returncode:
        return f"failed: exit status {ended.returncode}"
    milliseconds, ratio = json.loads(ended.stdout.splitlines()[-1])
    return milliseconds, ratio


def cost_table(limit: float = LIMIT) -> Table:
    """Return the medians of all rounds, relative to the bare step."""
    table = Table("model", "way", "ms a step", "of bare", "target", title="CPU of a recorded step, one thread")
    for model in STEPS:
        for way in WAYS:
            found = measured_apart(model, way, limit)
            cells = (found, "") if isinstance(found, str) else (f"{found[0]:.2f}", f"{found[1]:.2f}")
            print(f"{model}, {way}: {' ms, of bare '.join(cells)}", file=sys.stderr, flush=True)
            table.add_row(model, way, *cells, TARGET if way == RECORDED else "")
    return table


def main() -> int:
    """Print the milliseconds and the ratio of one row as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peak.cost", description=__doc__)
    parser.add_argument("model", choices=STEPS)
    parser.add_argument("way", choices=WAYS)
    args = parser.parse_args()
    print(json.dumps(measure(args.model, args.way)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
