"""What workers run in the place of the functions that torch and Python start them with: the same, with a hunt around it.

They are found by their names in processes that do not start as copies of the program, so they stay where they are.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gradlife.hunting.workers.hunt import WorkerHunt
from gradlife.hunting.workers.worker import VARIABLE, Worker, join

#: The functions themselves, where they were replaced in this process or in the one that it is a copy of.
PLAIN: dict[str, Callable[..., Any]] = {}

#: Called in a copy of the program: it ends what the program's own hunt does to this thread.
LEAVE_HUNT: list[Callable[[], object]] = []


@dataclass(frozen=True)
class Place:
    """Where the function stands that a kind of worker runs."""

    module: str
    name: str
    entry: Callable[..., Any]


def data_worker(*arguments: Any) -> Any:
    """A worker of a DataLoader; a step is a batch."""
    dataset, number, count = arguments[1], arguments[10], arguments[11]
    worker = Worker("DataLoader worker", type(dataset).__qualname__, number, count, "batch", start_method())
    return run(DATA, worker, arguments, 2, {"dataset": dataset})


def pool_worker(*arguments: Any) -> Any:
    """A worker of a multiprocessing.Pool; a step is a task."""
    return run(POOL, Worker("pool worker", "", -1, 0, "task", start_method()), arguments, 0, {})


def executor_worker(*arguments: Any) -> Any:
    """A worker of a concurrent.futures.ProcessPoolExecutor; a step is a task."""
    return run(EXECUTOR, Worker("executor worker", "", -1, 0, "task", start_method()), arguments, 0, {})


DATA = Place("torch.utils.data._utils.worker", "_worker_loop", data_worker)
POOL = Place("multiprocessing.pool", "worker", pool_worker)
EXECUTOR = Place("concurrent.futures.process", "_process_worker", executor_worker)
PLACES = (DATA, POOL, EXECUTOR)


def run(place: Place, worker: Worker, arguments: tuple[Any, ...], at: int, roots: Mapping[str, Any]) -> Any:
    """Run the function with a hunt that hears from its queue, the argument at this index, when a step is done."""
    plain = PLAIN.get(place.module) or getattr(importlib.import_module(place.module), place.name)
    hunt = None
    with suppress(Exception):
        for leave in LEAVE_HUNT:
            leave()
        hunt = new_hunt(worker, roots)
    if hunt is None:
        return plain(*arguments)
    queue = StepQueue(arguments[at], hunt.step)
    try:
        return plain(*arguments[:at], queue, *arguments[at + 1 :])
    finally:
        hunt.leave("end", None, None)


def new_hunt(worker: Worker, roots: Mapping[str, Any]) -> WorkerHunt | None:
    """A hunt that has begun; None where the program is not hunted in, or enough workers are."""
    root = os.environ.get(VARIABLE, "")
    joined = join(root, worker) if os.path.isdir(root) else None
    if joined is None:
        return None
    main = sys.modules.get("__main__")
    own = {name: value for name, value in vars(main).items() if not name.startswith("__")} if main is not None else {}
    hunt = WorkerHunt(joined[0], joined[1], getattr(main, "__file__", None) or "", {**own, **roots})
    hunt.start()
    return hunt


def start_method() -> str:
    """How this worker was started."""
    own = getattr(multiprocessing.process.current_process(), "_start_method", None)
    return str(own or multiprocessing.get_start_method())


class StepQueue:
    """A queue of work: whoever asks for the next item is done with the one before."""

    def __init__(self, queue: Any, done: Callable[[], object]) -> None:
        self._queue = queue
        self._done = done
        self._is_busy = False

    def get(self, *arguments: Any, **options: Any) -> Any:
        """Return the next item, after the step that the last one was."""
        if self._is_busy:
            self._is_busy = False
            self._done()
        item = self._queue.get(*arguments, **options)
        self._is_busy = is_work(item)
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


def is_work(item: Any) -> bool:
    """Is it work, not the end of it or a sign between two epochs?"""
    return item is not None and type(item).__name__ != "_ResumeIteration"
