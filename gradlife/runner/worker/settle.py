"""Letting everything die that can: the collector, the interpreter's trashcan, a framework's own threads."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from gradlife.runner.worker.framework import thread_count

#: Seconds that a framework's own threads get to drop their references.
SYNC_PAUSE = 0.02


def flush_trashcan() -> None:
    """Drop a small nested container: up to Python 3.10 a long chain may stay parked until the next one is dropped."""
    nested: list[object] = [[[[]]] for _ in range(8)]
    del nested


def sync(fw: Any) -> None:
    """Wait for a framework that works and frees in threads of its own.

    OneFlow does all in such threads, and backward() of torch up to 1.5 returns before the thread that ran it has let go
    of the last node.
    """
    eager = getattr(getattr(fw, "_oneflow_internal", None), "eager", None)
    if eager is not None and hasattr(eager, "Sync"):
        eager.Sync()
    if thread_count() > threading.active_count():
        time.sleep(SYNC_PAUSE)


def settle(fw: Any) -> None:
    """Run the collector twice and wait: what is alive afterwards stays alive."""
    sync(fw)
    gc.collect()
    gc.collect()
    flush_trashcan()
    sync(fw)
