"""Run a program's steps without a hunt and print the bytes that each adds: ``python -m benchmarks.rss.bare TARGET FIRST LAST``.

Both are measured between the same two steps: bytes in use, by malloc's own counters, and resident memory.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import sys
from pathlib import Path

from gradlife import _heap
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import FunctionTarget, load, parse


def bytes_now() -> tuple[int, int]:
    """Bytes in use, and resident ones without free memory that malloc keeps at its end, after a collection."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return _heap.malloc_bytes() or 0, resident


def main() -> int:
    """Print bytes a step, between two numbers of steps."""
    target = parse(sys.argv[1])
    first, last = map(int, sys.argv[2:])
    assert isinstance(target, FunctionTarget)
    stepper = load(target)
    loop = loop_for(stepper)
    state = stepper.setup() if stepper.setup is not None else None
    numbers = itertools.count()
    loop(state, stepper.step, itertools.islice(numbers, first), lambda: False)
    before = bytes_now()
    loop(state, stepper.step, itertools.islice(numbers, last - first), lambda: False)
    in_use, resident = (after - at for at, after in zip(before, bytes_now(), strict=True))
    print(json.dumps({"in_use": in_use / (last - first), "resident": resident / (last - first)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
