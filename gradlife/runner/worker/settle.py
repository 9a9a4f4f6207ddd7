"""Wait until everything that can die is dead: by the collector, the interpreter's trashcan, a framework's threads."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

from gradlife.runner.worker.framework import thread_count

#: Seconds for a framework's own threads to drop their references.
SYNC_PAUSE = 0.02


def flush_trashcan() -> None:
    """Drop a small nested container: up to Python 3.10 a long chain may stay parked until the next one is dropped."""
    nested: list[object] = [[[[]]] for _ in range(8)]
    del nested


def sync(fw: Any) -> None:
    """Wait for a framework that frees objects in its own threads.

    OneFlow does everything in such threads. backward() of torch up to 1.5 returns before its thread has dropped the
    last node.
    """
    eager = getattr(getattr(fw, "_oneflow_internal", None), "eager", None)
    if eager is not None and hasattr(eager, "Sync"):
        eager.Sync()
    if thread_count() > threading.active_count():
        time.sleep(SYNC_PAUSE)


def settle(fw: Any) -> None:
    """Run the collector twice and wait: objects alive afterwards stay alive."""
    sync(fw)
    gc.collect()
    gc.collect()
    flush_trashcan()
    sync(fw)
