"""The state that a chain of graphs grows through: each step computes it from the one before.

`logits, state = cell(x, state)`: both names lead to the graphs of all steps, but only `state` carries them on. The graph
of an earlier state lives on as a part of the chain; the nodes of earlier logits are freed when the name gets new ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.growth.groups import HOLDERS, Group
from gradlife.hunting.snapshots.noted_facts import identity_of, node_at
from gradlife.hunting.snapshots.step_snapshots import tensor_type_names

#: Most C++ objects to search between the chain and the tensors of the program that lead to it.
MAX_BETWEEN = 1024

#: Kinds of the C++ objects that graphs consist of.
NATIVE = frozenset({"tensor", "grad_node"})


#: What a step may make anew for its state: `out, (h, c) = lstm(x, (h, c))`.
PAIRS = frozenset({"tuple", "list"})


@dataclass(frozen=True, slots=True)
class Carrier:
    """A place of the program that holds a tensor with a graph, or a tuple of such tensors."""

    holder: int
    path: tuple[int, ...]  # from what it holds into the chain
    is_pair: bool = False  # whether it holds a tuple or a list, which is the first of the path

    @property
    def tensor(self) -> int:
        """The tensor's Python object."""
        return self.path[self.is_pair]


def find_carrier(graph: _heap.Graph, group: Group, earlier: Sequence[_heap.Graph]) -> Carrier | None:
    """Find the only place whose earlier tensors' nodes are all still alive; None if there are several, or none."""
    places = list(places_of(graph, group))
    if len({one.tensor for one in places}) < 2 or not earlier:
        return None
    found = [one for one in places if all(lives_on(graph, one, before) for before in earlier)]
    return found[0] if len({one.path[0] for one in found}) == 1 else None


def places_of(graph: _heap.Graph, group: Group) -> Iterator[Carrier]:
    """Yield the places that hold a tensor whose graph leads to the chain, those near it first."""
    names = tensor_type_names()
    after = dict.fromkeys(group.tops, -1)
    front = [*group.tops]
    for at in front:
        if graph.kind(at) == "python" and graph.type(at) in names:
            for holder in graph.referrers(at):
                if graph.kind(holder) in HOLDERS and graph.type(holder) not in names:
                    yield Carrier(holder, path_from(at, after))
                    outer = graph.referrers(holder) if graph.type(holder) in PAIRS else ()
                    ones = (one for one in outer if graph.kind(one) in HOLDERS)
                    yield from (Carrier(one, (holder, *path_from(at, after)), is_pair=True) for one in ones)
        for referrer in graph.referrers(at) if len(after) < MAX_BETWEEN else ():
            if referrer not in after and (graph.kind(referrer) in NATIVE or graph.type(referrer) in names):
                after[referrer] = at
                front.append(referrer)


def path_from(node: int, after: Mapping[int, int]) -> tuple[int, ...]:
    """Return the path from a node to the chain."""
    path = [node]
    while after[path[-1]] != -1:
        path.append(after[path[-1]])
    return tuple(path)


def lives_on(graph: _heap.Graph, one: Carrier, before: _heap.Graph) -> bool:
    """Whether the node of the tensor that was in the place before is alive, and the place has another one now."""
    then, now = node_at(before, identity_of(graph, one.holder)), one.holder
    for item in one.path[: one.is_pair + 1]:
        items, items_now = before.referents(then) if then is not None else [], graph.referents(now)
        if len(items) != len(items_now):
            return False  # earlier snapshots have no labels: the place is known by its position
        then, now = items[items_now.index(item)], item
    if then is None or before.type(then) not in tensor_type_names():
        return False
    node = node_of(before, then)
    living = node_at(graph, identity_of(before, node)) if node is not None else None
    return living is not None and living != node_of(graph, one.tensor)


def node_of(graph: _heap.Graph, tensor: int) -> int | None:
    """Return the grad node of a tensor's Python object."""
    impls = (one for one in graph.referents(tensor) if graph.kind(one) == "tensor")
    return next((one for impl in impls for one in graph.referents(impl) if graph.kind(one) == "grad_node"), None)
