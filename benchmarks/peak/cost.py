"""CPU of a step under the recorder and its peers, beside the bare step, in turns."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from rich.table import Table
from torch import nn

from benchmarks.overhead.loop import Logger, memray, mlp, transformer
from gradlife.peaks.recording.torch import Contexts, Recorder

#: Rounds of all modes, and steps of one mode per round, by model.
ROUNDS = 5
STEPS = {"mlp": 40, "transformer": 12, "GPT": 1}


class Recorded:
    """The recorder around some steps."""

    def __enter__(self) -> None:
        self._recorder = Recorder(Contexts(), lambda: None)
        self._recorder.start()
        self._recorder.mark_step()

    def __exit__(self, *_: object) -> None:
        self._recorder.stop()


def profiled() -> AbstractContextManager[Any]:
    """Run torch's profiler with memory accounting."""
    return torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU])


WAYS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "bare": nullcontext,
    "gradlife peak, recorded": Recorded,
    "logging dispatch mode": Logger,
    "torch.profiler, memory": profiled,
}


if importlib.util.find_spec("memray") is not None:
    WAYS["memray"] = memray


def gpt() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A hundred million parameters: twelve layers of width 768, sequences of 64, a batch of 2."""
    layers = [nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True) for _ in range(12)]
    model = nn.Sequential(nn.Embedding(10_000, 768), *layers, nn.Linear(768, 10_000), nn.Flatten(0, 1))
    tokens = torch.randint(10_000, (2, 64))
    return model, tokens, tokens.flatten()


MODELS = {"mlp": mlp, "transformer": transformer, "GPT": gpt}


def step_of(name: str) -> Callable[[], None]:
    """A training step."""
    torch.manual_seed(0)
    model, x, y = MODELS[name]()
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
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


def cost_table() -> Table:
    """Return the medians of all rounds, relative to the bare step."""
    table = Table("model", "way", "ms a step", "of bare", "target", title="CPU of a recorded step")
    for name, steps in STEPS.items():
        step = step_of(name)
        for _ in range(3):
            step()
        rounds = [{way: seconds(make, step, steps) for way, make in WAYS.items()} for _ in range(ROUNDS)]
        for way in WAYS:
            ratio = statistics.median(one[way] / one["bare"] for one in rounds)
            milliseconds = 1000 * statistics.median(one[way] for one in rounds)
            target = "3.00" if way.startswith("gradlife") else ""
            table.add_row(name, way, f"{milliseconds:.2f}", f"{ratio:.2f}", target)
    return table
