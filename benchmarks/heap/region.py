"""Compare retained bytes with the truth: build one region of the heap under tracemalloc, and plant storages.

Writes one line of JSON. A separate process, because tracemalloc must see nothing else.
"""

from __future__ import annotations

import gc
import json
import tracemalloc

import torch

import gradlife
from benchmarks.heap.synthetic import HEAP, Region, fill_region

RECORDS = 11_420
STORAGES = 50
STORAGE_BYTES = 1_000_000
VIEWS = 7


def python_bytes() -> tuple[int, int]:
    """Measure a region's memory and the retained size that the graph reports."""
    fill_region(Region(99), 0, 5)  # types and shared keys are made with the first
    tracemalloc.start(1)
    before = tracemalloc.get_traced_memory()[0]
    HEAP.REGION = Region(0)  # type: ignore[attr-defined]
    fill_region(HEAP.REGION, 0, RECORDS)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken, gradlife.snapshot(labels=False).retained(id(HEAP.REGION))


def storage_bytes() -> tuple[int, int]:
    """Return the bytes of storages with several views each, and what the graph says their holder retains."""
    HEAP.VIEWED = viewed = []  # type: ignore[attr-defined]
    for _ in range(STORAGES):
        whole = torch.zeros(STORAGE_BYTES // 4)
        viewed.append([whole, *(whole[i:] for i in range(1, VIEWS))])
    del whole  # this frame would hold it
    return STORAGES * STORAGE_BYTES, gradlife.snapshot(labels=False).retained(id(viewed))


def main() -> None:
    """Print both pairs."""
    gc.disable()
    print(json.dumps({"python": python_bytes(), "storages": storage_bytes()}))


if __name__ == "__main__":
    main()
