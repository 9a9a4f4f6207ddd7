"""Tables of torch and of Python's own library: what they keep of their own is no leak of a test.

What the program stores in them is: a handler of logging that keeps batches, a global hook whose function keeps a tensor.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Iterable

from gradlife import _heap
from gradlife.hunting.snapshots.node_weights import NATIVE
from gradlife.model.hunt import Explained, Finding

#: Packages whose tables, classes and functions are no program's, besides Python's own.
PACKAGES = ("torch", "gradlife")


def library_table(graph: _heap.Graph, finding: Finding, members: Iterable[int]) -> Explained | None:
    """Explain survivors that a library keeps for itself; None if the program has a part in it.

    ``members``: their nodes. Call it in a fork: it looks at the objects that lead to one of them.
    """
    steps = finding.trace.steps
    if not steps or steps[0].object != "module" or not is_of_library(steps[0].detail):
        return None
    native = next((node for node in members if graph.kind(node) in NATIVE and graph.path(node)), None)
    if native is None or any(not is_of_library(module_of(graph, node)) for node in graph.path(native)):
        return None
    return Explained(
        "kept by a library", f"{steps[0].object} {steps[0].detail}: {steps[0].via}", finding.retained_bytes
    )


def is_of_library(module: str) -> bool:
    """Whether this is a module of torch, of Python's own library or of gradlife."""
    package = module.partition(".")[0]
    return package in PACKAGES or package in sys.stdlib_module_names


def module_of(graph: _heap.Graph, node: int) -> str:
    """Return the module that defines a function or a class, or the class of another object; "builtins" if unknown, and
    of a tensor, which is the survivor itself.
    """
    found = graph.describe(node)
    if found.kind != "python" or not found.address:
        return "builtins"
    one = ctypes.cast(found.address, ctypes.py_object).value
    if isinstance(one, types.ModuleType):
        return one.__name__
    if isinstance(one, types.FunctionType):
        return str(one.__globals__.get("__name__", "builtins"))
    kind = one if issubclass(type(one), type) else type(one)
    if any(base.__name__ == "TensorBase" for base in type.mro(kind)):
        return "builtins"
    return str(type.__getattribute__(kind, "__module__"))
