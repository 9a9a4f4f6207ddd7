"""The live heap as one graph of Python, autograd, storage and native references."""

from __future__ import annotations

from gradlife.errors import ExtensionMissingError

try:
    from gradlife import _heap as _heap
except ImportError as error:
    raise ExtensionMissingError("gradlife._heap") from error

from gradlife.heap.census import Census, census
from gradlife.heap.scan import scan
from gradlife.heap.snapshot import Snapshot, diff, open_snapshot, snapshot
from gradlife.heap.why import refs, why

__all__ = ["Census", "Snapshot", "census", "diff", "open_snapshot", "refs", "scan", "snapshot", "why"]
