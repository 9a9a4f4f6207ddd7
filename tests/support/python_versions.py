"""What differs between the Pythons that the tests run on."""

from __future__ import annotations

import sys

#: From 3.14 on a call borrows its arguments from the caller's variables: no reference is theirs.
BORROWS_ARGUMENTS = sys.version_info >= (3, 14)

#: The callbacks of atexit are one list from 3.14 on.
LISTS_EXIT_CALLBACKS = sys.version_info >= (3, 14)

#: The flag of a type whose instances have room for attributes behind them.
INLINE_VALUES = 1 << 2


def _count(thing: object) -> int:
    return sys.getrefcount(thing)


def _count_of_one() -> int:
    control = object()
    return _count(control)


#: What `sys.getrefcount` adds in a function that a variable is handed to: 2 before Python 3.14, then nothing.
_OWN = _count_of_one() - 1


def count_references(thing: object) -> int:
    """Count the references to what a variable holds, without those of the call."""
    return sys.getrefcount(thing) - _OWN
