"""The probe of reference counts: Python's own, beyond those of an object with one name, and owners in C++.

Reads: `sys.getrefcount` of the subject and of a control object, reached the same way, so that the references of the
measurement cancel; the framework's `_use_count` if its objects have one. Cannot see: whose references these are; the
count of an immortal object (Python 3.12 on), or of any object on a free-threaded interpreter, which are inconclusive.
Cost: microseconds; no object is made in the framework.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable

#: From this on a reference count is no count: the object is immortal (Python 3.12 on).
IMMORTAL = 2**30


class Control:
    """A plain object held by one name, to compare reference counts with."""


def beyond(count: int, control: int) -> Any:
    """A count beyond a control's; inconclusive of an immortal object, and where threads keep counts of their own."""
    is_free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return "inconclusive" if is_free_threaded or count >= IMMORTAL else count - control


def count_behind(ref: Callable[[], Any]) -> int | None:
    """Reference count of what a weak reference leads to, as seen from here."""
    subject = ref()
    return None if subject is None else sys.getrefcount(subject)


def control_count() -> int:
    """Return the result of `count_behind` for an object with exactly one reference."""
    control = Control()
    count = count_behind(weakref.ref(control))
    assert count is not None
    return count


def references_behind(ref: Callable[[], Any]) -> Any:
    """Python references, beyond one, of what a weak reference leads to; None if it is dead."""
    count = count_behind(ref)
    return None if count is None else beyond(count, control_count())


def owners_behind(ref: Callable[[], Any], count_owners: Callable[[Any], int] | None) -> Any:
    """The framework's own count of C++ owners; None if there is none, inconclusive of a wrapper without its C++ object.

    `count_owners` counts where the object itself cannot.
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
