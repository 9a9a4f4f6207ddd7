"""The identity of a worker process, and the folder for its report."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass

from gradlife.hunting.process.rank import start_of, work_of, write_whole
from gradlife.model.from_json import built, document_text, parsed

#: The variable with the run's folder, also for spawned workers.
VARIABLE = "GRADLIFE_WORKERS"

#: The folder of all workers, in the folder of the hunt.
FOLDER = "workers"

#: Files in a worker's folder: its identity, report and copied memory, and the process that is writing the report.
WHO, REPORT, MEMORY, WRITER = "who.json", "report.json", "memory.json", "writer.json"

#: Reports that a worker may have left, best first; a process with steps of its own leaves several.
REPORTS = (REPORT, "end", "answer", "interim")

#: Most workers of one kind that are hunted in: the others do the same.
MAX_WORKERS = 4

#: Most groups of workers of one kind, label and size that are hunted in, such as the DataLoaders of two parts of a dataset.
MAX_GROUPS = 4

#: Most processes that succeed one another as one worker (a DataLoader restarts its workers for each epoch) until one
#: lives long enough for a report.
MAX_LIVES = 3


@dataclass(frozen=True)
class Worker:
    """One worker process."""

    kind: str  # "DataLoader worker"
    label: str  # the class of the dataset: tells groups apart
    number: int
    count: int  # workers in the group; 0: unknown
    step: str  # "batch", "task"
    start_method: str  # "fork", "spawn", "forkserver"
    source: str = ""  # tells DataLoaders of the same class apart; empty: unknown


@dataclass(frozen=True)
class Writer:
    """The process that writes a worker's report."""

    pid: int
    started: str  # as the system tells it


def join(root: str, worker: Worker) -> tuple[str, Worker] | None:
    """Make the folder of a worker; None if enough like it are hunted in, or an earlier process of it left a report.

    A pool's worker, whose number is unknown (-1), gets the next one.
    """
    numbers = range(MAX_WORKERS) if worker.number < 0 else [worker.number] if worker.number < MAX_WORKERS else []
    for number in numbers:
        path = free_folder(root, worker, number)
        if path is not None:
            joined = Worker(**{**asdict(worker), "number": number})
            write_whole(os.path.join(path, WHO), json.dumps(asdict(joined)))
            return path, joined
    return None


def free_folder(root: str, worker: Worker, number: int) -> str | None:
    """Make a folder for a worker with this number; None if there are enough."""
    kind, source = short_hash(f"{worker.kind} {worker.label} {worker.count}"), short_hash(worker.source)
    os.makedirs(os.path.join(root, FOLDER), mode=0o700, exist_ok=True)
    sources = {name.split("-")[1] for name in os.listdir(os.path.join(root, FOLDER)) if name.startswith(kind)}
    if source not in sources and len(sources) >= MAX_GROUPS:
        return None
    for life in range(1 if worker.number < 0 else MAX_LIVES):
        path = os.path.join(root, FOLDER, f"{kind}-{source}-{number:03d}-{life}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
        if os.path.exists(os.path.join(path, REPORT)):
            return None
    return None


def short_hash(text: str) -> str:
    """Return a name for a text, for use in file names."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def worker_at(path: str) -> Worker | None:
    """Return the worker that has a folder; None if unknown."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        found: Worker = built(Worker, parsed(document_text(os.path.join(path, WHO))))
        return found
    return None


def announce_writer(path: str, pid: int) -> None:
    """Record which process writes the report."""
    write_whole(os.path.join(path, WRITER), json.dumps({"pid": pid, "started": start_of(pid)}))


def is_written(path: str) -> bool:
    """Whether the report is written, or never will be."""
    if os.path.exists(os.path.join(path, REPORT)):
        return True
    found = writer_of(path)
    return found is None or start_of(found.pid) != found.started


def work_of_writer(path: str) -> int:
    """Return the processor time that the process has taken which writes the report, in clock ticks; 0 if there is none."""
    found = writer_of(path)
    return work_of(found.pid) if found is not None else 0


def writer_of(path: str) -> Writer | None:
    """Return the process that writes the report; None if there is none."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        found: Writer = built(Writer, parsed(document_text(os.path.join(path, WRITER))))
        return found
    return None
