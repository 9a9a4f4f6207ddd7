"""Tasks in worker processes: `pool_program.py pool|executor WHAT`. WHAT: `leaks` keeps a result of each task, `clean` none."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

kind, what = sys.argv[1:]
kept: list[bytearray] = []


def work(number: int) -> int:
    result = bytearray(20_000)
    if what == "leaks":
        kept.append(result)
    return len(result)


if __name__ == "__main__":
    if kind == "pool":
        with multiprocessing.Pool(2) as pool:
            assert sum(pool.imap(work, range(160))) == 160 * 20_000
    else:
        with ProcessPoolExecutor(2) as executor:
            assert sum(executor.map(work, range(160))) == 160 * 20_000
