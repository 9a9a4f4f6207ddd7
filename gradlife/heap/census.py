"""Count the objects of the collector by type: cheap enough to repeat at every step of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradlife import _heap
from gradlife.heap.diff import EXAMPLES
from gradlife.heap.graph import HeapGraph
from gradlife.model.heap import HeapDiff, LargeObject, TypeChange, TypeCount

#: A row of the extension: type, kind, new, gone, grown (count and bytes each), and nodes of some new objects.
ChangeRow = tuple[str, str, tuple[int, int], tuple[int, int], tuple[int, int], list[int]]


class Census:
    """The objects that the collector knew at one moment, by type: numbers and addresses, no object is held.

    What it does not know, numbers, text, C++ objects and bytes of any, is in a `Snapshot`.
    """

    __slots__ = ("_graph",)

    def __init__(self, graph: HeapGraph) -> None:
        self._graph = graph

    def __repr__(self) -> str:
        return f"<Census of {self.objects:,} objects>"

    @property
    def objects(self) -> int:
        """The number of objects at that time."""
        return self._graph.tracked_count

    def types(self) -> tuple[TypeCount, ...]:
        """Counts by type, the most frequent first. Bytes are not counted, and 0."""
        rows: Counter[tuple[str, str]] = Counter()
        for name, kind, count, _ in self._graph.census():
            rows[name, kind] += count
        return tuple(TypeCount(*key, count, 0) for key, count in rows.most_common() if key[1] != "root")

    def changes(self) -> HeapDiff:
        """Return what is new and gone by now: counts by type, and some new objects of each type by address.

        An object that was freed and replaced at its address by another of its type counts as the same.
        """
        # No closure in here: its cells would be new objects.
        return diff_of(*_heap.census(self._graph, EXAMPLES, (self,)))


def diff_of(graph: HeapGraph, rows: Sequence[ChangeRow], details: dict[int, str]) -> HeapDiff:
    """Return the extension's differences as a value, the types that grew most first."""
    changes = [
        TypeChange(name, kind, *new, *gone, *grown, tuple(new_object(graph, node, details[node]) for node in nodes))
        for name, kind, new, gone, grown, nodes in rows
    ]
    changes.sort(key=lambda row: (row.gone - row.new, row.type))
    return HeapDiff(by_identity=True, types=tuple(changes), paths=())


def new_object(graph: HeapGraph, node: int, detail: str) -> LargeObject:
    """A new object by its type and address; how it is held is a question of its own, `gradlife.why`."""
    found = graph.describe(node)
    return LargeObject(found.type, found.kind, detail, found.address, 0, 0, ())


def census() -> Census:
    """Counts the objects that the collector knows, some 0.1 s a million; runs no code of the program.

    ``before = gradlife.census()``, and after a step ``before.changes()``.
    """
    return Census(_heap.census(None, 0, ())[0])
