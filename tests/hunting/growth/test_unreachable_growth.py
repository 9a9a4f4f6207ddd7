"""Growth that no root reaches: leaks, against objects that C++ code keeps for a while at the same addresses."""

from __future__ import annotations

import collections
import ctypes
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.heap.graph import HeapObject  # noqa: E402
from gradlife.hunting.findings.holder_path import path_to_resource  # noqa: E402
from gradlife.hunting.growth.groups import Group  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, grown_groups  # noqa: E402
from gradlife.hunting.growth.unreachable_growth import unreachable_growth  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot  # noqa: E402
from gradlife.hunting.snapshots.survivors import Births  # noqa: E402
from step_evidence import evidence  # noqa: E402

TENSOR, STORAGE, NODE, OTHER = ("tensor", "Impl"), ("storage", "Bytes"), ("grad_node", "Sin"), ("grad_node", "Relu")


class Graph:
    """Nodes that no root reaches, by their types."""

    def __init__(self, types: Sequence[tuple[str, str]]) -> None:
        self.types = list(types)

    def describe(self, node: int) -> HeapObject:
        return HeapObject((*self.types[node], node, 16))

    def borrowed(self, node: int) -> int:
        return 0

    def kind_and_type(self, node: int) -> tuple[str, str]:
        return self.types[node]

    def kind(self, node: int) -> str:
        return self.types[node][0]

    def type(self, node: int) -> str:
        return self.types[node][1]

    def nodes(self, kind: str, name: str) -> list[int]:
        return [node for node, type_ in enumerate(self.types) if type_ == (kind, name)]

    def dominator(self, node: int) -> None:
        return None

    def path(self, node: int) -> list[int]:
        return []


def judge(
    islands: Sequence[Sequence[tuple[tuple[str, str], int]]], counts: Sequence[Counter[tuple[str, str]]]
) -> list[bool]:
    """Judge groups. Each is one island after another, of types and the rounds of their births; `counts` are those at
    earlier snapshots.
    """
    types: list[tuple[str, str]] = []
    born: Births = {}
    groups = []
    for kinds in islands:
        group = Group(None)
        for type_, number in kinds:
            if type_ in {NODE, OTHER} or not group.tops:
                group.tops.append(len(types))
            group.members[len(types)] = group.tops[-1]
            born[len(types)] = number
            types.append(type_)
        groups.append(group)
    graphs: list[Any] = [Graph(list(count.elements())) for count in counts] + [Graph(types)]
    snapshots = [StepSnapshot(number, False, opened=graph) for number, graph in enumerate(graphs)]
    found = unreachable_growth(groups, snapshots, born, range(3))
    return [any(one is group for one in found) for group in groups]


def island(node: tuple[str, str], number: int, tensors: int) -> list[tuple[tuple[str, str], int]]:
    return [(node, number)] + [(TENSOR, number)] * tensors


def test_islands_of_which_there_are_more_after_each_round_last() -> None:
    leak = [part for number in range(3) for part in island(NODE, number, 2)]
    before = [Counter({NODE: at, TENSOR: 2 * at}) for at in range(3)]
    assert judge([leak], before) == [True]


def test_islands_of_which_there_are_as_many_as_before_do_not_last() -> None:
    window = [part for number in range(3) for part in island(NODE, number, 2)]
    before = [Counter({NODE: 3, TENSOR: 6})] * 3
    assert judge([window], before) == [False]


def test_islands_without_a_class_of_their_own_share_what_the_others_leave() -> None:
    leak = [part for number in range(3) for part in island(NODE, number, 2)]
    window = [(TENSOR, number) for number in range(3)]
    before = [Counter({NODE: at, TENSOR: 2 * at + 3}) for at in range(3)]
    assert judge([leak, window], before) == [True, False]
    beside = [Counter({NODE: at, TENSOR: 3 * at}) for at in range(3)]
    assert judge([leak, window], beside) == [True, True]


def test_a_part_that_stands_where_another_stood_is_counted_to_its_island() -> None:
    """One of the leak's tensors is taken for one that was there before."""
    leak = [*island(NODE, 0, 2), *island(NODE, 1, 2), *island(NODE, 2, 1)]
    window = [(TENSOR, 2)]
    before = [Counter({NODE: at, TENSOR: 2 * at}) for at in range(3)]
    assert judge([leak, window], before) == [True, False]


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
    graph: Any = Graph([("python", "torch.nn.modules.module.Module")])
    assert path_to_resource(graph, Group(None, [0], {0: 0})) is None
