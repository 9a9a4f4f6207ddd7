"""Count the collector's objects by type, cheaply enough for every step of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradlife import _heap
from gradlife.heap.diff import MAX_EXAMPLES
from gradlife.model.heap import HeapDiff, LargeObject, TypeChange, TypeCount

#: A row of the extension: type, kind, counts and bytes of new, gone and grown objects, and nodes of some new objects.
ChangeRow = tuple[str, str, tuple[int, int], tuple[int, int], tuple[int, int], list[int]]


class Census:
    """Counts by type of the objects that the collector knew at one moment. Holds only numbers and addresses, no object.

    Numbers, text, C++ objects and bytes are not counted; a `Snapshot` has them.
    """

    __slots__ = ("_graph",)

    def __init__(self, graph: _heap.Graph) -> None:
        self._graph = graph

    def __repr__(self) -> str:
        return f"<Census of {self.objects:,} objects>"

    @property
    def objects(self) -> int:
        """The number of objects at that time."""
        return self._graph.tracked_count

    def types(self) -> tuple[TypeCount, ...]:
        """Return counts by type, the most frequent first. Bytes are 0: they are not measured."""
        rows: Counter[tuple[str, str]] = Counter()
        for name, kind, count, _ in self._graph.census():
            rows[name, kind] += count
        return tuple(TypeCount(*key, count, 0) for key, count in rows.most_common() if key[1] != "root")

    def changes(self) -> HeapDiff:
        """Return the objects that are new or gone now: counts by type, and addresses of some new objects of each type.

        An object that was freed and replaced at its address by another of its type counts as the same.
        """
        # no closure here: its cells would be new objects
        return diff_of(*_heap.census(self._graph, MAX_EXAMPLES, (self,)))


def diff_of(graph: _heap.Graph, rows: Sequence[ChangeRow], details: dict[int, str]) -> HeapDiff:
    """Convert the extension's differences to a value, the types that grew most first."""
    changes = [
        TypeChange(name, kind, *new, *gone, *grown, tuple(new_object(graph, node, details[node]) for node in nodes))
        for name, kind, new, gone, grown, nodes in rows
    ]
    changes.sort(key=lambda row: (row.gone - row.new, row.type))
    return HeapDiff(by_identity=True, types=tuple(changes), paths=())


def new_object(graph: _heap.Graph, node: int, detail: str) -> LargeObject:
    """Return a new object by type and address. `gradlife.why` explains how it is held."""
    found = graph.describe(node)
    return LargeObject(found.type, found.kind, detail, found.address, 0, 0, ())


def census() -> Census:
    """Count the objects that the collector knows. Takes some 0.1 s per million; runs no code of the program.

    ``before = gradlife.census()``, and after a step ``before.changes()``.
    """
    return Census(_heap.census(None, 0, ())[0])
