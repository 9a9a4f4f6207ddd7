"""Run a program's steps without a hunt and print the resident bytes added per step: ``python -m benchmarks.rss.bare
TARGET``.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import sys
from pathlib import Path

from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import FunctionTarget, load, parse

#: Steps before the first measurement: caches fill, and the allocator takes what it reuses later.
WARMUP = 50

#: Steps between the two measurements.
STEPS = 200


def resident_bytes() -> int:
    """Return resident memory after a collection, without free memory that malloc keeps."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Print bytes per step."""
    target = parse(sys.argv[1])
    assert isinstance(target, FunctionTarget)
    stepper = load(target)
    loop = loop_for(stepper)
    state = stepper.setup() if stepper.setup is not None else None
    numbers = itertools.count()
    loop(state, stepper.step, itertools.islice(numbers, WARMUP), lambda: False)
    before = resident_bytes()
    loop(state, stepper.step, itertools.islice(numbers, STEPS), lambda: False)
    print((resident_bytes() - before) / STEPS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
