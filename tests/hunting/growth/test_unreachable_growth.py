"""Growth that no root reaches: leaks, against objects that C++ code keeps for a while at the same addresses."""

from __future__ import annotations

import collections
import ctypes
import gc
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.findings.holder_path import path_to_resource  # noqa: E402
from gradlife.hunting.growth.groups import Group  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, grown_groups  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402


def lost_tensors(found: Evidence) -> list[bool]:
    """Of the groups that grow and that no root reaches, which have tensors."""
    lost = [one.group for one in grown_groups(found)[0] if one.group.anchor is None]
    return [any(found.graph.describe(node)[0] == "tensor" for node in group.members) for group in lost]


@pytest.mark.whole
def test_a_window_of_futures_keeps_nothing() -> None:
    window: collections.deque[Any] = collections.deque(maxlen=24)
    weight = torch.ones(8, requires_grad=True)

    def step(_: int) -> None:
        future = torch.futures.Future()
        future.set_result((weight * 2).relu())
        window.append(future)

    assert lost_tensors(evidence(step, 40, 29, 31, 61)) == []


def test_tensors_with_a_reference_too_many_are_reported_beside_a_window_of_futures() -> None:
    window: collections.deque[Any] = collections.deque(maxlen=24)
    leaked: list[int] = []

    def step(number: int) -> None:
        future = torch.futures.Future()
        future.set_result(torch.ones(8))
        window.append(future)
        if number % 3 == 0:
            tensor = torch.ones(9)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
            leaked.append(id(tensor))

    found = evidence(step, 40, 29, 31, 61)
    try:
        assert True in lost_tensors(found)
    finally:
        for address in leaked:
            ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))


def test_no_path_leads_to_a_module_that_no_root_reaches() -> None:
    """The hunt failed with an IndexError."""
    graph: Any = SimpleNamespace(path=lambda node: [], type=lambda node: "torch.nn.modules.module.Module")
    assert path_to_resource(graph, Group(None, [0], {0: 0})) is None


class Pair:
    """An object in a cycle with a list, which only the collector frees."""

    def __init__(self) -> None:
        self.kept = [self]


def test_garbage_that_is_frozen_once_is_no_leak() -> None:
    """A server freezes what it has loaded. What was garbage at that moment stays, and gets no more."""

    def step(number: int) -> None:
        if number < 10:
            Pair()
        if number == 9:
            gc.freeze()

    try:
        leaks, _ = judged(evidence(step, 5, 7, 11, 7))
        assert not [one for one in leaks if any(link.object == "Pair" for link in one.trace.cycle)]
    finally:
        gc.unfreeze()
        gc.collect()
