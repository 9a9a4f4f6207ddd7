"""Activations in attributes that a module never declared and that no later step reads.

A hidden state is such an attribute, too, but the next step reads it. So a few steps are watched: a tensor that is
read before it is replaced is state, an unread tensor was left behind.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gradlife import _heap
from gradlife.heap.graph import GAP
from gradlife.hunting.snapshots.function_modes import leaves, put_below, take_off, watching_mode
from gradlife.hunting.snapshots.retained import MIN_BYTES, Kept
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, storage_content, tensor_type_names
from gradlife.hunting.snapshots.survivors import births
from gradlife.safe_access import LibraryObject, function_name, is_a

MODULE = "torch.nn.modules.module.Module"

#: Attributes in which a module declares its members, or that hold hooks.
DECLARED = ("_parameters", "_buffers", "_modules", "_forward", "_backward", "_state_dict", "_load_state", "_full")

#: What captures a tensor for its calls: the next step calls it, as it does a wrapped `forward`.
CALLABLE = frozenset({"function", "method", "functools.partial"})

#: Endings of the parameters from which `torch.nn.utils` computes an attribute.
SOURCE_ENDINGS = ("_orig", "_g", "_v")

#: Candidates that are watched at most.
MOST = 500

#: Functions that write to their first argument, besides those whose names end with one underscore, and functions that
#: return the contents of a tensor as a list or an array.
IN_PLACE = frozenset({"__setitem__", "__iadd__", "__set__"})
OUT_OF_TORCH = frozenset({"tolist", "numpy", "__array__"})


def undeclared(before: StepSnapshot, after: StepSnapshot) -> dict[int, list[int]]:
    """Find new tensors in undeclared attributes, by module, as nodes of the later snapshot."""
    graph = after.graph
    tensors = tensor_type_names()
    found: dict[int, list[int]] = {}
    for node in births([before, after]):
        if len(found) < MOST and graph.type(node) in tensors:
            module = module_of(graph, node)
            if module is not None:
                found.setdefault(module, []).append(node)
    return found


def has_fresh_attributes(graph: _heap.Graph, nodes: Iterable[int]) -> bool:
    """Whether any of these nodes may be a tensor in a module's attribute; only then are labels worth their cost."""
    tensors = tensor_type_names()
    return any(graph.type(node) in tensors and is_below_module(graph, node) for node in nodes)


def is_below_module(graph: _heap.Graph, node: int) -> bool:
    """Whether a module is above an object, with only Python objects between."""
    for step in reversed(graph.path_references(node)[:-1]):
        if step.kind not in {"python", GAP}:
            return False
        if MODULE in step.bases.splitlines():
            return True
    return False


def module_of(graph: _heap.Graph, node: int) -> int | None:
    """Return the module that holds an object in an undeclared attribute, directly or in containers."""
    steps = graph.path_references(node)
    for at in range(len(steps) - 2, -1, -1):
        step = steps[at]
        if step.kind not in {"python", GAP} or step.type in CALLABLE:
            return None
        if MODULE in step.bases.splitlines() and (step.label == "__dict__" or step.relation == "attribute"):
            # From Python 3.13 on, attributes of a module stand in it, without a dict.
            named = steps[at + 1] if step.label == "__dict__" else step
            name = named.label.strip("'")
            is_known = name.startswith(DECLARED) or is_computed(graph, named.node, name)
            return None if is_known or named.node == node else step.node
    return None


def is_computed(graph: _heap.Graph, attributes: int, name: str) -> bool:
    """Whether a hook of torch sets the attribute before each forward pass: pruning, weight norm or spectral norm."""
    sources = {name + ending for ending in SOURCE_ENDINGS}
    return any(
        name_in(graph, attributes, table) == "_parameters"
        and any(name_in(graph, table, member) in sources for member in graph.referents(table))
        for table in graph.referents(attributes)
    )


def name_in(graph: _heap.Graph, table: int, member: int) -> str:
    """Return the key of a member of a dict."""
    return graph.references_along([table, member])[0].label.strip("'")


@dataclass(frozen=True)
class StaleActivations:
    """Tensors that a step left in undeclared attributes of modules, and those of them that a later step read."""

    snapshot: StepSnapshot
    nodes: tuple[int, ...]
    read: frozenset[int]  # subset of `nodes`


