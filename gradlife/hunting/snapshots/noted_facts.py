"""Facts that a judge asks of one snapshot among several. They are noted: the next copy need not read that graph again."""

from __future__ import annotations

from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Types that refer to two objects for each item.
MAPPINGS = frozenset({"dict", "collections.OrderedDict", "collections.defaultdict"})

#: The bits of a birth that tell the moment, below those of the line of marks.
MOMENT_BITS = 32


class Identity(NamedTuple):
    """The identity of an object in the snapshots of one process."""

    kind: str
    type: str
    address: int
    number: int | None = None  # of a grad node: another one may get its address
    birth: int | None = None  # of what the collector tracks


def identity_of(graph: _heap.Graph, node: int) -> Identity:
    """Return the identity of a node."""
    address = graph.describe(node).address
    return Identity(*graph.kind_and_type(node), address, graph.sequence_number(node), graph.birth(node))


def node_at(graph: _heap.Graph, one: Identity) -> int | None:
    """Return the node of an object; None if the graph has another object there, or none."""
    node = graph.find(one.address)
    if node is None or graph.kind_and_type(node) != one[:2]:
        return None
    number, birth = graph.sequence_number(node), graph.birth(node)
    if one.number is not None and number is not None and number != one.number:
        return None
    return node if one.birth is None or birth is None or is_one_birth(birth, one.birth) else None


def is_one_birth(a: int, b: int) -> bool:
    """Whether two births may be of one object: they are equal, or of different lines of marks."""
    return a == b or a >> MOMENT_BITS != b >> MOMENT_BITS


def item_count(snapshot: StepSnapshot, one: Identity) -> int | None:
    """Return how many items a container has, or how many objects another object refers to; None if it was not there."""

    def find() -> int | None:
        node = node_at(snapshot.graph, one)
        return None if node is None else items_of(snapshot.graph, node)

    return snapshot.noted(("items", *one), find)


def items_of(graph: _heap.Graph, node: int) -> int:
    """Return how many items a container has that are not None, or how many objects another object refers to."""
    length = graph.length(node)
    return len(graph.referents(node)) if length is None else length - graph.unset(node)
