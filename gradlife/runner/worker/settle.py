"""Letting everything die that can: the collector, the interpreter's trashcan, a framework's own threads."""

from __future__ import annotations

import gc
import time
from typing import Any

#: How long OneFlow's worker threads are given to drop what they were told to, in seconds.
SYNC_PAUSE = 0.02


def flush_trashcan() -> None:
    """Drop a small nested container: up to Python 3.10 a long chain may stay parked until the next one is dropped."""
    nested: list[object] = [[[[]]] for _ in range(8)]
    del nested


def sync(fw: Any) -> None:
    """Wait for a framework that computes and frees in threads of its own (OneFlow)."""
    eager = getattr(getattr(fw, "_oneflow_internal", None), "eager", None)
    if eager is not None and hasattr(eager, "Sync"):
        eager.Sync()
        time.sleep(SYNC_PAUSE)


def settle(fw: Any) -> None:
    """Run the collector twice and wait: what is alive afterwards stays alive."""
    gc.collect()
    gc.collect()
    flush_trashcan()
    sync(fw)
