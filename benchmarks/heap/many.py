"""Take thousands of snapshots in one process: does anything grow?

Writes a line of JSON for each tenth: resident bytes, the collector's objects, blocks of Python's allocator. Runs
without torch, because a small heap allows many snapshots.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys

import gradlife


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def look() -> dict[str, int]:
    gc.collect()
    return {"resident": resident(), "objects": len(gc.get_objects()), "blocks": sys.getallocatedblocks()}


def main() -> None:
    """Take the snapshots and measure ten times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    count = parser.parse_args().count
    for _ in range(20):
        gradlife.snapshot()
    for tenth in range(11):
        for _ in range(count // 10 if tenth else 0):
            gradlife.snapshot()
        print(json.dumps({"snapshots": tenth * (count // 10), **look()}), flush=True)


if __name__ == "__main__":
    main()
