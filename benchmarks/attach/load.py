"""A service in its own process, and clients that send requests."""

from __future__ import annotations

import http.client
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVICE = Path(__file__).with_name("service.py")


@dataclass(frozen=True)
class Service:
    """A running service."""

    pid: int
    port: int

    @property
    def resident(self) -> int:
        """Return its resident bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def service(keep_every: int, socket: str = "", server: str = "http.server") -> Iterator[Service]:
    """Start a service that ends with the block."""
    command = [sys.executable, str(SERVICE), str(keep_every), server, *filter(None, [socket])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield Service(process.pid, int(process.stdout.readline()))
        finally:
            process.kill()


class Clients:
    """Threads that send one request after the other; `since` returns latencies of requests started after a moment."""

    def __init__(self, port: int, count: int = 2, pause: float = 0.0) -> None:
        self._port = port
        self._pause = pause
        self._ended = threading.Event()
        self._times: list[tuple[float, float]] = []
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=900)
        while not self._ended.wait(self._pause):
            start = time.perf_counter()
            connection.request("GET", "/")
            connection.getresponse().read()
            self._times.append((start, time.perf_counter() - start))

    def between(self, start: float, end: float) -> list[float]:
        """Return the seconds of each request started in that time."""
        return [seconds for at, seconds in self._times if start <= at < end]

    def stop(self) -> None:
        """Stop the clients."""
        self._ended.set()
        for thread in self._threads:
            thread.join()


@dataclass(frozen=True)
class Row:
    """The clients' figures over some seconds."""

    per_second: float
    median: float
    p99: float
    worst: float


def row_of(latencies: list[float], seconds: float) -> Row:
    """Summarize these requests."""
    ordered = sorted(latencies)
    at_99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return Row(len(ordered) / seconds, statistics.median(ordered), at_99, ordered[-1])
