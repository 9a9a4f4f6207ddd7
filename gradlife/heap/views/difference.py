"""The difference of two snapshots: by the program's variables, by library, by type and by place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradlife.heap.diff import compare
from gradlife.heap.named_objects import variables_named
from gradlife.heap.object_lists import describe_object
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.views.program_objects import ProgramObjects, Value
from gradlife.heap.views.variable_names import parted
from gradlife.model.heap import HeapDiff, LibraryChange, VariableChange

#: Most variables, and parts of them, that are compared.
MAX_VARIABLES = 200


class Side:
    """One of two snapshots, with the values that its tables show."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.notes = dict(snapshot.notes)
        self.objects = ProgramObjects(snapshot)
        self.graph = self.objects.paths.graph
        self.values = {value.name: value for value in self.objects.chosen(MAX_VARIABLES)} if snapshot.has_labels else {}

    def bytes_of(self, name: str) -> int:
        """Return what a variable or part of one retains, also if the tables do not show it; 0 if there is none."""
        if name in self.values:
            return self.objects.weight(self.values[name])
        found = variables_named(self.objects.paths, name)[:1]
        return sum(self.graph.retained(one.node) for one in found)

    def is_below(self, name: str, other: Side) -> bool:
        """Whether the other side shows parts of what this one calls by this name, or what it is part of."""
        return any(is_part(one, name) or is_part(name, one) for one in other.values)

    def described(self, value: Value) -> tuple[str, str]:
        """Return the type and description of a value."""
        found = describe_object(self.graph, value.node)
        return found.type, found.detail


def is_part(name: str, of: str) -> bool:
    """Whether a name is that of a part of another: ``trainer.losses in main()`` of ``trainer in main()``."""
    (inner, place), (outer, other_place) = parted(name), parted(of)
    return place == other_place and inner.startswith((f"{outer}.", f"{outer}[", f"{outer} →"))


def difference(before: Snapshot, after: Snapshot) -> HeapDiff:
    """Compare two snapshots. Takes some 2 s per million objects."""
    old, new = Side(before), Side(after)
    process = old.notes.get("process")
    is_one_process = process is not None and process == new.notes.get("process")
    found = compare(old.objects.paths, new.objects.paths, by_identity=is_one_process)
    if not (before.has_labels and after.has_labels):
        return found
    variables = sorted(changed_variables(old, new), key=lambda row: (-abs(row.bytes), row.name))
    steps = tuple(int(side.notes["steps"]) for side in (old, new) if side.notes.get("steps", "").isdecimal())
    moments = tuple(side.notes["moment"] for side in (old, new) if "moment" in side.notes)
    return replace(
        found,
        variables=tuple(variables),
        libraries=tuple(changed_libraries(old, new)),
        steps=steps if len(steps) == 2 else (),
        moments=moments if len(moments) == 2 else (),
    )


def changed_variables(old: Side, new: Side) -> Iterator[VariableChange]:
    """Yield what retains another number of bytes than before."""
    for name, value in new.values.items():
        row = VariableChange(name, *new.described(value), old.bytes_of(name), new.objects.weight(value))
        if row.bytes:
            yield row
    for name, value in old.values.items():
        if name not in new.values and not old.is_below(name, new):
            row = VariableChange(name, *old.described(value), old.objects.weight(value), new.bytes_of(name))
            if row.bytes:
                yield row


def changed_libraries(old: Side, new: Side) -> Iterator[LibraryChange]:
    """Yield a row for each library, the largest change first."""
    before, after = ({row.name: row.bytes for row in side.objects.libraries()} for side in (old, new))
    rows = [LibraryChange(name, before.get(name, 0), after.get(name, 0)) for name in before | after]
    yield from sorted((row for row in rows if row.bytes), key=lambda row: (-abs(row.bytes), row.name))
