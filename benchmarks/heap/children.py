"""One question in a forked child, which isolates its cost and its leftovers."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.heap.limit import load_limit
from benchmarks.heap.questions import Answer

PAGE_BITS = 12
PRESENT = 63


@dataclass(frozen=True)
class Outcome:
    """CPU and wall seconds, peak growth in bytes, and the answer or the error."""

    cpu: float = 0.0
    wall: float = 0.0
    peak: int = 0
    answer: Answer | None = None
    error: str = ""

    @staticmethod
    def read(text: str) -> Outcome:
        """Parse a child's line."""
        values = json.loads(text)
        answer = values.pop("answer")
        return Outcome(**values, answer=Answer(**answer) if answer else None)

    def line(self) -> str:
        """Format as one line of JSON."""
        return json.dumps(asdict(self))


def run_in_child(work: Callable[[], Answer], seconds: float) -> Outcome:
    """Fork, measure, and give up after so many seconds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, measure(work).line().encode())
        os._exit(0)
    os.close(writer)
    text = read_until(reader, time.monotonic() + seconds)
    os.close(reader)
    if text is None:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if text is None:
        return Outcome(error=f"more than {seconds:.0f} s")
    return Outcome.read(text) if text else Outcome(error=f"died, status {status}")


def read_until(reader: int, deadline: float) -> str | None:
    """Return everything that arrives, or None at the deadline."""
    pieces: list[bytes] = []
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(reader, 65536)
        if not piece:
            return b"".join(pieces).decode()
        pieces.append(piece)
    return None


def measure(work: Callable[[], Answer]) -> Outcome:
    warnings.simplefilter("ignore")
    try:
        own_all_pages()
        gc.enable()
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak counts from here
        before, from_files = resident("VmRSS"), resident("RssFile")
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        from_files = resident("RssFile") - from_files  # a child touches its libraries' pages for the first time
        return Outcome(cpu, wall, resident("VmHWM") - before - from_files, answer)
    except BaseException as error:
        return Outcome(error=f"{type(error).__name__}: {error}"[:300])


def resident(field: str) -> int:
    """Return a field of this process's status in bytes."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def own_all_pages() -> None:
    """Write to every page once, so that the first question does not pay for copying shared pages."""
    load_limit().touch(np.ascontiguousarray(np.concatenate(list(writable_pages()))))


def writable_pages() -> Any:
    with (
        open("/proc/self/maps", encoding="utf-8", errors="replace") as maps,
        open("/proc/self/pagemap", "rb", 0) as map_,
    ):
        for line in maps.read().splitlines():
            span, rights, *_, name = line.split(maxsplit=5) if len(line.split()) > 5 else (*line.split(), "")
            if rights != "rw-p" or name.startswith(("[stack", "[v")):
                continue
            first, last = (int(text, 16) for text in span.split("-"))
            map_.seek(first >> (PAGE_BITS - 3))
            entries = np.frombuffer(map_.read((last - first) >> (PAGE_BITS - 3)), dtype=np.uint64)
            present: Any = np.nonzero(entries >> np.uint64(PRESENT))[0].astype(np.uint64)
            yield (present << np.uint64(PAGE_BITS)) + np.uint64(first)


assert sys.platform == "linux", "pages and peaks are read from /proc"
