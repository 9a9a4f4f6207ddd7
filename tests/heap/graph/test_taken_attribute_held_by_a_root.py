"""PyTorch 1: an attribute that the collector takes from a wrapper, held by a root as well."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from gradlife import engine
from gradlife.heap import open_snapshot, snapshot
from gradlife.model.trace import Lifetime

KEPT: list[Any] = []


def make_garbage_with_a_kept_attribute() -> int:
    """Make a cycle that no root reaches around a tensor whose attributes a root holds. Return the list's address."""
    x = engine.ones(3, requires_grad=True)
    y = x.exp()
    x.foo = 1
    KEPT.append(x.__dict__)
    box: list[Any] = [x, y]
    box.append(box)
    return id(box)


@pytest.mark.whole
@pytest.mark.parametrize("profile", ["torch-1.10", "torch-1.13"])
def test_cycle_around_it_is_judged_live_and_from_a_file(profile: str, tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        with engine.profile(profile):
            box = make_garbage_with_a_kept_attribute()
            heap = snapshot()
            heap.save(tmp_path / "x.glheap")
            saved = open_snapshot(tmp_path / "x.glheap")
            assert saved.cycles(100_000) == heap.cycles(100_000)
            assert saved.why(box).lifetime is heap.why(box).lifetime is Lifetime.GC
    finally:
        KEPT.clear()
        gc.enable()
        gc.collect()
