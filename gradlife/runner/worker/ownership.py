"""The ownership graph of a stage: the engine's own table or the heap graph's view of PyTorch, with Python's objects and
names.

The result is plain data. Building it keeps nothing alive and changes nothing: neither the frames whose variables are
read nor the visited objects.
"""

from __future__ import annotations

import gc
import importlib
import sys
import types
from collections import deque
from functools import partial
from typing import Any, Callable, Iterable, Iterator, Sequence

from gradlife.probes.expiry import CANARY_NAME
from gradlife.probes.graph import OLDEST_PYTHON
from gradlife.runner.worker.visibility import mark_visibility

#: Most objects in a drawing: those nearest to subjects and names.
MAX_NODES = 48

#: Most depth and number of containers and plain objects searched for drawn objects.
DEPTH, WIDTH = 6, 400

HELD = "held by the story"

#: The label of a ctx's reference to a node embedded in it.
EMBEDS = "embeds"

#: Kinds at which a path through plain objects ends.
CLOSED = (type, types.ModuleType, types.FrameType, types.CodeType, types.BuiltinFunctionType, str, bytes, int, float)

CELL = type((lambda x: lambda: x)(0).__closure__[0])  # type: ignore[index]


def owning_graph(
    fw: Any, subjects: dict[Any, str], watched: Iterable[tuple[str, Any]], held: Sequence[Any], frame: Any, own: Any
) -> dict[str, Any] | None:
    """Return the drawing as a JSON object; None if the framework has no table of owners.

    subjects: names of watched engine objects by number; watched: plain Python subjects; frame: the story's frame; own:
    the lab, which no path passes through.
    """
    engine: Any = getattr(fw, "_engine", None)
    is_engine = hasattr(engine, "_live_graph")
    rows = engine._live_graph() if is_engine else None  # before this function adds references of its own
    watched, names = list(watched), list(variables(frame))
    if held:
        names.append((HELD, list(held)))
    if not is_engine:
        rows = rows_by_heap(fw, [value for _, value in watched + names], own)
    if rows is None:
        return None
    drawing = Drawing(rows, subjects, own)
    drawing.add_watched(watched)
    drawing.add_python_references(engine._object_id if is_engine else no_number)
    drawing.mark_visibility()
    for name, value in names:
        drawing.add_name(name, value)
    return {**drawing.to_json(), "source": "engine" if is_engine else "heap"}


def rows_by_heap(fw: Any, values: Sequence[Any], own: Any) -> Any:
    """Return the same rows for the objects behind these values in a real PyTorch, read by the heap graph; None for
    others.
    """
    if getattr(fw, "__name__", "") != "torch" or sys.version_info < OLDEST_PYTHON:
        return None
    try:
        owners = importlib.import_module("gradlife.heap.owners")
    except ImportError:  # the extension was not built
        return None
    found, seen = [], {id(own)}
    waiting = deque((value, 0) for value in values)
    while waiting and len(seen) < 4 * WIDTH:
        value, depth = waiting.popleft()
        if id(value) in seen or not is_open(value):
            continue
        seen.add(id(value))
        if owners.is_known(value):
            found.append(value)
        if depth < DEPTH:
            waiting.extend((inner, depth + 1) for _, inner in references(value))
    return owners.cpp_owners(found)


def no_number(obj: Any) -> None:
    """Return None: the heap graph does not number Python objects."""


