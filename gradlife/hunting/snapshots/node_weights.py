"""The weight of a set of nodes, and the test whether nodes are of a kind that leaks are made of."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import NATIVE_COUNTS, names_below, storage_content, tensor_type_names
from gradlife.model.hunt import PerStep

NATIVE = frozenset({"tensor", "storage", "grad_node", "native"})

#: Python objects of which more and more are a leak even where no tensor hangs on them. Plain data is none: a program
#: may well write down a number each step.
LEAK_TYPES = frozenset(
    {
        "function",
        "method",
        "functools.partial",
        "frame",
        "traceback",
        "generator",
        "coroutine",
        "async_generator",
        "type",
        "module",
        "PyCapsule",
        "_asyncio.Task",
        "_io.BufferedReader",
        "_io.BufferedWriter",
        "_io.TextIOWrapper",
        "mmap.mmap",
        "socket.socket",
        "subprocess.Popen",
    }
)

#: Classes of which the same is true, with all that a program derives from them.
LEAK_BASES = (("threading", "Thread"), ("logging", "Handler"), ("concurrent.futures", "Executor"))

#: A piece of plain Python data of so many bytes is a leak, too.
LARGE_BYTES = 64 * 1024

#: So are small objects, and arrays of numbers, from this many bytes per step on. What a program writes down of a
#: step, a row of numbers in a dict, is less; objects of its own classes are no such row.
LEAST_PLAIN_BYTES = 1_024
LEAST_OBJECT_BYTES = 512

#: Packages whose types are data, besides the standard library.
DATA_PACKAGES = frozenset({"numpy", "torch"})


#: The amounts of a step.
FIELDS = ("objects", "tensors", "storages", "graph_nodes", "bytes", "retained_bytes")


def weight(graph: _heap.Graph, nodes: Iterable[int], steps: float = 1.0) -> PerStep:
    """Objects, tensors, storages, graph nodes, storages' bytes and all bytes, divided by the steps that made them."""
    sums: Counter[str] = Counter()
    tensors = tensor_type_names()
    for node in nodes:
        seen = graph.describe(node)
        kind, name = seen.kind, seen.type
        sums["objects"] += kind == "python"
        sums["tensors"] += kind == "python" and name in tensors
        sums[NATIVE_COUNTS.get(kind, "others")] += 1
        sums["bytes"] += storage_content(graph, node) if kind == "storage" else 0
        sums["retained_bytes"] += seen.bytes or 0
    return PerStep(*(sums[key] / steps for key in FIELDS))


def base_types() -> frozenset[str]:
    """The names of those classes, and of all that are derived from them."""
    return frozenset().union(*(names_below(module, base) for module, base in LEAK_BASES))


def leak_types() -> frozenset[str]:
    """The names of all types of which more and more objects are a leak, tensors or not."""
    return LEAK_TYPES | base_types()


def matters(graph: _heap.Graph, node: int, leaking: frozenset[str]) -> bool:
    """Is a growing number of such nodes a leak? ``leaking`` are `leak_types`."""
    found = graph.describe(node)
    return found.kind in NATIVE or found.type in leaking or (found.bytes or 0) >= LARGE_BYTES


def is_data(name: str) -> bool:
    """Is this a type of Python's own, of its library or of numbers, rather than a class of a program?"""
    package, dot, _ = name.partition(".")
    return not dot or package in sys.stdlib_module_names or package in DATA_PACKAGES


def plain_bytes(graph: _heap.Graph, nodes: Iterable[int]) -> int:
    """The bytes of Python objects by themselves."""
    return sum(graph.describe(node).bytes or 0 for node in nodes)


def plus(a: PerStep, b: PerStep) -> PerStep:
    """The sum of two amounts."""
    return PerStep(*(getattr(a, name) + getattr(b, name) for name in FIELDS))


def minus(a: PerStep, b: PerStep) -> PerStep:
    """The difference of two amounts."""
    return PerStep(*(getattr(a, name) - getattr(b, name) for name in FIELDS))
