"""Programs whose storages have holders, which each says: run in a process of its own, as a look at the holders reads all."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch

from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.peaks.recording.holders import Holder, holders_now


class Layer:
    """Keeps keys that it gets later."""

    def __init__(self) -> None:
        self.keys: Any = None

    def update(self, keys: Any) -> None:
        self.keys = keys


class Cache:
    """Layers, as a model makes them in each call."""

    def __init__(self) -> None:
        self.layers = [Layer()]


class Output(OrderedDict[str, Any]):
    """What a model returns."""

    cache: Cache


def holders_at(storage: int) -> list[Holder]:
    """The holders of a storage, by its address."""
    ensure_calibrated()
    return in_fork(holders_now)[storage].holders


def cache_in_an_output() -> object:
    """A model returns its cache with its output."""
    output = Output()
    output.cache = Cache()
    output.cache.layers[0].update(torch.ones(100_003))
    holders = holders_at(output.cache.layers[0].keys.untyped_storage()._cdata)
    return [(str(one.kind), one.name, one.path) for one in holders if one.can_let_go]


def cache_that_lasts() -> object:
    """The program keeps its cache."""
    kept = Cache()
    kept.layers[0].update(torch.ones(100_003))
    return [one.text for one in holders_at(kept.layers[0].keys.untyped_storage()._cdata) if one.can_let_go]


def gradient_of_an_optimizer() -> object:
    """Of two parameters with gradients, an optimizer has one."""
    ours, other = (torch.nn.Parameter(torch.ones(100_003)) for _ in range(2))
    optimizer = torch.optim.SGD([ours], 0.1)
    (ours * other).sum().backward()
    found = [holders_at(one.grad.untyped_storage()._cdata) for one in (ours, other) if one.grad is not None]
    assert len(optimizer.param_groups) == 1
    return [[one.path for one in holders if one.kind == "gradient"] for holders in found]


LOOP = """\
def items():
    for number in range(3):
        found.append(holders_at(last[0]) if last else [])
        yield [torch.ones(50_001 + number)]


for number, (item,) in enumerate(items()):
    last[:] = [item.untyped_storage()._cdata]
"""


def loop_over_enumerate(folder: Path) -> object:
    """A script's loop: each pass makes the next item."""
    found = list[list[Holder]]()
    file = folder / "script.py"
    file.write_text(LOOP)
    exec(compile(LOOP, str(file), "exec"), {"torch": torch, "holders_at": holders_at, "found": found, "last": []})
    return [[one.text for one in holders if one.kind == "iterator"] for holders in found]


def say_all(folder: str) -> None:
    """Print what each program found."""
    programs = (cache_in_an_output, cache_that_lasts, gradient_of_an_optimizer)
    found = {program.__name__: program() for program in programs}
    print(json.dumps({**found, "loop_over_enumerate": loop_over_enumerate(Path(folder))}))
