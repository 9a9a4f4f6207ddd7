"""Objects that were born in a round and are still alive at the end.

The birth of what the collector tracks is known from marks in its list, that of a grad node from its number. Another C++ object,
an array or a text is new if it stands where none of its type stood before, or if only newer objects hold it.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: New objects of one type that are followed in a round at most.
MAX_OF_A_TYPE = 100_000

#: Last snapshots whose graphs are read again: those around the judged rounds.
KEPT = 4

#: Node of the last snapshot -> index of the round in which it was born; round 0 lies between snapshots 0 and 1.
Births = dict[int, int]


class NewObjects(NamedTuple):
    """Objects of one type that only the later of two graphs has, as its nodes."""

    kind: str
    type: str
    nodes: list[int]


def new_objects(before: _heap.Graph, after: _heap.Graph, most: int = MAX_OF_A_TYPE) -> Iterator[NewObjects]:
    """Compare two graphs of one process: yield the new objects of each type, ``most`` of them at most."""
    for name, kind, _new, _gone, _grown, nodes in _heap.compare_objects(before, after, most):
        if kind != "root":
            yield NewObjects(kind, name, nodes)


def births(snapshots: Sequence[StepSnapshot]) -> Births:
    """Find the nodes that were born after the first snapshot and are alive at the last."""
    found: Births = {}
    last = snapshots[-1].graph
    for number, (before, after) in enumerate(itertools.pairwise(snapshots)):
        if after is snapshots[-1]:
            rows = [*new_objects(before.graph, last)]
            living = [node for row in rows for node in row.nodes]
            noted_addresses(before, after, rows)
        else:
            living = still_there(last, noted_addresses(before, after))
        found.update(dict.fromkeys(living, number))
        if number + KEPT < len(snapshots):
            before.forget()
    return _heap.date_by_holders(last, found)


class NewAddresses(NamedTuple):
    """The addresses of new objects of one type."""

    kind: str
    type: str
    addresses: array[int]
    numbers: array[int]  # of grad nodes that have one; empty if they have none


def noted_addresses(
    before: StepSnapshot, after: StepSnapshot, rows: Sequence[NewObjects] | None = None
) -> list[NewAddresses]:
    """Return the addresses of objects that only the later of two snapshots has: ``rows``, if they are known.

    They are noted, so that later copies of this process need not compare the graphs again.
    """

    def find() -> list[NewAddresses]:
        graph = after.graph
        new = rows if rows is not None else new_objects(before.graph, graph)
        return [addresses_of(graph, row) for row in new]

    return after.noted(("new since", before.number), find)


def addresses_of(graph: _heap.Graph, new: NewObjects) -> NewAddresses:
    """Return the addresses of these objects, and the numbers of grad nodes."""
    addresses = array("Q", (graph.describe(node).address for node in new.nodes))
    known = [graph.sequence_number(node) for node in new.nodes] if new.kind == "grad_node" else []
    numbers = array("Q", (number for number in known if number is not None))
    return NewAddresses(new.kind, new.type, addresses, numbers if len(numbers) == len(addresses) else array("Q"))


def still_there(last: _heap.Graph, new: Sequence[NewAddresses]) -> list[int]:
    """Return the nodes that objects of an earlier graph have in the last one, without freed objects."""
    types = {address: (row.kind, row.type) for row in new for address in row.addresses}
    numbers = {address: number for row in new for address, number in zip(row.addresses, row.numbers, strict=False)}
    found = last.find_all(list(types))
    return [
        node
        for address, node in found.items()
        if last.kind_and_type(node) == types[address]
        and (address not in numbers or last.sequence_number(node) in {numbers[address], None})
    ]
