"""Groups of survivors, and the member that is shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.heap.graph import HeapObject
from gradlife.hunting.findings import leak_trace
from gradlife.hunting.growth.groups import FRAME, Group, held_groups, join_by_container, top_of
from gradlife.hunting.growth.reachable_growth import evidence_of, grown_groups
from gradlife.hunting.growth.suspects import is_of_hunt
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot
from step_evidence import has_tensors

TENSOR, LOSS = ("python", "Tensor"), ("python", "Loss")


def chain(length: int, kind: tuple[str, str]) -> Any:
    """A root, 0, that holds the first of so many objects, each of which holds the next."""
    return SimpleNamespace(
        describe=lambda node: HeapObject((*kind, node, 16)),
        kind_and_type=lambda _: kind,
        kind=lambda node: kind[0],
        type=lambda node: kind[1],
        dominator=lambda node: node - 1 if node else None,
        path=lambda node: [*range(node + 1)],
        retained=lambda node: 16 * (length - node),
    )


def test_what_hangs_on_something_old_has_its_own_top() -> None:
    born: Any = dict.fromkeys([7, 8], 0)
    assert top_of(chain(9, TENSOR), 8, born, {}) == 7


@pytest.mark.parametrize(
    ("first", "second", "into"),
    [
        pytest.param((True, 1), (True, 24), 1, id="the newest is in a cache, too"),
        pytest.param((True, 24), (True, 1), 0, id="the same, met the other way round"),
        pytest.param((True, 24), (True, 24), 0, id="keys and values"),
        pytest.param((False, 30), (True, 24), 1, id="no container has the others"),
    ],
)
def test_groups_of_one_container_are_called_after_the_one_that_it_has_most_of(
    first: tuple[bool, int], second: tuple[bool, int], into: int
) -> None:
    target = [0, 1]
    join_by_container(target, 1, 0, [first, second])
    assert target == [into, into]


@pytest.mark.parametrize("kind", [TENSOR, LOSS])
def test_a_chain_is_named_by_the_first_link_below_two_of_its_like(
    kind: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leak_trace, "tensor_type_names", lambda: {"Tensor"})
    members = dict.fromkeys(range(2, 9), 2)
    assert leak_trace.chain_link(chain(9, kind), Group(1, [2], members)) == 4


def test_two_of_a_kind_are_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leak_trace, "tensor_type_names", lambda: {"Tensor"})
    assert leak_trace.chain_link(chain(9, TENSOR), Group(1, [2], {2: 2, 3: 2})) is None


def test_the_hunts_own_snapshots_are_of_the_hunt_also_where_nothing_seems_to_hold_them() -> None:
    """On a loaded machine a clean test "leaked" the snapshots that the hunt had taken of it: GL801."""
    types = {1: "gradlife.hunting.session.method.Hunt", 2: "list", 3: "dict", 4: "__main__.Owner"}
    graph: Any = SimpleNamespace(type=types.__getitem__, referrers={1: [], 2: [1], 3: [4], 4: []}.__getitem__)
    assert is_of_hunt(graph, Group(None, [1]))
    assert is_of_hunt(graph, Group(None, [2]))
    assert not is_of_hunt(graph, Group(None, [3]))


def test_hooks_that_the_graph_of_the_running_step_holds_too_are_held_by_their_module() -> None:
    """The layer of a Grad-CAM got one more backward hook with each image, and the hunt did not find the cause."""
    torch = pytest.importorskip("torch")
    layer, batch = torch.nn.Linear(4, 4), torch.ones(2, 4, requires_grad=True)
    snapshots: list[StepSnapshot] = []
    steps = 0
    for length in (5, 7, 11, 13):
        for _ in range(length):
            maps = [torch.ones(8)]
            layer.register_full_backward_hook(lambda module, before, after, maps=maps: None)
            scores = layer(batch)
            scores.sum().backward()
        steps += length
        snapshots.append(take_snapshot(steps, with_labels=len(snapshots) == 3))
    assert scores.grad_fn is not None
    found = evidence_of(snapshots)
    sure, _ = grown_groups(found)
    mine = [one for one in sure if has_tensors(found, one.group.members)]
    holders = [found.graph.describe(node)[1:3] for one in mine for node in one.containers]
    assert holders == [("collections.OrderedDict", id(layer._backward_hooks))]


def test_what_holds_the_running_steps_batch_does_not_hold_the_list_that_grows() -> None:
    """A function of the running step holds its batch and its newest output, which is also in the list: so the batch is in
    the group of the list, and its dict of arguments took over the whole. Lightning's loops have such a dict.
    """
    frames, results, kept, arguments, batch, newest = (1, 2), 3, 4, 5, 6, 8
    items = [*range(7, 9), *range(10, 30)]
    kinds = {0: ("root", "process"), 1: FRAME, 2: FRAME, results: ("python", "dict"), kept: ("python", "list")}
    kinds |= {arguments: ("python", "OrderedDict"), batch: ("python", "list")}
    held = {arguments: [1, 2], batch: [arguments, 1, results], 7: [batch, 1], newest: [1, kept]}
    above = dict.fromkeys([*frames, results, kept, arguments, batch, 7, newest], 0)
    graph: Any = SimpleNamespace(
        kind_and_type=lambda node: kinds.get(node, TENSOR),
        kind=lambda node: kinds.get(node, TENSOR)[0],
        type=lambda node: kinds.get(node, TENSOR)[1],
        dominator=lambda node: above.get(node, kept) if node else None,
        path=lambda node: [0, held.get(node, [kept])[0], node],
        referrers=lambda node: held.get(node, [kept]) if node > kept else [0],
    )
    born: Any = dict.fromkeys([*items[2:], arguments, 7, newest, batch], 0)
    whole, loops = held_groups(graph, born)
    assert (whole.anchor, len(whole.tops), whole.members.keys() >= {7, newest, batch}) == (kept, 20, True)
    assert (loops.anchor, loops.tops) == (0, [arguments])
