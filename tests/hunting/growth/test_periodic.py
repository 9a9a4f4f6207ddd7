"""What finished steps keep for a while and let go together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.hunting.growth.periodic import KeptBelow, comes_and_goes, lasting_holder, period_of
from gradlife.hunting.snapshots.retained import Kept, kept_in

STEPS = (12, 19, 30, 47, 76, 107)
UNIT = 40_000


@pytest.mark.parametrize("period", range(3, 41))
@pytest.mark.parametrize("phase", [0, 1])
@pytest.mark.parametrize("is_before", [True, False])
def test_the_period_is_that_of_the_cuts(period: int, phase: int, is_before: bool) -> None:
    since = [(step - phase) % period for step in STEPS]
    amounts = [UNIT * (age or (period if is_before else 0)) for age in since]
    found = period_of(STEPS, amounts)
    is_seen = len(set(amounts)) > 2 and any(after < before for before, after in itertools.pairwise(amounts))
    assert (found is not None) == is_seen
    assert found is None or all(
        len({amount for amount, step in zip(amounts, STEPS, strict=True) if step % found == rest}) <= 1
        for rest in range(found)
    )


@pytest.mark.parametrize(
    "amounts",
    [
        [UNIT] * 6,  # the last step is kept, always
        [step * UNIT for step in STEPS],  # a leak
        [3 * UNIT, 5 * UNIT, 4 * UNIT, 9 * UNIT, 2 * UNIT, 7 * UNIT],  # batches of any length
        [100, 200, 0, 100, 200, 100],  # too little to matter
    ],
)
def test_what_fits_no_period_has_none(amounts: Sequence[int]) -> None:
    assert period_of(STEPS, amounts) is None


def test_three_snapshots_tell_no_period() -> None:
    assert period_of((5, 10, 17), (5 * UNIT, 4 * UNIT, 5 * UNIT)) is None


@pytest.mark.parametrize(
    ("amounts", "is_so"), [((5, 0, 3), True), ((0, 0, 3), False), ((3, 3, 0), False), ((0, 0), False)]
)
def test_what_was_gone_in_between_comes_and_goes(amounts: Sequence[int], is_so: bool) -> None:
    assert comes_and_goes(amounts) == is_so


def heap(*types: str) -> Any:
    """A chain of Python objects from the outermost, node 1 at address 100, each the holder of the next; node 0 is the root."""
    roots = {"running frame"}
    kinds = [("root", "process"), *(("root" if name in roots else "python", name) for name in types)]
    return SimpleNamespace(
        kind_and_type=kinds.__getitem__,
        describe=lambda node: SimpleNamespace(address=100 * node),
        dominator=lambda node: node - 1 if node else None,
        find=lambda address: address // 100 if address // 100 < len(kinds) else None,
    )


@pytest.mark.parametrize(
    ("others", "address"),
    [
        ([heap("Loop", "Result", "Node")], 200),
        ([heap("Loop", "Result", "Node"), heap("Loop", "str", "Node")], 100),
        ([heap("Loop")], 100),
        ([heap("dict")], 0),
    ],
    ids=["the holder stays", "another object stood there", "the holder is new", "all is new"],
)
def test_the_holder_is_one_that_all_snapshots_have(others: list[Any], address: int) -> None:
    """A result that each step makes anew seemed to be let go, by chance: the report was clean."""
    graph = heap("Loop", "Result", "Node")
    assert lasting_holder(graph, Kept(3, []), others) == address


def test_a_running_call_is_a_holder_that_stays() -> None:
    """A state in a local variable of the loop is judged by what that call holds, not by all that is kept."""
    graph = heap("running frame", "Result", "Node")
    assert lasting_holder(graph, Kept(3, []), [heap("running frame", "str", "Node")]) == 100


class Tree:
    """A dominator tree of Python objects, grad nodes and storages of 8 bytes; counts how often it is climbed."""

    def __init__(self, rows: Sequence[tuple[str, int | None]]) -> None:
        self.rows = rows  # for each node: its kind, and the node above it
        self.climbed = 0

    def dominator(self, node: int) -> int | None:
        self.climbed += 1
        return self.rows[node][1]

    def kind_and_type(self, node: int) -> tuple[str, str]:
        return self.rows[node][0], "Type"

    def census(self) -> list[tuple[str, str, int, int]]:
        return [("Type", "storage", 0, 0)]

    def of_type(self, name: str) -> list[int]:
        return [node for node, (kind, _) in enumerate(self.rows) if kind == "storage"]

    def describe(self, node: int) -> SimpleNamespace:
        return SimpleNamespace(bytes=0, address=100 * node)

    def borrowed(self, node: int) -> int:
        return 8

    def find(self, address: int) -> int | None:
        return address // 100 if address // 100 < len(self.rows) else None


def test_what_is_below_an_object_is_what_its_graphs_keep() -> None:
    """Node 2 and node 6 are the outermost nodes of two graphs; node 9 is not reachable."""
    tree: Any = Tree(
        [
            ("root", None),
            ("python", 0),
            ("grad_node", 1),
            ("storage", 2),
            ("grad_node", 2),
            ("storage", 4),
            ("grad_node", 0),
            ("storage", 6),
            ("storage", 1),
            ("storage", None),
        ]
    )
    found = [(one.owner, one.storages) for one in kept_in(tree)]
    assert found == [(2, [3, 5]), (6, [7])]
    assert [(one.owner, one.storages) for one in kept_in(tree, [4])] == [(2, [3]), (6, [7])]
    below = KeptBelow()
    assert [below.bytes_at(tree, 100 * node) for node in (0, 1, 2, 8, 99)] == [24, 16, 0, 0, 0]


def test_a_deep_graph_is_climbed_once_for_each_question() -> None:
    """Each of the storages of a recurrent network climbed through all the nodes after it: 4,000 steps took 18 s."""
    rows: list[tuple[str, int | None]] = [("root", None), ("python", 0)]
    for _ in range(2_000):
        last = len(rows) - 1 if len(rows) == 2 else len(rows) - 2
        rows += [("grad_node", last), ("storage", len(rows))]
    tree: Any = Tree(rows)
    below = KeptBelow()
    assert [below.bytes_at(tree, 100) for _ in range(50)] == [16_000] * 50
    assert tree.climbed < 3 * len(rows)
