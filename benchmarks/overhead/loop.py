"""A training loop that measures itself, with or without an observer.

It is a script like a user's, run by Python or by `gradlife hunt`, and knows nothing of the latter.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

#: Steps before the first that is measured: the optimizer's state, the allocator's pools.
WARMUP = 12


def mlp() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Four layers of 256, a batch of 64."""
    layers = [nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(256, 10)), torch.randn(64, 256), torch.randint(0, 10, (64,))


def transformer() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Two layers of width 64, sequences of 64, a batch of 8."""
    layers = [nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)]
    model = nn.Sequential(nn.Embedding(100, 64), *layers, nn.Linear(64, 100), nn.Flatten(0, 1))
    return model, torch.randint(0, 100, (8, 64)), torch.randint(0, 100, (8, 64)).flatten()


MODELS = {"mlp": (mlp, 400), "transformer": (transformer, 120)}


# --- observers: each is entered around the loop, and returns what to do after a step ---------------------------------------

Observer = AbstractContextManager[Callable[[], object]]


@contextlib.contextmanager
def nothing() -> Iterator[Callable[[], object]]:
    """The bare loop."""
    yield lambda: None


@contextlib.contextmanager
def watch() -> Iterator[Callable[[], object]]:
    """Enter `with gradlife.watch():` once in each step. A pass of its block counts as a step whatever is inside."""
    import gradlife

    def enter() -> None:
        with gradlife.watch(on_report=str):
            pass

    yield enter


@contextlib.contextmanager
def lines() -> Iterator[Callable[[], object]]:
    """Do what a hunt's second pass does in every step: record where objects are created; with types, as `--lines` does."""
    from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording

    recording = Recording()
    recording.start(USUAL)
    try:
        yield lambda: None
    finally:
        recording.stop()


@contextlib.contextmanager
def traced(frames: int) -> Iterator[Callable[[], object]]:
    """Run tracemalloc with so many frames."""
    tracemalloc.start(frames)
    try:
        yield lambda: None
    finally:
        tracemalloc.stop()


@contextlib.contextmanager
def memray() -> Iterator[Callable[[], object]]:
    """Run memray's tracker, and discard its file."""
    import memray  # type: ignore[import-not-found, unused-ignore]

    with memray.Tracker(destination=memray.FileDestination("/dev/null", overwrite=True)):
        yield lambda: None


@contextlib.contextmanager
def scan() -> Iterator[Callable[[], object]]:
    """Scan all objects after each step: the usual recipe."""
    yield lambda: sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())


class Logger(TorchDispatchMode):
    """Record the shape of each operation's result."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, object]] = []

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        result = function(*arguments, **(keywords or {}))
        self.log.append((str(function), getattr(result, "shape", None)))
        return result


@contextlib.contextmanager
def dispatch() -> Iterator[Callable[[], object]]:
    """Run a logging dispatch mode, whose log is dropped after each step."""
    with Logger() as mode:
        yield mode.log.clear


OBSERVERS: dict[str, Callable[[], Observer]] = {
    "none": nothing,
    "watch": watch,
    "lines": lines,
    "tracemalloc": lambda: traced(1),
    "tracemalloc 10 frames": lambda: traced(10),
    "memray": memray,
    "get_objects scan": scan,
    "TorchDispatchMode logger": dispatch,
}


# --- the loop --------------------------------------------------------------------------------------------------------------


def resident() -> tuple[int, int]:
    """Return bytes resident now and at the peak."""
    words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(words["VmRSS"].split()[0]) * 1024, int(words["VmHWM"].split()[0]) * 1024


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its finished copies."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def forget_peak() -> None:
    """Reset the peak of resident memory, if the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Train, and record the CPU seconds of each step, and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("out")
    parser.add_argument("--observer", choices=OBSERVERS, default="none")
    parser.add_argument("--steps", type=float, default=1.0, help="factor on the number of steps")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    make, steps = MODELS[arguments.model]
    model, inputs, labels = make()
    optimizer = torch.optim.Adam(model.parameters())
    times, memory = [], []
    with OBSERVERS[arguments.observer]() as after_step:
        for number in range(WARMUP + int(steps * arguments.steps)):
            if number == WARMUP:
                forget_peak()
                memory.append(resident()[0])
            started = cpu_seconds()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            loss.item()
            after_step()
            times.append(cpu_seconds() - started)
            if number == WARMUP + int(steps * arguments.steps) // 2:
                memory.append(resident()[0])
        memory += resident()
    document = {"times": times[WARMUP:], "start": memory[0], "half": memory[1], "end": memory[2], "peak": memory[3]}
    Path(arguments.out).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
