"""The functions that torch and Python start workers with, each wrapped in a hunt.

Spawned workers find them by name, so they must stay in this module.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from gradlife.hunting.workers.hunt import WorkerHunt
from gradlife.hunting.workers.worker import VARIABLE, Worker, join
from gradlife.own_thread import is_main_thread
from gradlife.safe_access import LibraryObject, attributes, class_name, is_exactly, loaded, member, values_in

#: The original functions, if they were replaced in this process or in the one that it was forked from.
PLAIN: dict[str, Callable[..., Any]] = {}

#: Classes of Python with a length, and most parts of a dataset whose lengths are read.
SIZED, MAX_PARTS = (list, tuple, dict, set, frozenset, str, bytes, bytearray, range), 100

#: Called in a forked worker: ends the program's own hunt in this thread.
LEAVE_HUNT: list[Callable[[], object]] = []


@dataclass(frozen=True)
class Place:
    """The function that a kind of worker runs, and its replacement."""

    module: str
    name: str
    entry: Callable[..., Any]


def data_worker(*arguments: Any) -> Any:
    """Run a DataLoader worker; a step is a batch."""
    dataset, number, count = arguments[1], arguments[10], arguments[11]
    return run(DATA, lambda: loader_worker(dataset, number, count), arguments, 2, {"dataset": dataset})


def pool_worker(*arguments: Any) -> Any:
    """Run a worker of a multiprocessing.Pool, or of a ThreadPool; a step is a task."""
    return run(POOL, lambda: task_worker("pool worker"), arguments, 0, {})


def executor_worker(*arguments: Any) -> Any:
    """Run a worker of a concurrent.futures.ProcessPoolExecutor; a step is a task."""
    return run(EXECUTOR, lambda: task_worker("executor worker"), arguments, 0, {})


DATA = Place("torch.utils.data._utils.worker", "_worker_loop", data_worker)
POOL = Place("multiprocessing.pool", "worker", pool_worker)
EXECUTOR = Place("concurrent.futures.process", "_process_worker", executor_worker)
PLACES = (DATA, POOL, EXECUTOR)


def loader_worker(dataset: object, number: int, count: int) -> Worker:
    """Return which worker of a DataLoader this is. A fork has the dataset where its parent has it, others a copy."""
    method = start_method()
    parts = chain([dataset], attributes(dataset).values())
    lengths = " ".join(str(length) for part in parts for length in lengths_in(part))
    source = f"{id(dataset):x}" if method == "fork" else lengths
    return Worker("DataLoader worker", class_name(dataset), number, count, "batch", method, source)


def lengths_in(value: object, depth: int = 2) -> Iterator[int]:
    """Yield the lengths of the containers, arrays and tensors in a dataset. Its own `__len__` is the program's."""
    if is_exactly(value, (*SIZED, *filter(None, (member("torch", "Tensor"), member("numpy", "ndarray"))))):
        sized: LibraryObject = value
        yield sized.nbytes if hasattr(sized, "nbytes") else len(sized)
    if depth:
        for item in islice(values_in(value), MAX_PARTS):
            yield from lengths_in(item, depth - 1)


def task_worker(kind: str) -> Worker:
    """Return a worker of a pool."""
    return Worker(kind, "", -1, 0, "task", start_method())


def run(
    place: Place,
    make_worker: Callable[[], Worker],
    arguments: tuple[Any, ...],
    at: int,
    roots: Mapping[str, Any],
) -> Any:
    """Run the original function with a hunt. The queue at index ``at`` of its arguments tells when a step is done.

    A worker is the main thread of its own process. A thread of the program gets no hunt: it would end the program's, and
    freeze its heap.
    """
    plain = PLAIN.get(place.module) or getattr(importlib.import_module(place.module), place.name)
    if not is_main_thread():
        return plain(*arguments)
    hunt = None
    with suppress(Exception):
        for leave in LEAVE_HUNT:
            leave()
        hunt = new_hunt(make_worker(), roots)
    if hunt is None:
        return plain(*arguments)
    queue = StepQueue(arguments[at], hunt.step)
    try:
        return plain(*arguments[:at], queue, *arguments[at + 1 :])
    finally:
        hunt.leave("end", None, None)


def new_hunt(worker: Worker, roots: Mapping[str, Any]) -> WorkerHunt | None:
    """Start a hunt in this worker; None if the program is not hunted in, or enough workers are."""
    root = os.environ.get(VARIABLE, "")
    joined = join(root, worker) if os.path.isdir(root) else None
    if joined is None:
        return None
    main = loaded("__main__")
    own = {name: value for name, value in vars(main).items() if not name.startswith("__")} if main is not None else {}
    hunt = WorkerHunt(joined[0], joined[1], getattr(main, "__file__", None) or "", {**own, **roots})
    hunt.start()
    return hunt


def start_method() -> str:
    """Return the start method of this worker."""
    own = getattr(multiprocessing.process.current_process(), "_start_method", None)
    set_for_all = multiprocessing.get_start_method(allow_none=True)  # asking otherwise would fix it
    return str(own or set_for_all or multiprocessing.get_all_start_methods()[0])


class StepQueue:
    """A queue of work: asking for the next item ends the step of the item before."""

    def __init__(self, queue: Any, done: Callable[[], object]) -> None:
        self._queue = queue
        self._done = done
        self._is_busy = False

    def get(self, *arguments: Any, **options: Any) -> Any:
        """Return the next item; if the last one was work, count a step first."""
        if self._is_busy:
            self._is_busy = False
            self._done()
        item = self._queue.get(*arguments, **options)
        self._is_busy = is_work(item)
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)


def is_work(item: Any) -> bool:
    """Whether an item is work, rather than the end or a marker between two epochs."""
    return item is not None and class_name(item) != "_ResumeIteration"
