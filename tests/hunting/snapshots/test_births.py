"""The rounds in which the objects of graphs were born, where they stand at addresses of freed ones."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.heap.torch_layout.offset_search import node_behind  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot  # noqa: E402
from gradlife.hunting.snapshots.survivors import births  # noqa: E402


def address_of(result: Any) -> int:
    """Return the address of the grad node of a result."""
    return node_behind(result.grad_fn) or 0


def replaced(count: int) -> tuple[list[StepSnapshot], int, Any]:
    """Return snapshots between which a grad node got the address of a freed one, the address, and what holds it."""
    leaf = torch.ones(2, requires_grad=True)
    held = [leaf.sin()]
    address = address_of(held[0])
    snapshots = [take_snapshot(0)]
    for number in range(count):
        held.clear()
        held.append(leaf.sin())
        assert address_of(held[0]) == address, "malloc hands out what was freed last"
        snapshots.append(take_snapshot(number + 1))
    return snapshots, address, held


def test_a_grad_node_at_the_address_of_a_freed_one_is_new() -> None:
    snapshots, address, _held = replaced(1)
    assert births(snapshots)[snapshots[-1].graph.find(address)] == 0  # type: ignore[index]


def test_a_grad_node_that_was_replaced_in_each_round_is_of_the_last() -> None:
    snapshots, address, _held = replaced(3)
    assert births(snapshots)[snapshots[-1].graph.find(address)] == 2  # type: ignore[index]


def test_a_grad_node_that_lives_on_is_not_new() -> None:
    leaf = torch.ones(2, requires_grad=True)
    held = leaf.sin()
    snapshots = [take_snapshot(0), take_snapshot(1)]
    assert snapshots[-1].graph.find(address_of(held)) not in births(snapshots)


def test_a_snapshot_has_the_numbers_of_its_grad_nodes() -> None:
    leaf = torch.ones(2, requires_grad=True)
    held = leaf.sin()
    graph = take_snapshot(0).graph
    node = graph.find(address_of(held))
    accumulators = {one for one in graph.referents(node or 0) if graph.type(one).endswith("AccumulateGrad")}
    assert graph.sequence_number(node or 0) == held.grad_fn._sequence_nr()
    assert [graph.sequence_number(one) for one in accumulators] == [None]
