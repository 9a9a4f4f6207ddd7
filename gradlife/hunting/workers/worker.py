"""Which worker a process is, and the folder in which it leaves its report."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradlife.hunting.process.rank import start_of, write_whole

#: Names the run's folder to workers, also to those that do not start as copies of the program.
VARIABLE = "GRADLIFE_WORKERS"

#: The folder of all workers in the folder of the hunt.
FOLDER = "workers"

#: The files in the folder of a worker: who it is, its report, its memory, and the process that still writes the report.
WHO, REPORT, MEMORY, WRITER = "who.json", "report.json", "memory.json", "writer.json"

#: The reports that a worker may have left, the best one first; a process with steps of its own leaves several.
REPORTS = (REPORT, "end", "answer", "interim")

#: Workers of one kind that are hunted in: the others do the same.
MOST_WORKERS = 4

#: Processes that may follow one another as one worker (a DataLoader starts its workers anew for each epoch) until one of
#: them has lived long enough for a report.
MOST_LIVES = 3


@dataclass(frozen=True)
class Worker:
    """One worker process."""

    kind: str  # "DataLoader worker"
    label: str  # what tells its group from others: the class of the dataset
    number: int
    count: int  # of the group; 0: it is not known
    step: str  # "batch", "task"
    start_method: str  # "fork", "spawn", "forkserver"


def join(root: str, worker: Worker) -> tuple[str, Worker] | None:
    """Make the folder of a worker; None where enough like it are hunted in, or it has a report from an earlier life.

    A worker of a pool, whose number is unknown (-1), gets the next one.
    """
    numbers = range(MOST_WORKERS) if worker.number < 0 else [worker.number] if worker.number < MOST_WORKERS else []
    for number in numbers:
        path = free_folder(root, worker, number)
        if path is not None:
            joined = Worker(**{**asdict(worker), "number": number})
            write_whole(os.path.join(path, WHO), json.dumps(asdict(joined)))
            return path, joined
    return None


def free_folder(root: str, worker: Worker, number: int) -> str | None:
    """A new folder for a worker with this number."""
    group = hashlib.sha256(f"{worker.kind} {worker.label} {worker.count}".encode()).hexdigest()[:8]
    os.makedirs(os.path.join(root, FOLDER), mode=0o700, exist_ok=True)
    for life in range(1 if worker.number < 0 else MOST_LIVES):
        path = os.path.join(root, FOLDER, f"{group}-{number:03d}-{life}")
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            return path
        if os.path.exists(os.path.join(path, REPORT)):
            return None
    return None


def worker_at(path: str) -> Worker | None:
    """Who has a folder."""
    with suppress(OSError, ValueError, TypeError):
        return Worker(**json.loads(Path(path, WHO).read_text(encoding="utf-8")))
    return None


def announce_writer(path: str, pid: int) -> None:
    """Say which process writes the report."""
    write_whole(os.path.join(path, WRITER), json.dumps({"pid": pid, "started": start_of(pid)}))


def is_written(path: str) -> bool:
    """Is the report there, or will there never be one?"""
    if os.path.exists(os.path.join(path, REPORT)):
        return True
    found: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        found = json.loads(Path(path, WRITER).read_text(encoding="utf-8"))
    return not found or start_of(found["pid"]) != found["started"]
