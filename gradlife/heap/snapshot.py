"""A snapshot: the heap at one moment, for questions, for saving, and for comparing with another."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from gradlife import _heap
from gradlife.errors import UnknownNameError, UsageError
from gradlife.heap.diff import compare
from gradlife.heap.files import Notes, packed_notes, read_file, unpacked_notes
from gradlife.heap.graph import HeapGraph, References, Story
from gradlife.heap.neighbourhood import neighbourhood_of
from gradlife.heap.object_lists import large_object
from gradlife.heap.object_names import MOST_NAMED, nodes_named, searched
from gradlife.heap.origin import PROGRAM, make_notes
from gradlife.heap.ownership_links import short_type
from gradlife.heap.program_paths import ProgramPaths
from gradlife.heap.steps import merged_steps
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.heap.why import OWN_FOLDER, checked_budget, trace_of
from gradlife.model.heap import Cycle, HeapDiff, HolderCount, LargeObject, TypeCount
from gradlife.model.neighbourhood import Neighbourhood
from gradlife.model.trace import Lifetime, Trace
from gradlife.output import OutputFile

#: Cyclic parts that are compared with one another; finding a cycle in each takes a millisecond of a large heap.
MOST_COMPARED = 100


class Snapshot:
    """Every object of a process with its type, size and references, as numbers: it holds no object of the heap.

    Made by :func:`gradlife.snapshot`, or read from a file by :func:`gradlife.open_snapshot`.
    """

    def __init__(self, graph: HeapGraph, notes: Notes) -> None:
        self._graph = graph
        self._notes = notes

    def __repr__(self) -> str:
        return f"<Snapshot of {self.objects:,} objects, {self.bytes:,} bytes>"

    def _repr_html_(self) -> str:
        """The snapshot as a notebook shows it: what retains most, and the types that take most."""
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
        """The place and time of the snapshot, as keys and values."""
        return self._notes

    @property
    def has_labels(self) -> bool:
        """Are the names of variables, attributes and keys known?"""
        return self._graph.has_labels

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits of the snapshot, one sentence each."""
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
        """Counts and bytes by type, those that take most first."""
        return self._types

    def devices(self) -> dict[str, int]:
        """Bytes of tensors' storages by device, those of shared storages once."""
        return by_device((row.type, row.bytes) for row in self.types() if row.kind == "storage")

    def largest(self, count: int = 10) -> tuple[LargeObject, ...]:
        """The objects that retain most: with each of them so many bytes would be freed.

        An object is passed over where half of that is retained by one other that it holds, for that other: of a module,
        its dict and the large list in it, the list is shown.
        """
        return tuple(large_object(self._graph, node) for node in self._graph.largest(count))

    def instances(self, type_name: str, count: int = 10) -> tuple[LargeObject, ...]:
        """Objects of a type, those that retain most first. ``type_name``: with or without its module."""
        return tuple(large_object(self._graph, node) for node in self._nodes_of(type_name)[:count])

    def find(self, text: str, count: int = 10) -> tuple[LargeObject, ...]:
        """Objects that have a text in their type, their description or their name, those that retain most first."""
        return tuple(large_object(self._graph, node) for node in searched(self._graph, text, count))

    def retained(self, address: int) -> int:
        """Bytes that would be freed with the object at an address, ``id(obj)`` in its process."""
        return self._graph.retained(self._node_at(address))

    def retained_by_device(self, address: int) -> dict[str, int]:
        """The same by device: a storage counts for the one that its contents are on, everything else for the CPU.

        Follows every storage of the heap upwards: some milliseconds for a thousand of them.
        """
        node = self._node_at(address)
        found: Counter[str] = Counter()
        for type_ in {row.type for row in self.types() if row.kind == "storage"}:
            freed = (one for one in self._graph.nodes("storage", type_) if self._is_freed_with(one, node))
            found[device_of(type_)] += sum(self._graph.describe(storage).bytes or 0 for storage in freed)
        found["cpu"] += self._graph.retained(node) - found.total()
        return {device: nbytes for device, nbytes in found.items() if nbytes}

    def _is_freed_with(self, node: int, holder: int) -> bool:
        above = self._graph.dominator(node)
        while node != holder and above is not None and above != node:  # the first of all is above itself
            node, above = above, self._graph.dominator(above)
        return node == holder

    def holders(self, type_name: str) -> tuple[HolderCount, ...]:
        """Return the holders of objects of a type, by the holders' type, most references first."""
        rows: Counter[tuple[str, str]] = Counter()
        holders: Counter[tuple[str, str]] = Counter()
        for full_name in self._full_names(type_name):
            for name, kind, count, references in self._graph.holders(full_name):
                rows[name, kind] += references
                holders[name, kind] += count
        return tuple(HolderCount(*key, holders[key], references) for key, references in rows.most_common())

    def cycles(self, count: int = 10) -> tuple[Cycle, ...]:
        """The cyclic parts of the heap: those with native references first, then by size. The one that the modules, classes
        and functions of every program form is left out.

        The collector frees a cycle that no root reaches unless a native reference leads into it (``never``). Where all that
        keeps it are references that nothing in the heap explains, such as those that a library has registered its
        classes with, it is ``unknown``: whether native code holds it or nobody gives them back, `why` with ``scan=True``
        can tell in the live process.
        """
        return tuple(self._cycle(*part[:5]) for part in self._cyclic_parts()[:count])

    def unreached_cycles(self, count: int = 10) -> tuple[Cycle, ...]:
        """Those that no root reaches, equal ones as one. Of more than 100 only the first 100 are compared."""
        parts = [part for part in self._cyclic_parts() if not part[3]][:MOST_COMPARED]
        groups: dict[object, list[Cycle]] = {}
        for cycle in (self._cycle(*part[:5]) for part in parts):
            words = tuple((step.object, step.via) for step in cycle.steps)
            groups.setdefault((cycle.lifetime, cycle.has_native, words), []).append(cycle)
        return tuple(replace(alike[0], alike=len(alike)) for alike in groups.values())[:count]

    def _cyclic_parts(self) -> list[tuple[int, int, int, int, int, int]]:
        return [part for part in self._graph.cyclic_parts() if not part[5]]

    def _cycle(self, start: int, objects: int, nbytes: int, is_held: int, has_native: int) -> Cycle:
        raw = self._graph.cycle_steps(start)
        lifetime = Lifetime.HELD if is_held else self._fate(raw)
        return Cycle(objects, nbytes, lifetime, bool(has_native), merged_steps(raw, is_cycle=True))

    def _fate(self, cycle: References) -> Lifetime:
        """Return the lifetime of a cycle that no root reaches."""
        seen = self._seen(cycle)
        return Lifetime.NEVER if seen is None else fate_of(self._graph.story(seen))

    def _seen(self, cycle: References) -> int | None:
        """Return a Python object of a cycle, which decides the lifetime of the whole cycle; None if there is none."""
        return next((one.node for one in cycle if one.kind == "python"), None)

    def why(self, what: int | str) -> Trace:
        """Explain why an object is alive: the one at an address, or the one of a type, or with the name of a
        variable, an attribute or a key, that retains most; one that the program's modules hold comes first.
        """
        node = self._node_of(what)
        return trace_of(short_type(self._graph.type(node)), self._story(node), self._graph, self.limits)

    def neighbourhood(self, what: int | str) -> Neighbourhood:
        """The same as a small graph: paths from roots, other referrers, the object's cycle, what it refers to."""
        node = self._node_of(what)
        return neighbourhood_of(self._graph, node, self._story(node))

    def _story(self, node: int) -> Story:
        """Everything that the graph knows about why a node is alive."""
        found = self._graph.story(node)
        if self._graph.kind(node) != "python" and found["cycle"]:
            seen = self._seen(found["cycle"])
            found["lifetime"] = Lifetime.NEVER if seen is None else self._graph.story(seen)["lifetime"]
        return found

    def diff(self, later: Snapshot) -> HeapDiff:
        """Return what is new, gone and grown in a later snapshot."""
        mine, other = dict(self._notes).get("process"), dict(later._notes).get("process")
        return compare(self._graph, later._graph, by_identity=mine is not None and mine == other)

    def save(self, path: str | os.PathLike[str], *, labels: bool = True) -> None:
        """Writes a file that :func:`gradlife.open_snapshot` reads.

        Without ``labels`` it is a fifth smaller, and its traces have types only, no names of attributes and variables.
        """
        with OutputFile(os.fspath(path)) as output:
            self.write_to(output, labels=labels)

    def write_to(self, output: OutputFile, *, labels: bool = True) -> None:
        """Writes it to an output that is open."""
        notes = tuple(note for note in self._notes if labels or note[0] != PROGRAM)
        output.fill(lambda descriptor: self._graph.write(descriptor, packed_notes(notes), labels))

    def _node_of(self, what: int | str) -> int:
        """The node at an address; of a type, or of what is called so, the one of the program that retains most."""
        if isinstance(what, int):
            return self._node_at(what)
        named = nodes_named(self._graph, what) if not self.has_type(what) else []
        found = named or self._nodes_of(what)
        paths = ProgramPaths(self._graph, self._notes)
        return next((node for node in found[:MOST_NAMED] if paths.is_on_program_path(node)), found[0])

    def _node_at(self, address: int) -> int:
        node = self._graph.find(address) if 0 <= address < 1 << 64 else None
        if node is None:
            raise UsageError(
                f"no object stands at {address:#x} in this snapshot", "gradlife open FILE --instances TYPE"
            )
        return node

    def has_type(self, name: str) -> bool:
        """Are there objects of a type of this name, with its module or without?"""
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
    """Freezes the heap of this process: every object with its type, size and references.

    Takes some 0.3 s and 40 MB a million objects; runs no code of the program and changes nothing. With ``labels`` the
    names of attributes, variables and keys are kept for what reports can need; of keys and attributes that are no
    identifiers only that they are text, unless ``user_text`` is asked for. What strings say is never kept.

    With ``native`` it also has the tensors, storages and grad nodes in C++ that nothing known refers to, with what they
    keep: a cycle of C++ alone, a graph that only native code holds. They are looked for in memory, which takes some 0.3 s
    a GB more; where that can't be done `limits` says so.

    With a ``budget`` only so many objects are looked at, those nearest to the roots, and `limits` says so: counts, sizes
    and what is retained are then of those. Raises ValueError for a budget below 1.
    """
    unseen = ensure_calibrated()
    graph = _heap.freeze(labels, user_text, OWN_FOLDER, checked_budget(budget), 0, native)
    return Snapshot(graph, tuple(make_notes((*graph.limits, *unseen))))


def open_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Reads a snapshot file. It is read as data alone, and refused with one line where it is damaged."""
    graph = read_file(os.fspath(path))
    return Snapshot(graph, unpacked_notes(graph.notes))


def diff(before: Snapshot, after: Snapshot) -> HeapDiff:
    """Return what is new, gone and grown between two snapshots."""
    return before.diff(after)


def by_device(storages: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Bytes of storages by device, which their types name: ``torch::StorageImpl cuda:0``; those on the CPU name none."""
    found: Counter[str] = Counter()
    for type_, nbytes in storages:
        found[device_of(type_)] += nbytes
    return dict(found)


def device_of(storage_type: str) -> str:
    """The device that a storage's type names."""
    return storage_type.partition(" ")[2].removeprefix("on an ") or "cpu"


def fate_of(story: Story) -> Lifetime:
    """Return the lifetime of an object; an unexplained reference is not taken for one that is never given back."""
    lifetime = Lifetime(story["lifetime"])
    known = [leg.referrers for leg in story["legs"]]
    is_unexplained = lifetime is Lifetime.NEVER and bool(known) and not any(known)
    return Lifetime.UNKNOWN if is_unexplained else lifetime
