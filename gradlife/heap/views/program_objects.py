"""Find what a program's own variables hold, as opposed to libraries and the interpreter."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.graph import Reference, is_native
from gradlife.heap.named_objects import variables_of
from gradlife.heap.object_lists import describe_object
from gradlife.heap.program_paths import PYTHON, ProgramPaths, library_of
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.views.browsing import PROCESS, Browser
from gradlife.heap.views.variable_names import is_internal, name_on_path, parted, with_reference
from gradlife.model.heap import Cycle, HeldVariable, LibraryShare
from gradlife.model.trace import Lifetime

#: Most listed parts of a variable, levels of parts, and objects that several parts hold together.
PARTS, DEPTH, SHARED = 24, 8, 2_000

#: Most holders that the name of a shared object has.
NAMED = 3

#: Most variables among which one is searched by name.
MAX_NAMES = 1_000

#: A variable is shown by its largest part if that retains at least this share.
MOST = 0.5

#: Least bytes of an entry without tensors, and of a function or class.
LEAST, MIN_CODE = 1_024, 64 * 1024

#: Types of code.
CODE = frozenset({"function", "builtin_function_or_method", "type", "module", "code"})


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a named variable or part, and the objects that it holds together with others of the program."""

    node: int
    name: str
    depth: int = 0
    shared: tuple[int, ...] = ()
    is_of_several: bool = False  # what several variables hold together: it has no parts

    @property
    def nodes(self) -> list[int]:
        """The value and the objects it shares."""
        return [self.node, *self.shared]

    def with_shared(self, node: int) -> Value:
        """Return the value with one more shared object."""
        return replace(self, shared=(*self.shared, node))


