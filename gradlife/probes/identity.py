"""The identity probe: does reading one C++ object always return one Python object, and do its attributes survive?"""

from __future__ import annotations

import weakref
from typing import Any, Callable

READS = 8
MARK = "gradlife_mark"

Getter = Callable[[], Any]


def distinct_ids(getter: Getter) -> int:
    """Count the distinct ids of several reads when nothing holds the object between reads."""
    return len({id(getter()) for _ in range(READS)})


def distinct_ids_apart(fw: Any, getter: Getter) -> int:
    """Count distinct ids while other tensors are made and kept between reads, so that freed addresses are not reused."""
    others = []
    ids = set()
    for _ in range(READS):
        ids.add(id(getter()))
        others.append(fw.ones(4))
    return len(ids)


def keeps_attribute(getter: Getter) -> Any:
    """Whether an attribute survives after every name of the object is dropped."""
    try:
        setattr(getter(), MARK, True)
    except (AttributeError, TypeError):
        return "takes no attribute"
    kept = getattr(getter(), MARK, False)
    if kept:
        delattr(getter(), MARK)
    return bool(kept)


def keeps_weak_reference(getter: Getter) -> Any:
    """Whether a weak reference survives after every name of the object is dropped."""
    try:
        ref = weakref.ref(getter())
    except TypeError:
        return "takes no weak reference"
    return ref() is not None


def identity_aspects(fw: Any, getter: Getter, setter_attr: bool) -> dict[str, Any]:
    """Yield each aspect of identity with its value, in the order of the queries."""
    aspects = {
        "distinct ids": distinct_ids(getter),
        "distinct ids apart": distinct_ids_apart(fw, getter),
        "is same": getter() is getter(),
        "type": type(getter()).__name__,
    }
    if setter_attr:
        aspects["attribute kept"] = keeps_attribute(getter)
    aspects["weak reference kept"] = keeps_weak_reference(getter)
    return aspects
