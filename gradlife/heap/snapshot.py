"""A snapshot: the heap at one moment, to query, save and compare."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from types import FrameType
from typing import cast, overload

from gradlife import _heap
from gradlife.errors import UnknownNameError, UsageError
from gradlife.heap.files import Notes, packed_notes, read_file, unpacked_notes
from gradlife.heap.graph import Explanation, References
from gradlife.heap.named_objects import is_class, named_by, variables_named
from gradlife.heap.neighbourhood import neighbourhood_of
from gradlife.heap.object_lists import describe_object
from gradlife.heap.object_names import nodes_named, searched
from gradlife.heap.origin import PROGRAM, make_notes, process_identity
from gradlife.heap.ownership_links import short_type
from gradlife.heap.path_steps import last_reference, merged_steps
from gradlife.heap.program_paths import ProgramPaths
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.heap.why import OWN_FOLDER, checked_budget, trace_of, type_name
from gradlife.model.heap import (
    Cycle,
    FoundObject,
    HeapDiff,
    Holder,
    HolderCount,
    LargeObject,
    Meaning,
    TypeCount,
    device_of,
)
from gradlife.model.neighbourhood import Neighbourhood
from gradlife.model.trace import Lifetime, Trace
from gradlife.output import OutputFile
from gradlife.safe_access import is_a

#: Most cyclic parts compared with one another; finding a cycle in each takes a millisecond in a large heap.
MAX_COMPARED = 100


class Snapshot:
    """Every object of a process with its type, size and references, as numbers: it holds no object of the heap.

    Made by :func:`gradlife.snapshot`, or read from a file by :func:`gradlife.open_snapshot`.
    """

    def __init__(self, graph: _heap.Graph, notes: Notes) -> None:
        self._graph = graph
        self._notes = notes

    def __repr__(self) -> str:
        return f"<Snapshot of {self.objects:,} objects, {self.bytes:,} bytes>"

    def _repr_html_(self) -> str:
        """Return the snapshot as a notebook shows it: the objects that retain most and the largest types."""
        from gradlife import _html_of_snapshot

        return _html_of_snapshot(self)

    @property
    def objects(self) -> int:
        """The number of objects, without roots."""
        return sum(row.count for row in self.types() if row.kind != "root")

    @property
    def references(self) -> int:
        """The number of references between objects."""
        return self._graph.edge_count

    @property
    def bytes(self) -> int:
        """The size of all objects together, with storages' contents, each counted once."""
        return sum(row.bytes for row in self.types())

    @property
    def notes(self) -> Notes:
        """When and where the snapshot was taken, by key."""
        return self._notes

    def with_notes(self, more: Notes) -> Snapshot:
        """Return the same snapshot with more notes."""
        return Snapshot(self._graph, (*self._notes, *more))

    @property
    def has_labels(self) -> bool:
        """Whether it has the names of variables, attributes and keys."""
        return self._graph.has_labels

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what the snapshot could not read, one sentence each."""
        return tuple(value for key, value in self._notes if key == "limit")

    @functools.cached_property
    def _types(self) -> tuple[TypeCount, ...]:
        rows: Counter[tuple[str, str]] = Counter()
        sizes: Counter[tuple[str, str]] = Counter()
        for name, kind, count, nbytes in self._graph.census():
            rows[name, kind] += count
            sizes[name, kind] += nbytes
        found = (TypeCount(name, kind, count, sizes[name, kind]) for (name, kind), count in rows.items())
        return tuple(sorted(found, key=lambda row: (-row.bytes, -row.count, row.type)))

    def types(self) -> tuple[TypeCount, ...]:
        """Return counts and bytes by type, largest first."""
        return self._types

    def devices(self) -> dict[str, int]:
        """Return the bytes of tensors' storages by device; a shared storage counts once."""
        return by_device((row.type, row.bytes) for row in self.types() if row.kind == "storage")

    def largest(self, count: int = 10) -> tuple[LargeObject, ...]:
        """Return the objects with the largest retained size.

        If one object that it holds accounts for half of its retained size, that one is listed instead: not a module or
        its dict, but the large list in it.
        """
        return tuple(describe_object(self._graph, node) for node in self._graph.largest(count))

    def instances(self, type_name: str, count: int = 10) -> tuple[LargeObject, ...]:
        """Return the objects of a type, most retained first. ``type_name`` may omit the module."""
        return tuple(describe_object(self._graph, node) for node in self._nodes_of(type_name)[:count])

    @overload
    def find(self, what: str, count: int = 10) -> tuple[LargeObject, ...]: ...  # type: ignore[overload-overlap]
    @overload
    def find(self, what: object, count: int = 10) -> FoundObject: ...
    def find(self, what: object, count: int = 10) -> tuple[LargeObject, ...] | FoundObject:
        """Return objects with a text in their type, description or name, most retained first; or, for an object of this
        process that is no text, what the snapshot knows of it, with at most ``count`` holders, most retained first.

        The object is known by its address, so the snapshot must be of this process, and the object older than it. Raises
        UsageError if it is not in the snapshot.
        """
        if is_a(what, str):
            return tuple(describe_object(self._graph, node) for node in searched(self._graph, str.__str__(what), count))
        node = self._graph.find(id(what)) if dict(self._notes).get("process") == process_identity() else None
        if node is None or short_type(self._graph.type(node)) != short_type(type_name(what)):
            raise UsageError(
                f"the {short_type(type_name(what))} is not in this snapshot: it is younger, or the snapshot of another process",
                "gradlife.snapshot().find(obj)",
            )
        referrers = sorted(
            dict.fromkeys(self._graph.referrers(node)), key=lambda one: (-self._graph.retained(one), one)
        )
        holders = tuple(self._holder(one, node) for one in referrers[:count])
        return FoundObject(describe_object(self._graph, node), holders, len(referrers) - len(holders))

    def _holder(self, referrer: int, node: int) -> Holder:
        links = self._graph.references_along([referrer, node])
        via = last_reference(links[:-1])[1] if links[0].relation != "unknown" else ""
        return Holder(describe_object(self._graph, referrer), via)

    def retained(self, address: int) -> int:
        """Return the retained size of the object at an address, ``id(obj)`` in its process."""
        return self._graph.retained(self._node_at(address))

    def retained_by_device(self, address: int) -> dict[str, int]:
        """Return the retained size by device: a storage counts for its contents' device, everything else for the CPU.

        Follows every storage's dominators: some milliseconds per thousand storages.
        """
        node = self._node_at(address)
        found: Counter[str] = Counter()
        for type_ in sorted({row.type for row in self.types() if row.kind == "storage"}):
            freed = (one for one in self._graph.nodes("storage", type_) if self._is_freed_with(one, node))
            found[device_of(type_)] += sum(self._graph.describe(storage).bytes or 0 for storage in freed)
        found["cpu"] += self._graph.retained(node) - found.total()
        return {device: nbytes for device, nbytes in found.items() if nbytes}

    def _is_freed_with(self, node: int, holder: int) -> bool:
        above = self._graph.dominator(node)
        while node != holder and above is not None and above != node:  # the root dominates itself
            node, above = above, self._graph.dominator(above)
        return node == holder

    def holders(self, type_name: str) -> tuple[HolderCount, ...]:
        """Return the holders of a type's objects, grouped by the holders' type, most references first."""
        rows: Counter[tuple[str, str]] = Counter()
        holders: Counter[tuple[str, str]] = Counter()
        for full_name in self._full_names(type_name):
            for name, kind, count, references in self._graph.holders(full_name):
                rows[name, kind] += references
                holders[name, kind] += count
        return tuple(HolderCount(*key, holders[key], references) for key, references in rows.most_common())

    def cycles(self, count: int = 10) -> tuple[Cycle, ...]:
        """Return the cyclic parts of the heap: those with native references first, then by size. The cycle that the
        modules, classes and functions of every program form is left out.

        The collector frees an unreachable cycle unless a native reference leads into it (``never``). If only
        unaccounted references keep it, such as those of a library that registered its classes, the lifetime is
        ``unknown``: `why` with ``scan=True`` can find out in the live process whether native code holds it.
        """
        return tuple(self._cycle(*part[:5]) for part in self._cyclic_parts()[:count])

    def unreached_cycles(self, count: int = 10) -> tuple[Cycle, ...]:
        """Return the unreachable cycles, with equal ones merged. Only the first 100 are compared."""
        parts = [part for part in self._cyclic_parts() if not part[3]][:MAX_COMPARED]
        groups: dict[object, list[Cycle]] = {}
        for cycle in (self._cycle(*part[:5]) for part in parts):
            words = tuple((step.object, step.via) for step in cycle.steps)
            groups.setdefault((cycle.lifetime, cycle.has_native, words), []).append(cycle)
        return tuple(replace(alike[0], alike=len(alike)) for alike in groups.values())[:count]

    def _cyclic_parts(self) -> list[tuple[int, int, int, int, int, int]]:
        return [part for part in self._graph.cyclic_parts() if not part[5]]

    def _cycle(self, start: int, objects: int, nbytes: int, is_held: int, has_native: int) -> Cycle:
        raw = self._graph.cycle_references(start)
        lifetime = Lifetime.HELD if is_held else self._fate(raw)
        return Cycle(objects, nbytes, lifetime, bool(has_native), merged_steps(raw, is_cycle=True))

    def _fate(self, cycle: References) -> Lifetime:
        """Return the lifetime of a cycle that no root reaches."""
        seen = self._seen(cycle)
        return Lifetime.NEVER if seen is None else fate_of(self._graph.explain(seen))

    def _seen(self, cycle: References) -> int | None:
        """Return a Python object of a cycle, whose lifetime is that of the cycle; None if there is none."""
        return next((one.node for one in cycle if one.kind == "python"), None)

    def why(self, what: int | str) -> Trace:
        """Explain why an object is alive: the one at an address, or what a name means first of all (see `named`): a
        variable (``history``, ``main.history``), an attribute or item of one (``history.rows[0]``), a type (``Tensor``).
        """
        node = self._node_of(what)
        return trace_of(short_type(self._graph.type(node)), self._explain(node), self._graph, self.limits)

    def neighbourhood(self, what: int | str) -> Neighbourhood:
        """Return a small graph around an object: paths from roots, other referrers, its cycle, its referents."""
        node = self._node_of(what)
        return neighbourhood_of(self._graph, node, self._explain(node))

    def _explain(self, node: int) -> Explanation:
        """Return what the graph knows about why an object is alive."""
        found = self._graph.explain(node)
        if self._graph.kind(node) != "python" and found["cycle"]:
            seen = self._seen(found["cycle"])
            found["lifetime"] = Lifetime.NEVER if seen is None else self._graph.explain(seen)["lifetime"]
        return found

    def diff(self, later: Snapshot) -> HeapDiff:
        """Return what is new, gone and grown in a later snapshot: by the program's variables, by type and by place."""
        from gradlife import _difference

        return cast("HeapDiff", _difference(self, later))

    def save(self, path: str | os.PathLike[str], *, labels: bool = True) -> None:
        """Write a file that :func:`gradlife.open_snapshot` reads.

        Without ``labels`` it is a fifth smaller, and its traces have only types, no names of attributes and variables.
        """
        with OutputFile(os.fspath(path)) as output:
            self.write_to(output, labels=labels)

    def write_to(self, output: OutputFile, *, labels: bool = True) -> None:
        """Write the snapshot to an open output."""
        notes = tuple(note for note in self._notes if labels or note[0] != PROGRAM)
        output.fill(lambda descriptor: self._graph.write(descriptor, packed_notes(notes), labels))

    def _node_of(self, what: int | str) -> int:
        """Return the node at an address, or what a name means first of all."""
        return self._node_at(what) if isinstance(what, int) else self.named(what)[0].node

    def named(self, what: str) -> tuple[Meaning, ...]:
        """Return what a name can mean, each object once: variables of the program, then objects of a type, then what has
        the name as an attribute or key; of these two the one that retains most, those that the program holds first. Raises
        UsageError if there is no such.
        """
        paths = ProgramPaths(self._graph, self._notes)
        variables = variables_named(paths, what)
        found = [one for one in variables if not is_class(self._graph, one.node)]
        if self.has_type(what):
            found += named_by(paths, self._nodes_of(what), "objects of this type")
        found += [one for one in variables if one not in found]
        if not found:
            found = named_by(paths, nodes_named(self._graph, what), "with this name") or named_by(
                paths, self._nodes_of(what), "objects of this type"
            )
        return tuple({one.node: one for one in reversed(found)}.values())[::-1]

    def _node_at(self, address: int) -> int:
        node = self._graph.find(address) if 0 <= address < 1 << 64 else None
        if node is None:
            raise UsageError(
                f"no object stands at {address:#x} in this snapshot", "gradlife open FILE --instances TYPE"
            )
        return node

    def has_type(self, name: str) -> bool:
        """Whether there are objects of this type, named with or without its module."""
        return any(name in (row.type, short_type(row.type)) for row in self.types())

    def _full_names(self, type_name: str) -> list[str]:
        known = {row.type for row in self.types()}
        found = [type_name] if type_name in known else [name for name in known if short_type(name) == type_name]
        if not found:
            short = {short_type(name) for name in known}
            raise UnknownNameError("type", type_name, short, "gradlife open FILE --types")
        return sorted(found)

    def _nodes_of(self, type_name: str) -> list[int]:
        nodes = [node for name in self._full_names(type_name) for node in self._graph.of_type(name)]
        return sorted(nodes, key=self._graph.retained, reverse=True)


