"""How many grad nodes the program had made when it last trained: those made since belong to what follows the steps."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from gradlife.hunting.snapshots.creation_recorder import address_of_next_sequence
from gradlife.safe_access import loaded

#: Fewer results that are kept with their graphs after the last step may be what a program is about to print.
MIN_RESULTS = 12


class GraphMark:
    """The number of the next grad node at the last step, backward pass or optimizer step, in the thread that took it.

    PyTorch numbers nodes in each thread (`at::sequence_number`). Setting the mark takes less than a microsecond.
    """

    def __init__(self) -> None:
        self._next: Callable[[], int] | None = None
        self._thread = 0
        self._number: int | None = None

    def set(self) -> None:
        """Mark the present moment."""
        if self._next is None:
            self._next = next_number()
        self._thread, self._number = threading.get_ident(), self._next()

    @property
    def since(self) -> range:
        """The numbers of the nodes made since the mark in its thread; none if there is no mark, or from another thread."""
        if self._next is None or self._number is None or self._thread != threading.get_ident():
            return range(0)
        return range(self._number, self._next())


def next_number() -> Callable[[], int]:
    """Return a function for the number of the next node of the thread; 0 for ever if torch does not show it."""
    torch = loaded("torch")
    try:
        if torch is not None:
            return ctypes.PYFUNCTYPE(ctypes.c_uint64)(address_of_next_sequence(torch))
    except (OSError, AttributeError, LookupError):
        pass
    return int
