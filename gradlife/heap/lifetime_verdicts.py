"""The lifetime verdicts of many objects, given by address so that no reference to them is held."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated


def lifetimes_at(addresses: Sequence[int]) -> list[str | None]:
    """Return the `Lifetime` of the living objects at these addresses; None for one that is not in the graph.

    Walks the whole heap once, some 0.1 s in a process with PyTorch. Nothing is hidden: the caller's own frames are
    roots like all others.
    """
    ensure_calibrated()
    if not addresses:
        return []
    return [None if found is None else found[0] for found in _heap.judge([*addresses], None)]
