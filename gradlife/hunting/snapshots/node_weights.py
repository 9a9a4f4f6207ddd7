"""The weight of a set of nodes, and which kinds of nodes count as leaks."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import NATIVE_COUNTS, names_below, storage_content, tensor_type_names
from gradlife.model.hunt import Amounts

NATIVE = frozenset({"tensor", "storage", "grad_node", "native"})

#: Python objects that count as a leak even without tensors. Plain data does not: a program may well log a number each
#: step.
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
        "_io.BufferedRandom",
        "_io.BufferedReader",
        "_io.BufferedWriter",
        "_io.FileIO",
        "_io.TextIOWrapper",
        "mmap.mmap",
        "select.epoll",
        "socket.socket",
        "sqlite3.Connection",
        "ssl.SSLSocket",
        "subprocess.Popen",
    }
)

#: The class of process groups. Their C++ side has threads, open files and buffers.
PROCESS_GROUP = ("torch.distributed.distributed_c10d", "ProcessGroup")

#: Classes that count as a leak too, with all classes derived from them.
LEAK_BASES = (
    ("threading", "Thread"),
    ("torch.nn", "Module"),  # each call takes longer where modules pile up
    ("logging", "Handler"),
    ("concurrent.futures", "Executor"),
    PROCESS_GROUP,
    ("torch._C", "Future"),  # handles: what they keep is in C++, or in another process
    ("torch._C._distributed_c10d", "Work"),
    ("torch._C._distributed_rpc", "PyRRef"),
)

#: A piece of plain Python data of this many bytes counts as a leak, too.
LARGE_BYTES = 64 * 1024

#: Small objects and arrays of numbers count as a leak from this many bytes per step on. A logged row of numbers in a
#: dict takes less; objects of the program's own classes are no such row.
MIN_PLAIN_BYTES = 1_024
MIN_OBJECT_BYTES = 512

#: Packages whose types are data, besides the standard library.
DATA_PACKAGES = frozenset({"numpy", "torch"})


#: The amounts per step.
FIELDS = ("objects", "tensors", "storages", "graph_nodes", "bytes", "retained_bytes")


def weight(graph: _heap.Graph, nodes: Iterable[int], steps: float = 1.0) -> Amounts:
    """Count objects, tensors, storages, grad nodes, storage bytes and all bytes, divided by the steps that made
    them.
    """
    sums: Counter[str] = Counter()
    tensors = tensor_type_names()
    for node in nodes:
        seen = graph.describe(node)
        kind, name = seen.kind, seen.type
        sums["objects"] += kind == "python"
        sums["tensors"] += kind == "python" and name in tensors
        sums[NATIVE_COUNTS.get(kind, "others")] += 1
        sums["bytes"] += storage_content(graph, node) if kind == "storage" else 0
        sums["retained_bytes"] += (seen.bytes or 0) + graph.atom_bytes(node)
    return Amounts(*(sums[key] / steps for key in FIELDS))


def base_types() -> frozenset[str]:
    """Return the names of these classes and of all classes derived from them."""
    return frozenset().union(*(names_below(module, base) for module, base in LEAK_BASES))


def leak_types() -> frozenset[str]:
    """Return the names of all types that count as a leak when they grow, tensors or not."""
    return LEAK_TYPES | base_types()


def matters(graph: _heap.Graph, node: int, leaking: frozenset[str]) -> bool:
    """Whether growth of such nodes counts as a leak. ``leaking`` are `leak_types`."""
    found = graph.describe(node)
    return found.kind in NATIVE or found.type in leaking or (found.bytes or 0) >= LARGE_BYTES


def is_data(name: str) -> bool:
    """Whether a type belongs to Python, its library or numpy, rather than to a program."""
    package, dot, _ = name.partition(".")
    return not dot or package in sys.stdlib_module_names or package in DATA_PACKAGES


def plain_bytes(graph: _heap.Graph, nodes: Iterable[int]) -> int:
    """Sum up the shallow sizes of Python objects, with the numbers and short texts that only they hold."""
    return sum((graph.describe(node).bytes or 0) + graph.atom_bytes(node) for node in nodes)


def plus(a: Amounts, b: Amounts) -> Amounts:
    """Add two amounts."""
    return Amounts(*(getattr(a, name) + getattr(b, name) for name in FIELDS))


def minus(a: Amounts, b: Amounts) -> Amounts:
    """Subtract two amounts."""
    return Amounts(*(getattr(a, name) - getattr(b, name) for name in FIELDS))
