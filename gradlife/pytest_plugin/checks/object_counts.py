"""Count living objects, and find new tensors."""

from __future__ import annotations

import gc
from typing import Any

from gradlife.heap.path_steps import short_type
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.snapshots.step_snapshots import full_name, subclasses, tensor_type_names, walked
from gradlife.hunting.snapshots.survivors import new_objects
from gradlife.pytest_plugin.checks.gc_boundary import has, is_tensor

#: The graph's names for C++ objects.
NATIVE = ("tensor", "storage", "grad_node")

#: Most new objects of one type whose addresses are returned.
MOST = 1000


def count(kind: type | str) -> int:
    """Count the living objects of a type and of types derived from it, or of a kind in C++."""
    ensure_calibrated()
    rows = walked().census()
    if isinstance(kind, type):
        names = {full_name(one) for one in subclasses(kind)}
        return sum(number for name, family, number, _ in rows if family == "python" and name in names)
    if kind in NATIVE:
        return sum(number for _, family, number, _ in rows if family == kind)
    return sum(number for name, _, number, _ in rows if kind in (name, short_type(name)))


class Tensors:
    """The tensors alive now. The collector must be disabled until the new ones are requested."""

    def __init__(self) -> None:
        ensure_calibrated()
        gc.collect(0)
        self._mark: list[Any] = [[]]  # among the youngest, unless the collector runs
        self._before = walked()

    def new(self) -> list[int]:
        """Return the addresses of tensors made since; C++ tensors if no Python object is new."""
        youngest = gc.get_objects(generation=0)
        is_told = has(youngest, self._mark)
        found = [id(one) for one in youngest if is_told and is_tensor(type(one))]
        del youngest
        now = walked()
        native = []
        for row in new_objects(self._before, now, MOST):
            addresses = [now.describe(node).address for node in row.nodes]
            if row.kind == "tensor":
                native += addresses
            elif not is_told and row.kind == "python" and row.type in tensor_type_names():
                found += addresses
        return found or native
