"""Facts that a judge asks of one snapshot among several. They are noted: the next copy need not read that graph again."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Types that refer to two objects for each item, and how a graph describes their length.
MAPPINGS = frozenset({"dict", "collections.OrderedDict", "collections.defaultdict"})
LENGTH = re.compile(r"len (\d+)")


class Identity(NamedTuple):
    """The identity of an object in the snapshots of one process."""

    kind: str
    type: str
    address: int
    number: int | None = None  # of a grad node: another one may get its address


def identity_of(graph: _heap.Graph, node: int) -> Identity:
    """Return the identity of a node."""
    return Identity(*graph.kind_and_type(node), graph.describe(node).address, graph.sequence_number(node))


def node_at(graph: _heap.Graph, one: Identity) -> int | None:
    """Return the node of an object; None if the graph has another object there, or none."""
    node = graph.find(one.address)
    if node is None or graph.kind_and_type(node) != one[:2]:
        return None
    number = graph.sequence_number(node)
    return node if one.number is None or number is None or number == one.number else None


def reference_count(snapshot: StepSnapshot, one: Identity) -> int | None:
    """Return how many objects an object refers to; None if the snapshot does not have it."""

    def find() -> int | None:
        node = node_at(snapshot.graph, one)
        return None if node is None else len(snapshot.graph.referents(node))

    return snapshot.noted(("references", *one), find)


def items_per_reference(graph: _heap.Graph, container: int) -> float:
    """Return how many items a container has for each object that it refers to; 1 if the graph does not tell.

    A dict refers to its keys, too, unless they are small texts or numbers.
    """
    references = len(graph.referents(container))
    path = graph.path_references(container) if graph.has_labels and graph.type(container) in MAPPINGS else []
    found = LENGTH.match(path[-1].detail) if path else None
    return min(1.0, int(found[1]) / references) if found is not None and references else 1.0


def retained_bytes(snapshot: StepSnapshot, one: Identity) -> int | None:
    """Return the bytes that would be freed with an object; None if the snapshot does not have it."""

    def find() -> int | None:
        node = node_at(snapshot.graph, one)
        return None if node is None else snapshot.graph.retained(node)

    return snapshot.noted(("retained", *one), find)


def unreached_count(snapshot: StepSnapshot, kind: str, type_: str) -> int:
    """Count the unreachable objects of a type."""

    def find() -> int:
        graph = snapshot.graph
        return sum(not graph.path(node) for node in graph.nodes(kind, type_))  # cheaper than its dominators

    return snapshot.noted(("unreached", kind, type_), find)


def level_by_type(snapshot: StepSnapshot) -> Counter[tuple[str, str]]:
    """Count the objects of each kind and type."""

    def find() -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for name, kind, count, _ in snapshot.graph.census():
            found[kind, name] += count
        return found

    return snapshot.noted("levels", find)
