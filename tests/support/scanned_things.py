"""Objects whose holders in native memory are looked for, and which of the holders found are believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlife.heap import scan
from gradlife.model.trace import Confidence, NativeHolder


class Thing:
    """Something to hold."""


def believed(holders: tuple[NativeHolder, ...]) -> list[NativeHolder]:
    return [holder for holder in holders if holder.sureness is not Confidence.UNSURE]


def unmentioned(count: int = 1, make: Callable[[], Any] = Thing) -> list[Any]:
    """Objects at addresses of which no holder is believed yet: a library's block may say what an earlier test left there."""
    made = [make() for _ in range(count + 20)]
    return [thing for thing, holders in zip(made, scan(made), strict=True) if not believed(holders)][:count]
