"""The probe of liveness: when does a subject die after its last name goes? At once (`del`), at a collection (`gc`), or
not (`held`, `never`).

Reads: whether the subject is alive before and after a full garbage collection, with the watch of `expiry`. Cannot
see: why. A subject that cannot be watched is inconclusive. Cost: one full collection for a whole stage, about a tenth
of a second with PyTorch loaded.
"""

from __future__ import annotations


def verdict_of(before: bool | None, after: bool | None, is_held: bool) -> str:
    """Judge a subject by whether it is alive before and after the collection; `is_held`: the story still holds objects."""
    if before is None or after is None:
        return "inconclusive"
    if not before:
        return "del"
    if not after:
        return "gc"
    return "held" if is_held else "never"
