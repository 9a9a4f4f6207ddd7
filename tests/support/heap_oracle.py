"""The heap walked in pure Python: the same nodes and edges as the native walk, found by other means.

It asks the collector (`gc.get_referents`), and Python itself for references that the collector does not see: the variables of
running frames, the dict of a type written in C, the fields of code objects, the items of object arrays. It is slow, makes
objects while it looks and runs code of theirs, so it is no fallback for an interpreter without the extension; it serves
to check the extension by.
"""

from __future__ import annotations

import gc
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

#: Of a type's flags: it was made at run time, and is known to the collector.
HEAP_TYPE = 1 << 9

CODE_FIELDS = ("co_consts", "co_names", "co_filename", "co_name", "co_qualname", "co_linetable", "co_exceptiontable")


def referents(entry: Any) -> Counter[int]:
    """The addresses of what an object refers to, each as often as it does."""
    return Counter(id(target) for target in references_of(entry))


def references_of(entry: Any) -> Iterator[Any]:
    """Return the referents of an object."""
    yield from gc.get_referents(entry)
    kind = type(entry)  # `isinstance` asks a lazy module's stand-ins for their `__class__`, and these warn
    if kind is types.CodeType:
        yield from (getattr(entry, name) for name in CODE_FIELDS)
    elif issubclass(kind, type) and not entry.__flags__ & HEAP_TYPE:
        yield from static_type_references(entry)
    elif kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        yield from array_references(entry)


def static_type_references(entry: type) -> Iterator[Any]:
    """A type of C code, which the collector does not know. `vars` shows its dict through a view."""
    yield from gc.get_referents(vars(entry))
    yield entry.__bases__
    yield entry.__mro__
    if entry.__base__ is not None:
        yield entry.__base__


def array_references(array: Any) -> Iterator[Any]:
    """An array of numpy, and the objects that it has for items."""
    yield array.dtype
    if array.base is not None:
        yield array.base
    if array.dtype == object and array.flags.owndata:
        yield from array.ravel().tolist()


def heap_below(starts: Iterable[Any], known: set[int]) -> dict[int, Counter[int]]:
    """Every object that `starts` reach without passing one of `known`, with what it refers to."""
    waiting = list(starts)
    found: dict[int, Counter[int]] = {}
    kept = []  # an address is an object's for as long as it lives
    while waiting:
        entry = waiting.pop()
        if id(entry) in found or id(entry) in known:
            continue
        kept.append(entry)
        targets = list(references_of(entry))
        found[id(entry)] = Counter(map(id, targets))
        waiting.extend(targets)
    return found
