"""The hunt in one worker process. A forked copy writes the report, so that the end of the worker waits for nothing."""

from __future__ import annotations

import gc
import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from gradlife.hunting.process.forked import CAN_FORK, fork
from gradlife.hunting.process.private_pages import PrivateMemory, private_memory
from gradlife.hunting.process.rank import write_whole
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import MIN_ROUNDS, schedule_for
from gradlife.hunting.workers.copies import copy_on_read
from gradlife.hunting.workers.worker import MEMORY, REPORT, Worker, announce_writer
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport

#: The file descriptors of standard input, output and errors.
STANDARD = (0, 1, 2)


class WorkerHunt:
    """Counts the steps of a worker. Errors here never end the worker."""

    def __init__(self, folder: str, worker: Worker, target: str, roots: Mapping[str, Any]) -> None:
        self._folder = folder
        self._worker = worker
        self._about = TargetFacts(target, f"{worker.step} of a {worker.kind}", is_script=True)
        self._roots = roots
        self._moments: list[tuple[int, PrivateMemory]] = []
        self._is_written = False
        self._lock = threading.RLock()
        if worker.start_method != "spawn":
            gc.freeze()  # a collection would write to the pages of all objects made before the fork
        self._hunt = Hunt(schedule_for(None, is_endless=False))
        self._hunt.on_snapshot = self._note_memory
        self._counter: Counter | None = None
        self.counter: Counter | None = None  # None: an idle worker takes no step that a signal could wait for

    def start(self) -> None:
        """Start counting steps."""
        self._counter = Counter(self._hunt, self._lock)
        self._counter.on_done = self._finish
        InterimReport(self, -1).start()

    def step(self) -> None:
        """Count a finished step."""
        if self._counter is not None and not self._counter.is_done:
            try:
                self._counter.step()
            except Exception:
                self._counter = None

    def _note_memory(self, steps: int, began: float, ended: float) -> None:
        memory = private_memory()
        if memory is not None:
            self._moments.append((steps, memory))

    def _finish(self) -> None:
        """Write the report, and let the worker go on without a hunt."""
        self.leave("end", None, None)
        self._hunt.close()

    # --- the report, with the methods that InterimReport calls ---

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write the report, once, from a forked copy."""
        with self._lock:
            if self._is_written or len(self._hunt.snapshots) <= MIN_ROUNDS or not CAN_FORK:
                return
            self._is_written = True
            with suppress(Exception):  # the report does not depend on it
                self._write_copies()
            with suppress(Exception):
                write_in_copy(self._folder, self._hunt.descriptors, self._write)

    def _write_copies(self) -> None:
        """Write what was copied, while the parent still shares the other pages."""
        copied = copy_on_read(self._moments, self._roots) if self._worker.start_method != "spawn" else None
        if copied is not None:
            write_whole(os.path.join(self._folder, MEMORY), json.dumps(asdict(copied)))

    def end_by_signal(self, number: int) -> None:
        """Do nothing when a signal ends the worker: there is nothing more to report."""

    def _write(self) -> None:
        write_whole(os.path.join(self._folder, REPORT), hunt_codec.dumps(self._report()))

    def _report(self) -> HuntReport:
        """Judge; an error leaves a report that says so: without one the worker would count as one with too few steps."""
        try:
            return report_of(self._hunt, self._about)
        except Exception as error:
            trouble = f"its snapshots could not be judged: {type(error).__name__}: {error}"
            return HuntReport(self._about.target, self._about.stepped_by, 0, (), (), trouble=trouble)


def write_in_copy(folder: str, descriptors: set[int], write: Callable[[], object]) -> None:
    """Judge and write in a forked copy, with only these files open: the process that waits for the end of this one's pipes
    does not wait for the copy. Raises OSError if there is none.
    """
    copy = fork()
    if copy != 0:
        announce_writer(folder, copy)
        return
    try:
        keep_open(descriptors)
        write()
    finally:
        os._exit(0)


def keep_open(descriptors: set[int]) -> None:
    """Close all files except these. Nothing is read or printed: who reads the program's output waits for its end."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in STANDARD:
            os.dup2(nothing, descriptor)
    listed = os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd")
    for descriptor in {*map(int, listed)} - {*STANDARD, *descriptors}:
        with suppress(OSError):  # the one that listed them is closed already
            os.close(descriptor)
