"""Run the programs without gradlife and read their memory on the way: do the leaks grow, are their twins level?

A child forks for each run, so torch is imported once. With `PYTHONMALLOC=malloc` and without malloc's caches of freed
blocks, what malloc has given out is all memory of Python, PyTorch and C++, and nothing else.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks.twins.pair import Pair
from benchmarks.twins.pairs import AREAS

#: Sizes in the programs are made for runs of so many steps.
BASE = 40
#: Memory is read after `BASE * max(full_after, 2)` steps, and twice more after so many each.
MORE = 30
#: Added to the length of a run, so that no other loop of a program is as long.
ODD = 7
#: A leak grows by at least so many bytes per step between any two readings. A level twin, and one that logs a few
#: numbers, grow by no more on average.
LEAKS, LEVEL, LOGS = 512, 320, 1024
#: What makes malloc's figures exact.
EXACT = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}


class Mallinfo(ctypes.Structure):
    """What glibc says of its arenas."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keep",
        )
    ]


def bytes_in_use() -> int:
    """Return what malloc has given out."""
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = Mallinfo
    info = libc.mallinfo2()
    return int(info.uordblks + info.hblkhd)


@dataclass(frozen=True)
class Growth:
    """Bytes per step between readings."""

    first: float
    second: float

    def complaint(self, pair: Pair, is_leaking: bool) -> str:
        """Say what contradicts the pair's declaration, if anything."""
        if is_leaking and pair.truth == "leak":
            return "" if min(self.first, self.second) >= LEAKS else "does not grow"
        if pair.full_after < 0 and not is_leaking:
            return ""
        most = LOGS if pair.logs and not is_leaking else LEVEL
        return "" if (self.first + self.second) / 2 <= most else "grows"


class Readings:
    """Memory in use when the program's loop has taken its first steps, more, and all."""

    def __init__(self, start: int) -> None:
        self.steps = start + 2 * MORE
        self.places = [start / self.steps, (start + MORE) / self.steps, 1.0]
        self.found: list[int] = []

    def range(self, *limits: int) -> Iterator[int]:
        """Count as `range` does; read memory if this is the program's loop over its steps."""
        is_loop = len(limits) == 1 and limits[0] in (self.steps, self.steps // 4) and not self.found
        for number in range(*limits):
            if is_loop and number >= limits[0] * self.places[len(self.found)]:
                self.read()
            yield number
        if is_loop:
            self.read()

    def read(self) -> None:
        """Read memory without garbage, unless the program has disabled the collector."""
        if gc.isenabled():
            gc.collect()
        self.found.append(bytes_in_use())


def measure(source: str, readings: Readings) -> list[int]:
    """Run a program in a forked child and return what was read."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        answer: Any
        try:
            main = ModuleType("__main__")
            main.__dict__["range"] = readings.range
            sys.modules["__main__"] = main
            exec(compile(source, "<pair>", "exec"), main.__dict__)
            answer = readings.found
        except BaseException:
            answer = traceback.format_exc()
        os.write(writer, json.dumps(answer).encode()[:60_000])
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    answer = json.loads(text or b'"the child died"')
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return list(answer)


def growth(pair: Pair, is_leaking: bool) -> Growth:
    """Measure one program."""
    readings = Readings(BASE * max(pair.full_after, 2) + ODD)
    first, second, third = measure(pair.source(is_leaking, BASE, readings.steps), readings)
    return Growth((second - first) / MORE, (third - second) / MORE)


def measure_all(text: str) -> int:
    """Print the growth of each program; 1 if one contradicts its declaration."""
    import torch

    torch.set_num_threads(1)
    layer = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(layer.parameters())
    optimizer.zero_grad()  # what torch imports late is imported here, once
    layer(torch.randn(4, 4)).sum().backward()
    optimizer.step()
    gc.freeze()  # children collect their own garbage only
    wrong = 0
    for area, pairs in AREAS.items():
        for pair in pairs:
            if text not in f"{area}/{pair.name}":
                continue
            for is_leaking in (True, False):
                kind = "leak" if is_leaking else "twin"
                try:
                    found = growth(pair, is_leaking)
                    complaint = found.complaint(pair, is_leaking)
                    figures = f"{found.first:10,.0f} {found.second:10,.0f}"
                except (RuntimeError, ValueError) as error:
                    complaint, figures = f"failed: {error}", ""
                wrong += bool(complaint)
                print(f"{area}/{pair.name} {kind}: {figures} B a step {complaint}", flush=True)
    print(f"{wrong} programs contradict their declaration")
    return int(wrong > 0)


def check_truth(text: str, python: str) -> int:
    """Measure in a child whose memory all comes from malloc."""
    command = [python, "-m", "benchmarks.twins.truth", text]
    return subprocess.run(command, env={**os.environ, **EXACT}, check=False).returncode


if __name__ == "__main__":
    sys.exit(measure_all(sys.argv[1]))
