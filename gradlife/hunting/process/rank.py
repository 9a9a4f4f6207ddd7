"""The rank of this process in a distributed run, from its launcher's environment, and the rank's folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from gradlife.model.from_json import built, document_text, parsed
from gradlife.model.ranks import RankEnd

#: Variables with the rank, the world size, the local rank and the local world size.
VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # torchrun, accelerate, DeepSpeed
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"),  # set by srun
)

#: More nodes are not looked at.
MAX_NODES = 100_000

#: Default seconds that a finished rank waits for the others: as long as NCCL waits for a collective.
PATIENCE = 600.0

#: The files in a rank's folder besides its reports.
MEMBER, LOG, RESULT = "member.json", "log", "result.json"


@dataclass(frozen=True)
class Rank:
    """One process of a distributed run."""

    number: int
    world_size: int
    local: int = 0
    local_world_size: int = 1  # if no launcher tells, as if all ranks were on this machine

    @property
    def folder(self) -> str:
        """The name of the rank's folder."""
        return f"rank-{self.number:05d}"


def rank_of(environ: Mapping[str, str], least: int = 2) -> Rank | None:
    """Return the rank from the environment; None without one, or in a world smaller than ``least``."""
    for rank, size, local, _ in VARIABLES:
        number, world = whole(environ.get(rank)), whole(environ.get(size))
        if number is not None and world is not None and number < world:
            here = whole(environ.get(local)) or 0
            return Rank(number, world, here, local_size_of(environ, number, world)) if world >= least else None
    return None


def local_size_of(environ: Mapping[str, str], number: int, world: int) -> int:
    """Return how many ranks are on this machine; all of them if no launcher that names this rank says so.

    A script may name its rank itself, from the number that SLURM or MPI gives it.
    """
    for rank, size, _, local_size in VARIABLES:
        if (whole(environ.get(rank)), whole(environ.get(size))) == (number, world):
            found = on_this_node(environ.get(local_size), whole(environ.get("SLURM_NODEID")))
            if found is not None:
                return found
    return world


def on_this_node(text: str | None, node: int | None) -> int | None:
    """Parse a number of ranks, such as ``4(x2),1`` from SLURM: 4 on each of two nodes, 1 on the third. None: no number.

    The largest number if the node is unknown.
    """
    found = [re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", part) for part in (text or "").split(",")]
    sizes = [(int(one[1]), int(one[2] or 1)) for one in found if one is not None and int(one[1])]
    if len(sizes) < len(found):
        return None
    by_node = [size for size, nodes in sizes for _ in range(min(nodes, MAX_NODES))]
    return by_node[node] if node is not None and node < len(by_node) else max(by_node, default=None)


def whole(text: str | None) -> int | None:
    """Parse a number; None if it is not one."""
    return int(text) if text and text.isdecimal() and text.isascii() else None


@dataclass(frozen=True)
class Member:
    """The process of a rank: its host, process ID and start time."""

    rank: int
    world_size: int
    local: int
    host: str
    pid: int
    started: str  # start time as the system tells it: process IDs are reused

    @property
    def is_alive(self) -> bool:
        """Whether the process is alive. On another machine that is unknown, and counts as alive."""
        return self.host != socket.gethostname() or is_running(self.pid, self.started)


def join_launched(folder: str, rank: Rank) -> str | None:
    """Join as a rank that a launcher started; None if the rank's process is alive, and this one is its child."""
    own = os.path.join(folder, rank.folder)
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        if built(Member, parsed(document_text(os.path.join(own, MEMBER)))).is_alive:
            return None
    shutil.rmtree(own, ignore_errors=True)  # from before the launcher restarted the rank
    return join_run(folder, rank)


def join_run(folder: str, rank: Rank) -> str:
    """Make the folder of a rank, record this process in it, and return the folder's path."""
    path = os.path.join(folder, rank.folder)
    os.makedirs(path, mode=0o700, exist_ok=True)
    pid = os.getpid()
    who = Member(rank.number, rank.world_size, rank.local, socket.gethostname(), pid, start_of(pid))
    write_whole(os.path.join(path, MEMBER), json.dumps(asdict(who)))
    return path


def is_running(pid: int, started: str) -> bool:
    """Whether the process with this start time is running and no zombie."""
    if not sys.platform.startswith("linux"):
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
            return True
        return False
    return start_of(pid) == started and started != ""


def start_of(pid: int) -> str:
    """Return the start time of a process in clock ticks; empty if it is gone or a zombie."""
    fields = fields_of(pid)
    return "" if not fields or fields[0] in "ZX" else fields[19]


def work_of(pid: int) -> int:
    """Return the processor time that a process has taken, in clock ticks; 0 if it is gone, or the system does not tell."""
    fields = fields_of(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def fields_of(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on; empty if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return []


def write_whole(path: str, text: str) -> None:
    """Write a file whole or not at all."""
    partial = f"{path}.{os.getpid()}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)


def write_result(folder: str, status: int | None, killed_by: int = 0, peak: int = 0) -> None:
    """Record how a rank ended; on a full disk that is lost. ``killed_by``: a signal; ``peak``: resident bytes."""
    end = RankEnd.KILLED if killed_by else RankEnd.FAILED if status else RankEnd.FINISHED
    trouble = f"killed by signal {killed_by}" if killed_by else ""
    found = {"end": end.value, "status": status, "trouble": trouble, "peak_bytes": peak}
    with suppress(OSError):
        write_whole(os.path.join(folder, RESULT), json.dumps(found))


def add_line(folder: str, line: str) -> None:
    """Add a line to the log of a rank; on a full disk the line is lost."""
    with suppress(OSError), open(os.path.join(folder, LOG), "a", encoding="ascii") as file:
        file.write(f"{line}\n")
