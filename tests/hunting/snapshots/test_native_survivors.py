"""Tensors that nobody sees held, and the objects that are taken for their holders."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.findings.native_survivors import with_native_parts  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, evidence_of, grown_groups  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot  # noqa: E402


def hunted(step: Callable[[], object]) -> tuple[Evidence, list[GrownGroup]]:
    """Return the groups that a few rounds of steps leave."""
    snapshots: list[StepSnapshot] = []
    steps = 0
    for length in (3, 5, 7, 11):
        for _ in range(length):
            step()
        steps += length
        snapshots.append(take_snapshot(steps, with_labels=len(snapshots) == 3))
    evidence = evidence_of(snapshots)
    return evidence, with_native_parts(evidence, grown_groups(evidence)[0])


def with_tensors(evidence: Evidence, found: list[GrownGroup]) -> list[GrownGroup]:
    """Return the groups that contain tensors."""
    graph = evidence.graph
    return [one for one in found if any(graph.describe(node)[0] == "tensor" for node in one.group.members)]


def test_capsules_are_reported_with_the_tensors_that_they_own() -> None:
    capsules: list[Any] = []
    evidence, grown = hunted(lambda: capsules.append(torch.utils.dlpack.to_dlpack(torch.ones(16))))
    [found] = with_tensors(evidence, grown)
    assert evidence.graph.describe(found.group.tops[0])[1] == "PyCapsule"
    assert found.per_step.tensors == found.per_step.storages == 1.0


@pytest.fixture
def taken() -> Iterator[list[int]]:
    """Addresses of objects to which native code is to have taken a reference."""
    addresses: list[int] = []
    yield addresses
    for address in addresses:
        ctypes.pythonapi.Py_DecRef(ctypes.cast(address, ctypes.py_object))


def test_a_reference_that_native_code_took_is_none_of_the_lists_beside_it(taken: list[int]) -> None:
    notes: list[Any] = []

    def step() -> None:
        tensor = torch.ones(16)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
        taken.append(id(tensor))
        notes.append((len(notes), lambda: None))

    [found] = with_tensors(*hunted(step))
    assert found.group.anchor is None


def test_the_method_that_a_running_thread_was_started_with_is_no_leak_beside_the_thread() -> None:
    end = threading.Event()
    threads: list[threading.Thread] = []

    def step() -> None:
        threads.append(threading.Thread(target=end.wait))
        threads[-1].start()

    try:
        evidence, grown = hunted(step)
    finally:
        end.set()
        for thread in threads:
            thread.join()
    names = [{evidence.graph.describe(node)[1] for node in one.group.members} for one in grown]
    assert [one.group.anchor is None for one in grown] == [False]
    assert {"threading.Thread", "method"} <= names[0]


def test_a_method_of_nothing_that_grows_is_a_leak_of_its_own(taken: list[int]) -> None:
    event = threading.Event()

    def step() -> None:
        method = event.wait
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
        taken.append(id(method))

    evidence, [found] = hunted(step)
    assert {evidence.graph.describe(node)[1] for node in found.group.members} == {"method"}
    assert found.per_step.objects == 1.0


def test_futures_of_torchscript_are_reported_with_the_results_that_they_own() -> None:
    futures: list[Any] = []

    def step() -> None:
        futures.append(torch.futures.Future())
        futures[-1].set_result(torch.ones(16))

    evidence, grown = hunted(step)
    [found] = with_tensors(evidence, grown)
    assert found.containers == (evidence.graph.find(id(futures)),)
    assert found.per_step.tensors == 1.0


class Timer:
    """Something whose method C code holds while it waits."""

    def stop(self) -> None:
        """Do nothing."""


TIMER = Timer()


def test_what_c_code_holds_for_a_greenlet_that_waits_is_no_second_leak() -> None:
    greenlet = pytest.importorskip("greenlet")
    waiting: list[Any] = []

    def compare_second(number: Iterator[int]) -> int:
        if found := next(number):
            greenlet.getcurrent().parent.switch()
        return found

    def step() -> None:
        # While the second method is compared, only a variable of `max` has the first.
        number = itertools.count()
        methods = (TIMER.stop for _ in range(2))
        waiting.append(greenlet.greenlet(lambda: max(methods, key=lambda _: compare_second(number))))
        waiting[-1].switch()

    evidence, found = hunted(step)
    [waits] = [one for one in found if one.group.anchor is not None]
    assert any(evidence.graph.type(node) == "greenlet.greenlet" for node in waits.group.members)
    assert [one for one in found if one.group.anchor is None] == []
    waiting.clear()
