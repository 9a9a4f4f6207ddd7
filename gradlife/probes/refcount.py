"""The probe of reference counts: Python's, beyond those of an object with one name, and C++ owners.

Reads: `sys.getrefcount` of the subject and of a control object, reached the same way, so that the references of the
measurement cancel; the framework's `_use_count` if its objects have one. Cannot see: who holds the references; the
count of an immortal object (Python 3.12 on) or of any object on a free-threaded interpreter, which is inconclusive.
Cost: microseconds; makes no object in the framework.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable

#: Reference counts from here on mean that the object is immortal (Python 3.12 on).
IMMORTAL = 2**30


class Control:
    """A plain object held by one name, used to calibrate reference counts."""


def beyond(count: int, control: int) -> Any:
    """Return a count beyond a control's; inconclusive for an immortal object and on a free-threaded interpreter."""
    is_free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return "inconclusive" if is_free_threaded or count >= IMMORTAL else count - control


def count_behind(ref: Callable[[], Any]) -> int | None:
    """Return the reference count of a weak reference's referent, as seen from here."""
    subject = ref()
    return None if subject is None else sys.getrefcount(subject)


def control_count() -> int:
    """Return the result of `count_behind` for an object with exactly one reference."""
    control = Control()
    count = count_behind(weakref.ref(control))
    assert count is not None
    return count


def reference_count(ref: Callable[[], Any]) -> Any:
    """Return the number of Python references beyond one to a weak reference's object; None if it is dead."""
    count = count_behind(ref)
    return None if count is None else beyond(count, control_count())


def owner_count(ref: Callable[[], Any], count_owners: Callable[[Any], int] | None) -> Any:
    """Return the framework's count of C++ owners; None if it has none, inconclusive for a wrapper without its C++
    object.

    `count_owners` counts if the object itself cannot.
    """
    subject = ref()
    ask = getattr(type(subject), "_use_count", None) or count_owners
    if subject is None or ask is None:
        return None
    try:
        return int(ask(subject))
    except RuntimeError as error:
        error.__traceback__ = None
        return "inconclusive"