class Drawing:
    """Nodes by number, negative for plain Python objects, and edges between their halves: wrapper or C++ object."""

    def __init__(self, rows: Sequence[Any], subjects: dict[Any, str], own: Any) -> None:
        self.nodes: dict[int, dict[str, Any]] = {}
        self.edges: list[list[Any]] = []
        self._places: dict[int, tuple[int, bool]] = {}  # by address: the node, and whether the object is its wrapper
        self._own = id(own)
        for row in rows:
            self._add_row(row, subjects.get(row[0], ""))
        for row in rows:
            for label, ownership, number, name, address in row[7]:
                place = (number, False) if number is not None else self._python_place(name, address)
                if place[0] in self.nodes and place != (row[0], True):
                    self.edges.append([row[0], place[0], label, ownership, False, place[1]])

    def _add_row(self, row: Any, subject: str) -> None:
        number, kind, name, strong, weak, _, wrapper, edges = row
        node: dict[str, Any] = {
            "id": number,
            "kind": kind,
            "name": name,
            "subject": subject,
            "strong": strong,
            "weak": weak,
        }
        if wrapper is not None:
            node["wrapper"], address, node["refcount"], node["to_impl"], node["to_wrapper"] = wrapper
            self._places[address] = number, True
        for label, ownership, _, type_name, address in edges:
            if (label, ownership) == ("context", "borrowed"):  # the node is embedded: its context's owner owns it
                node.update(wrapper=type_name, to_impl=EMBEDS, to_wrapper=ownership)
                self._places[address] = number, True
        self.nodes[number] = node

    def _python_place(self, name: str, address: int, subject: str = "") -> tuple[int, bool]:
        """Return the node of a Python object, and whether the object is that node's wrapper."""
        if address not in self._places:
            number = -1 - len(self.nodes)
            self.nodes[number] = {"id": number, "kind": "python", "name": name, "subject": subject}
            self._places[address] = number, False
        return self._places[address]

    def add_watched(self, watched: Iterable[tuple[str, Any]]) -> None:
        """Add subjects that the engine does not know."""
        for name, obj in watched:
            if obj is not None:
                node = self.nodes[self._python_place(type(obj).__name__, id(obj), name)[0]]
                node["subject"] = node["subject"] or name

    def add_python_references(self, number_of: Callable[[Any], Any]) -> None:
        """Add references that wrappers, contexts and hooks hold in Python. A context outside its node refers back to it
        weakly.
        """
        wanted = self._places
        for obj in [one for one in gc.get_objects() if id(one) in wanted]:
            source, is_wrapper = wanted[id(obj)]
            node = None if is_wrapper else number_of(obj)
            if node in self.nodes and source != node:
                self.edges.append([source, node, "its node", "weak", False, False])
            self._add_paths(obj, source, is_wrapper)

    def mark_visibility(self) -> None:
        """Mark the references that the collector does not see."""
        mark_visibility(self.nodes, self.edges, self._places)

    def add_name(self, name: str, value: Any) -> None:
        """Add a variable of the story, if it leads to a drawn object."""
        number = -1 - len(self.nodes)
        before = len(self.edges)
        if id(value) == self._own:
            return
        place = self._places.get(id(value))
        if place is not None:
            self.edges.append([number, place[0], "", "strong", False, place[1]])
        elif is_open(value):
            self._add_paths(value, number, False)
        for edge in self.edges[before:]:
            edge.append(False)  # a frame shows its variables
        if len(self.edges) > before:
            self.nodes[number] = {"id": number, "kind": "name", "name": name, "subject": ""}

    def _add_paths(self, start: Any, source: int, is_wrapper: bool) -> None:
        """Add an edge to each drawn object reachable through containers and plain objects."""
        seen = {id(start), self._own}
        waiting = deque((label, value, 1) for label, value in references(start))
        while waiting and len(seen) < WIDTH:
            label, value, depth = waiting.popleft()
            if id(value) in seen:
                continue
            seen.add(id(value))
            place = self._places.get(id(value))
            if place is not None:
                self.edges.append([source, place[0], label, "strong", is_wrapper, place[1]])
            elif depth < DEPTH and is_open(value):
                waiting.extend((label + further, inner, depth + 1) for further, inner in references(value))

    def to_json(self) -> dict[str, Any]:
        """Return the drawing, limited to a readable size."""
        chosen = self._nearest()
        edges = [edge for edge in self.edges if edge[0] in chosen and edge[1] in chosen]
        nodes = [self.nodes[number] for number in sorted(chosen, key=abs)]
        return {"nodes": nodes, "edges": edges, "left_out": len(self.nodes) - len(nodes)}

    def _nearest(self) -> set[int]:
        """Return nodes near subjects and names first, then others, up to the limit."""
        beside: dict[int, list[int]] = {}
        for edge in self.edges:
            beside.setdefault(edge[0], []).append(edge[1])
            beside.setdefault(edge[1], []).append(edge[0])
        first = [number for number, node in self.nodes.items() if node["subject"]]
        first += [number for number, node in self.nodes.items() if node["kind"] == "name"]
        chosen: dict[int, None] = {}
        waiting = deque([*first, *self.nodes])
        while waiting and len(chosen) < MAX_NODES:
            number = waiting.popleft()
            if number not in chosen:
                chosen[number] = None
                waiting.extendleft(reversed(beside.get(number, ()))) if number in first else None
        return set(chosen)


def is_open(value: Any) -> bool:
    """Whether a path may pass through this object."""
    return value is not None and not issubclass(type(value), CLOSED)


def references(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects that an object holds, each with its expression."""
    kind = type(obj)
    if kind is dict:
        for key, value in list(obj.items())[:WIDTH]:
            yield f"[{repr(key)[:24] if type(key) in (str, int) else type(key).__name__}]", value
    elif kind in (list, tuple, deque):
        for index, value in enumerate(list(obj)[:WIDTH]):
            yield f"[{index}]", value
    elif kind in (set, frozenset):
        for value in list(obj)[:WIDTH]:
            yield " element", value
    elif kind is types.FunctionType:
        yield from zip(map(" closure {}".format, obj.__code__.co_freevars), obj.__closure__ or ())
        yield " defaults", obj.__defaults__
    elif kind is CELL:
        try:
            yield "", obj.cell_contents
        except ValueError:  # empty cell
            return
    elif kind is types.MethodType:
        yield ".__self__", obj.__self__
        yield "", obj.__func__
    elif kind is partial:
        yield " partial of", obj.func
        yield " arguments", obj.args
        yield " arguments", obj.keywords
    else:
        yield from attributes(obj)


def attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    """Return the attributes in an object's own dict."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return
    if type(found) is dict:
        for name, value in list(found.items())[:WIDTH]:
            if name != CANARY_NAME:
                yield f".{name}", value


def variables(frame: Any) -> Iterator[tuple[str, Any]]:
    """Yield variables of the story's running functions, innermost first, up to the function that runs the story."""
    while frame is not None and frame.f_globals.get("__name__") != "gradlife.runner.worker.story_run":
        if not str(frame.f_globals.get("__name__", "")).startswith("gradlife."):
            yield from list(locals_of(frame).items())
        frame = frame.f_back


def locals_of(frame: Any) -> dict[str, Any]:
    """Copy a function's variables. Before Python 3.13 the frame keeps a dict of them, which must be dropped again."""
    kept = frame.f_locals
    found = dict(kept)
    if sys.version_info < (3, 13) and kept is not frame.f_globals:
        kept.clear()
    return found