def addresses_of(snapshot: StepSnapshot, found: dict[int, list[int]]) -> dict[int, int]:
    """Return the addresses to watch, each with its node."""
    return {snapshot.graph.describe(node).address: node for nodes in found.values() for node in nodes}


class Watch:
    """Notices which of the given tensors, identified by address, a step reads, and what is made of ``sources``."""

    def __init__(self, wanted: Iterable[int], sources: Iterable[int] = ()) -> None:
        self._sources = frozenset(sources)
        self._wanted = frozenset(wanted) | self._sources
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._made: dict[int, weakref.ref[Any]] = {}
        self._least = 0  # numbers in the smallest source
        self._mode: Any = None
        self.read: set[int] = set()
        self.left_torch = False  # whether the contents of a source became a list or an array

    def start(self) -> None:
        """Start watching calls of torch on this thread."""
        torch = sys.modules["torch"]
        for obj in gc.get_objects():
            if id(obj) in self._wanted and is_a(obj, torch._C.TensorBase):
                self._alive[id(obj)] = weakref.ref(obj)
        self._made.update((address, self._alive[address]) for address in self._sources & self._alive.keys())
        sources = [one for one in (reference() for reference in self._made.values()) if one is not None]
        self._least = min(map(numbers_in, sources), default=0)
        self._mode = watching_mode(torch, self._saw)
        put_below(torch, self._mode)

    def stop(self) -> None:
        """Stop watching."""
        mode, self._mode = self._mode, None
        if mode is not None:
            take_off(sys.modules["torch"].overrides, mode)

    def is_made_of_source(self, address: int) -> bool:
        """Whether the tensor at this address is a source or was made of one."""
        reference = self._made.get(address)
        return reference is not None and reference() is not None

    def _saw(self, function: Any, given: Sequence[Any], result: Any) -> None:
        if self._mode is None:  # the mode could not be taken off yet
            return
        for tensor in given:
            reference = self._alive.get(id(tensor))
            if reference is not None and reference() is tensor:
                self.read.add(id(tensor))
        if self._made and any(self._is_made(tensor) for tensor in given):
            self._note(function, given, result)

    def _is_made(self, tensor: Any) -> bool:
        reference = self._made.get(id(tensor))
        return reference is not None and reference() is tensor

    def _note(self, function: Any, given: Sequence[Any], result: Any) -> None:
        """Note what a function made of a source. One that writes in place changes its first argument."""
        name = function_name(function)
        made = [one for one in leaves(result) if is_a(one, sys.modules["torch"]._C.TensorBase)]
        if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")):
            made += given[:1]
        self._made.update((id(one), weakref.ref(one)) for one in made)
        self.left_torch = self.left_torch or (name in OUT_OF_TORCH and numbers_in(given[0]) >= self._least)


def numbers_in(tensor: LibraryObject) -> int:
    """Return the count of a tensor's numbers, without the methods of its class."""
    torch = sys.modules["torch"]
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        return int(torch._C.TensorBase.numel(tensor))


def unread(found: StaleActivations, known: Collection[int] = ()) -> list[Kept]:
    """Return the tensors that no step read, as one group. Its example is in the module that has the largest share.

    Tensors below a known growing container are left out: they are shown already.
    """
    graph = found.snapshot.graph
    growing = {node for node in map(graph.find, known) if node is not None}
    nodes = [node for node in found.nodes if node not in found.read and growing.isdisjoint(graph.path(node))]
    sizes = {node: bytes_of(graph, node) for node in nodes}
    whole = sum(sizes.values())
    if whole < MIN_BYTES:
        return []
    shares: Counter[int | None] = Counter()
    for node in nodes:
        shares[module_of(graph, node)] += sizes[node]
    ((module, _),) = shares.most_common(1)
    its = [node for node in nodes if module_of(graph, node) == module]
    return [Kept(max(its, key=lambda node: (sizes[node], place_of(graph, node))), nodes, whole)]


def place_of(graph: _heap.Graph, node: int) -> int:
    """Return the position in the holder. Attributes assigned later have larger positions."""
    path = graph.path(node)
    return graph.referents(path[-2]).index(node) if len(path) > 1 else 0


def bytes_of(graph: _heap.Graph, node: int) -> int:
    """Return the bytes of the storage behind a tensor object."""
    for impl in graph.referents(node):
        if graph.kind(impl) == "tensor":
            for storage in graph.referents(impl):
                if graph.kind(storage) == "storage":
                    return storage_content(graph, storage)
    return 0