class ProgramObjects:
    """The program's objects in one snapshot. Takes some 0.3 s per million objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._browser = Browser(snapshot)
        self._graph: _heap.Graph = snapshot._graph
        self.paths = ProgramPaths(self._graph, snapshot.notes)

    # --- variables ---

    def rows(self, count: int) -> tuple[HeldVariable, ...]:
        """Return the variables of the program that retain most, each by its largest part."""
        return tuple(self._row(value) for value in self.chosen(count))

    def address_of(self, name: str) -> int | None:
        """Return the address of the object that these rows call by this name; None if there is none."""
        found = (value.node for value in self.chosen(MAX_NAMES) if value.name == name)
        node = next(found, None)
        return self._graph.describe(node).address if node is not None else None

    def _row(self, value: Value) -> HeldVariable:
        shares = self._graph.shares(value.nodes, True)
        objects, tensors, grad_nodes, storages, storage_bytes, _ = map(sum, zip(*shares, strict=True))
        found = replace(describe_object(self._graph, value.node), retained=self.weight(value))
        return HeldVariable(value.name, found, objects, tensors, grad_nodes, storages, storage_bytes)

    def chosen(self, count: int) -> list[Value]:
        """Return the values for these rows: if none is large, the small ones without code."""
        waiting = [(-self.weight(value), value.node, value) for value in self._outermost()]
        heapq.heapify(waiting)
        found: list[Value] = []
        small: list[Value] = []
        while waiting and len(found) < count:
            value = heapq.heappop(waiting)[2]
            if not self._is_worth_showing(value):
                is_small = len(small) < count and not is_code(self._graph.references_along([value.node])[0])
                small += [value] if is_small and not (value.is_of_several or value.name.startswith("__")) else []
                continue
            parts = self._parts(value)
            for part in parts:
                heapq.heappush(waiting, (-self.weight(part), part.node, part))
            if not parts:
                found.append(value)
        return found or small

    def weight(self, value: Value) -> int:
        """Return what would be freed with a value and what it shares."""
        return sum(map(self._graph.retained, value.nodes))

    def _outermost(self) -> list[Value]:
        """Return the values of the program's variables, each with the objects it shares with others."""
        found: dict[int, Value] = {}
        shared: list[int] = []
        for variable in variables_of(self.paths):
            if not self.paths.is_foreign(variable.node):
                found.setdefault(variable.node, Value(variable.node, variable.expression))
        for above in (PROCESS, *self.paths.tables, *self.paths.frames):
            for node in self._graph.dominated(above, 0, SHARED)[1]:
                if node not in found and node not in self.paths.tables and self._is_of_program(node):
                    shared.append(node)
        return [*self._with_shared(found, shared).values()]

    def _with_shared(self, found: dict[int, Value], shared: Sequence[int]) -> dict[int, Value]:
        """Add what no variable holds alone: to its only holder, or as a value of its own that names the holders."""
        order = {node: number for number, node in enumerate(found)}
        variables, together = frozenset(found), set(shared)
        groups: dict[tuple[int, ...], list[int]] = {}
        for node in shared:
            holders = tuple(sorted(self._holders(node, variables, together), key=order.__getitem__))
            if len(holders) > 1:
                groups.setdefault(holders, []).append(node)
            elif holders:
                found[holders[0]] = found[holders[0]].with_shared(node)
            else:
                self._add_shared(found, node)
        for holders, (first, *others) in groups.items():
            name = shared_name([found[holder].name for holder in holders])
            found[first] = Value(first, name, shared=tuple(others), is_of_several=True)
        return found

    def _holders(self, node: int, variables: Set[int], shared: Set[int]) -> set[int]:
        """Return the variables whose values lead to an object."""
        holders: set[int] = set()
        seen, waiting = {node}, [node]
        while waiting and len(seen) < SHARED:
            referrers = self._graph.referrers(waiting.pop())
            for referrer in referrers if len(referrers) <= SHARED else ():
                at: int | None = referrer
                while at is not None and at != PROCESS and at not in variables and at not in shared:
                    at = self._graph.dominator(at)
                if at is not None and at in variables:
                    holders.add(at)
                elif at is not None and at in shared and at not in seen:
                    seen.add(at)
                    waiting.append(at)
        return holders

    def _is_of_program(self, node: int) -> bool:
        """Whether the program alone holds a shared object: a library's class is on the path of its first instance, too."""
        return self.paths.is_on_program_path(node) and not self.paths.is_foreign(node)

    def _add_shared(self, found: dict[int, Value], node: int) -> None:
        """Assign a shared object to the variable on its path; without one it becomes a value itself."""
        path = self._graph.path(node)
        owner = next((one for one in path if one in found), None)
        if owner is not None:
            found[owner] = found[owner].with_shared(node)
        else:
            found[node] = Value(node, name_on_path(self._graph, node, self.paths.tables))

    def _parts(self, value: Value) -> list[Value]:
        """Return a value's parts if one of them dominates it; a tensor is not divided."""
        kept = self._browser.kept(value.node)[:SHARED] if not value.is_of_several else []
        if not kept or value.depth == DEPTH or self._is_whole(value.node, kept):
            return []
        parts: dict[int, Value] = {}
        for node in kept:
            row = self._browser.row(node, value.node) if len(parts) < PARTS else None
            if row is not None and not row.is_shared:
                parts[node] = Value(node, with_reference(value.name, row.via), value.depth + 1)
        for node in kept:
            owner = next((one for one in self._graph.path(node) if one in parts), None)
            if owner is not None and node != owner:
                parts[owner] = parts[owner].with_shared(node)
        largest = max(parts.values(), key=self.weight, default=None)
        if largest is None or self.weight(largest) < MOST * self.weight(value):
            return []
        if not is_internal(largest.name):
            return list(parts.values())
        inner = self._parts(largest)
        return [*inner, *(part for part in parts.values() if part is not largest)] if inner else []

    def _is_whole(self, node: int, kept: Sequence[int]) -> bool:
        """Whether its largest part is a tensor, a C++ object, or the next of its own kind, as in a linked list."""
        first = kept[0]
        same = self._graph.type(first) == self._graph.type(node) != "dict"
        return same or self._is_tensor(node) or self._is_tensor(first)

    def _is_tensor(self, node: int) -> bool:
        """Whether it is a C++ object, or a wrapper of a tensor or grad node."""
        kinds = {self._graph.kind(one) for one in self._graph.referents(node)}
        return self._graph.kind(node) != "python" or not kinds.isdisjoint({"tensor", "grad_node", "storage"})

    def _is_worth_showing(self, value: Value) -> bool:
        """Whether it is more than a few numbers or code."""
        if value.is_of_several and not self.weight(value):
            return False
        if any(sum(share[1:4]) for share in self._graph.shares(value.nodes, True)):
            return True
        link = self._graph.references_along([value.node])[0]
        return self.weight(value) >= (MIN_CODE if is_code(link) else LEAST)

    def is_of_program(self, cycle: Cycle) -> bool:
        """Whether a cycle is collectable or leaked, or has an object of the program's classes."""
        if cycle.lifetime in {Lifetime.GC, Lifetime.NEVER}:
            return True
        words = [word for step in cycle.steps for word in (step.type, step.detail)]
        return any(word.startswith(f"{name}.") for word in words for name in self.paths.names)

    # --- libraries ---

    def libraries(self) -> tuple[LibraryShare, ...]:
        """Return what libraries and Python hold, largest first; an object counts for the library on its path from a
        root.
        """
        seeds = dict(self._seeds())
        sums: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for name, share in zip(seeds.values(), self._graph.shares(list(seeds), False), strict=True):
            counts[name] += share[0]
            sums[name] += share[5]
        rows = (LibraryShare(name, counts[name], sums[name]) for name in sums if name)
        return tuple(sorted(rows, key=lambda row: (-row.bytes, row.name)))

    def _seeds(self) -> Iterator[tuple[int, str]]:
        """Yield the start of each library's share; the program's share has no name."""
        yield PROCESS, PYTHON
        for table in self.paths.tables:
            for node in self._graph.referents(table):
                yield from ((node, name) for name in self.paths.imported_from(node))
        for node, name in self.paths.modules.items():
            yield node, "" if name in self.paths.names else library_of(name)
        yield from ((node, "") for node in self.paths.frames)


def shared_name(names: Sequence[str]) -> str:
    """Name what several variables hold together: ``shared by history and trainer in main()``."""
    known = [parted(name) for name in names]
    places = {place for _, place in known}
    words = [expression for expression, _ in known] if len(places) == 1 else list(names)
    rest = f"{len(words) - NAMED:,} more" if len(words) > NAMED + 1 else words[NAMED:] and words[NAMED]
    *most, last = [*words[:NAMED], *([rest] if rest else [])]
    return f"shared by {', '.join(most)} and {last}" + (places.pop() if len(places) == 1 else "")


def is_code(link: Reference) -> bool:
    """Whether it is a function, or a class of any metaclass."""
    return is_native(link) or link.type in CODE or "type" in link.bases.splitlines()


def variable_or(snapshot: Snapshot, what: int | str) -> int | str:
    """Return the address of a variable's value, if it is named as the rows name it (``trainer.losses``); else ``what``."""
    if isinstance(what, int) or " " not in what:
        return what
    return ProgramObjects(snapshot).address_of(what) or what
