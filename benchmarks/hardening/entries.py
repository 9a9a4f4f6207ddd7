"""Every entry point of the extension, read from the extension itself, so that a new one cannot be forgotten."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.hardening.material import TENSORS, Make, leaf, matrix
from gradlife import _engine

SLOTS_OF_EVERY_TYPE = {"__doc__", "__module__", "__dict__", "__weakref__"}
DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


@dataclass(frozen=True)
class Entry:
    """A function of the module, or a method or attribute of one of its types. `owners`: objects to call a method on."""

    name: str
    function: Any = None
    owners: tuple[Make, ...] = ()

    @property
    def is_attribute(self) -> bool:
        return isinstance(self.function, DESCRIPTORS)


def entries() -> Iterator[Entry]:
    """Return all entry points by name."""
    for name, value in sorted(vars(_engine).items()):
        if isinstance(value, types.BuiltinFunctionType) and name != "_register":  # from gradlife's own import
            yield Entry(name, value)
    for name, owners in owners_of_types().items():
        yield from entries_of(name, owners)


def entries_of(name: str, owners: tuple[Make, ...]) -> Iterator[Entry]:
    """Return the entry points of a type that the module or the owners name, and of its bases."""
    kind = vars(_engine).get(name) or type(owners[0]())
    members = {attribute: value for base in reversed(kind.__mro__[:-1]) for attribute, value in vars(base).items()}
    for attribute, value in sorted(members.items()):
        if (attribute not in SLOTS_OF_EVERY_TYPE and callable(value)) or isinstance(value, DESCRIPTORS):
            yield Entry(f"{name}.{attribute}", bound(kind, value), owners)


def bound(kind: type, value: Any) -> Any:
    """Bind a class or static method, which is called without an owner."""
    return value.__get__(None, kind) if isinstance(value, classmethod | staticmethod) else value


def owners_of_types() -> dict[str, tuple[Make, ...]]:
    """Return a maker for each type; types without a public name are found on results."""
    return {
        "TensorBase": TENSORS,
        "StorageBase": (lambda: matrix().untyped_storage(),),
        "SavedTensor": (lambda: matrix().sin().grad_fn._raw_saved_self,),
        "_WeakTensorRef": (lambda: _engine._WeakTensorRef(leaf()),),
        "dtype": (lambda: _engine.float64,),
        "_FunctionBase": (made_by_function,),
        "node": (lambda: matrix().sin().grad_fn,),
        "accumulator": (lambda: matrix().grad_fn.next_functions[0][0],),
        "metadata": (lambda: matrix().sin().grad_fn._input_metadata[0],),
    }


def made_by_function() -> Any:
    """Return the context of a custom Function, which is the node of its result."""
    from benchmarks.hardening.stories import Doubled

    return Doubled.apply(matrix()).grad_fn