def snapshot(
    *, labels: bool = True, user_text: bool = False, native: bool = False, budget: int | None = None
) -> Snapshot:
    """Freeze the heap of this process: every object with its type, size and references.

    Takes some 0.3 s and 40 MB per million objects; runs no code of the program and changes nothing. With ``labels`` it
    keeps the names of attributes, variables and keys that reports can need. Keys and attributes that are not
    identifiers are recorded only as text, unless ``user_text`` is set. The contents of strings are never kept.

    With ``native`` it also has unreferenced tensors, storages and grad nodes in C++ and what they keep: a cycle in C++
    alone, a graph that only native code holds. The search takes some 0.3 s more per GB of memory; where it is
    impossible, `limits` says so.

    With a ``budget`` only that many objects are read, nearest to the roots first, and `limits` says so: counts, sizes
    and retained sizes cover only those. Raises ValueError for a budget below 1.
    """
    return snapshot_with((), labels=labels, user_text=user_text, native=native, budget=budget)


def snapshot_with(
    frames: tuple[FrameType, ...],
    *,
    labels: bool = True,
    user_text: bool = False,
    native: bool = False,
    budget: int | None = None,
) -> Snapshot:
    """Freeze the heap with the variables of calls that have ended, whose frames these are."""
    unseen = ensure_calibrated()
    graph = _heap.freeze(labels, user_text, OWN_FOLDER, checked_budget(budget), 0, native, frames)
    return Snapshot(graph, tuple(make_notes((*graph.limits, *unseen))))


def open_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Read a snapshot file. It is read as data only; a damaged file is refused with a one-line error."""
    graph = read_file(os.fspath(path))
    return Snapshot(graph, unpacked_notes(graph.notes))


def diff(before: Snapshot, after: Snapshot) -> HeapDiff:
    """Return what is new, gone and grown between two snapshots."""
    return before.diff(after)


def by_device(storages: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return bytes of storages by device, given by the type's name: ``torch::StorageImpl cuda:0``; without a device it
    is CPU.
    """
    found: Counter[str] = Counter()
    for type_, nbytes in storages:
        found[device_of(type_)] += nbytes
    return dict(found)


def fate_of(found: Explanation) -> Lifetime:
    """Return an object's lifetime; an unaccounted reference alone does not make it `never`."""
    lifetime = Lifetime(found["lifetime"])
    known = [one.referrers for one in found["uncollectable"]]
    is_unexplained = lifetime is Lifetime.NEVER and bool(known) and not any(known)
    return Lifetime.UNKNOWN if is_unexplained else lifetime
