"""Measure what clients of a model server see while gradlife attaches, hunts and detaches. Run with `make bench-attach`.

``ARGS="--rounds 200"`` counts what a process has before and after many visits; ``ARGS=--pauses`` measures how long a
process of 1 and of 10 million objects is stopped while it is watched.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.attach.counting import FIRST, before_and_after, counting
from benchmarks.attach.load import Clients, Row, row_of, service
from benchmarks.attach.pauses import measured_in_child
from gradlife.attach.client import Session, attach, connect
from gradlife.model.hunt import LONGEST_STOP
from gradlife.program.hunt.running import Terms

#: Steps of a hunt: enough to name a holder, and some more.
TERMS = Terms(steps=120, step_on="__main__:answer")

#: Objects of a watched process, and the seconds of watching it.
PAUSES = ((1_000_000, 40.0), (10_000_000, 90.0))


def main() -> int:
    """Measure with the debugger and with the socket, and print both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0, help="of the phases before and after")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--server", choices=["fastapi", "http.server"], help="fastapi if it is installed")
    parser.add_argument("--rounds", type=int, help="attach and detach so often instead; print what that leaves behind")
    parser.add_argument("--pauses", action="store_true", help="only the pauses of a process that is watched")
    args = parser.parse_args()
    if args.pauses:
        return print_pauses()
    if args.rounds:
        return count_rounds(args.rounds)
    server = args.server or ("fastapi" if importlib.util.find_spec("uvicorn") else "http.server")
    table = Table("attached by", "phase", "seconds", "requests/s", "median ms", "p99 ms", "worst ms", "found")
    for name, door in (("gdb", False), ("gradlife.serve()", True)):
        for phase, seconds, row, found in phases(door, args.seconds, args.clients, server):
            times = [f"{1000 * value:.1f}" for value in (row.median, row.p99, row.worst)]
            table.add_row(name, phase, f"{seconds:.1f}", f"{row.per_second:.0f}", *times, found)
            name = ""
    load = os.getloadavg()[0]
    wide_console().print(
        table, f"{server}, {args.clients} clients, load average {load:.1f}, {os.cpu_count()} processors"
    )
    return 0


def wide_console() -> Console:
    """Return a console that is wide enough for the tables in a file, too."""
    return Console(width=None if Console().is_terminal else 120)


def count_rounds(rounds: int) -> int:
    """Attach and detach many times by each way; print what the process has before and after."""
    table = Table("attached by", "rounds", "objects", "threads", "files", "MB resident", "ms a round")
    for name, socket in (("gdb", ""), ("serve()", "door")):
        table.add_row(name, str(rounds), *counts_around(rounds, socket))
    wide_console().print(table, f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    return 0


def print_pauses() -> int:
    """Print the longest pauses of processes of several sizes, bare and watched, in milliseconds."""
    table = Table("objects", "MB", "fork", "run", "steps", "looks", "longest: processor", "longest: wall")
    for objects, seconds in PAUSES:
        found = measured_in_child(objects, seconds)
        lead = [f"{objects:,}", f"{found.megabytes:.0f}", f"{1000 * found.fork:.1f}"]
        for name, row, looks in (("bare", found.bare, 0), ("watched", found.watched, found.looks)):
            figures = (f"{1000 * row.processor:.1f}", f"{1000 * row.wall:.1f}")
            table.add_row(*lead, name, str(row.steps), str(looks), *figures)
            lead = ["", "", ""]
    wide_console().print(table, f"in ms; load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    return 0


def counts_around(rounds: int, socket: str) -> list[str]:
    """Return what a process has before and after, and the milliseconds of a round."""
    with tempfile.TemporaryDirectory() as folder, counting(Path(folder), *filter(None, [socket])) as (pid, ask):
        path = os.path.join(folder, socket)
        start = time.perf_counter()
        before, after = before_and_after(rounds, lambda: (connect(path) if socket else attach(pid)).close(), ask)
        each = 1000 * (time.perf_counter() - start) / (rounds + FIRST)
    return [
        f"{before.objects} → {after.objects}",
        f"{before.threads} → {after.threads}",
        f"{before.descriptors} → {after.descriptors}",
        f"{before.megabytes:.1f} → {after.megabytes:.1f}",
        f"{each:.0f}",
    ]


def phases(door: bool, seconds: float, clients: int, name: str) -> Iterator[tuple[str, float, Row, str]]:
    """Yield the phases before, during and after, each with its length and what the hunt found."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "door") if door else ""
        with service(1, path, name) as server:
            asking = Clients(server.port, clients)
            time.sleep(seconds / 5)
            yield measured("before", asking, lambda: time.sleep(seconds))

            def visit() -> str:
                with connect(path) if door else attach(server.pid) as session:
                    return hunted(session)

            start = time.perf_counter()
            verdict = visit()
            end = time.perf_counter()
            yield "attach, hunt, detach", end - start, row_of(asking.between(start, end), end - start), verdict
            yield measured("after", asking, lambda: time.sleep(seconds))
            asking.stop()


def measured(phase: str, asking: Clients, wait: Callable[[], object]) -> tuple[str, float, Row, str]:
    """Measure a phase without gradlife."""
    start = time.perf_counter()
    wait()
    end = time.perf_counter()
    return phase, end - start, row_of(asking.between(start, end), end - start), ""


def hunted(session: Session) -> str:
    """Hunt, and return the first finding's code."""
    report = session.hunt(TERMS, "gradlife attach", lambda progress: None)
    found = next((one.code for one in report.findings), report.verdict.value)
    return f"{found}, looks up to {report.settings[LONGEST_STOP]} ms"


if __name__ == "__main__":
    sys.exit(main())
