"""The rank of this process in a run with several processes, from its launcher's environment, and the rank's folder."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

#: Variables with the rank, the number of ranks, the rank on this machine, and the number of ranks on it.
VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # torchrun, accelerate, DeepSpeed
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE"),  # set by srun
)

#: Seconds that a rank which has ended waits for the others by default: as long as NCCL waits for a collective.
PATIENCE = 600.0

#: The files of a rank's folder beside its reports.
MEMBER, LOG, RESULT = "member.json", "log", "result.json"


@dataclass(frozen=True)
class Rank:
    """One process of a run with several."""

    number: int
    world_size: int
    local: int = 0
    local_world_size: int = 1

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"rank-{self.number:05d}"


def rank_of(environ: Mapping[str, str], least: int = 2) -> Rank | None:
    """The rank that the environment names; None where there are fewer than ``least``."""
    for rank, size, local, local_size in VARIABLES:
        number, world = whole(environ.get(rank)), whole(environ.get(size))
        if number is not None and world is not None and number < world:
            here = whole(environ.get(local)) or 0
            return Rank(number, world, here, whole(environ.get(local_size)) or world) if world >= least else None
    return None


def whole(text: str | None) -> int | None:
    """A number as launchers write it, ``4(x2)`` of SLURM's among them."""
    digits = (text or "").partition("(")[0]
    return int(digits) if digits.isdecimal() and digits.isascii() else None


@dataclass(frozen=True)
class Member:
    """The process of a rank: its host, its number and its start time."""

    rank: int
    world_size: int
    local: int
    host: str
    pid: int
    started: str  # when the process began, as the system tells it: another may get its number later

    @property
    def is_alive(self) -> bool:
        """Is its process there? Of another machine that is unknown, and counts as yes."""
        return self.host != socket.gethostname() or is_running(self.pid, self.started)


def join_launched(folder: str, rank: Rank) -> str | None:
    """Join as a rank that a launcher started; None where the rank has a process already, and this is a child of it."""
    own = os.path.join(folder, rank.folder)
    with suppress(OSError, ValueError, TypeError):
        if Member(**json.loads(Path(own, MEMBER).read_text(encoding="utf-8"))).is_alive:
            return None
    shutil.rmtree(own, ignore_errors=True)  # of one that the launcher started anew
    return join_run(folder, rank)


def join_run(folder: str, rank: Rank) -> str:
    """Make the folder of a rank, write its process into it, and return the folder's path."""
    path = os.path.join(folder, rank.folder)
    os.makedirs(path, mode=0o700, exist_ok=True)
    pid = os.getpid()
    who = Member(rank.number, rank.world_size, rank.local, socket.gethostname(), pid, start_of(pid))
    write_whole(os.path.join(path, MEMBER), json.dumps(asdict(who)))
    return path


def is_running(pid: int, started: str) -> bool:
    """Is the process with this start time still running, and no zombie?"""
    if not sys.platform.startswith("linux"):
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
            return True
        return False
    return start_of(pid) == started and started != ""


def start_of(pid: int) -> str:
    """Return the start time of a process in clock ticks; empty if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def write_whole(path: str, text: str) -> None:
    """Write a file whole or not at all."""
    partial = f"{path}.{os.getpid()}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)


def add_line(folder: str, line: str) -> None:
    """Adds a line to the log of a rank; a full disk costs the line."""
    with suppress(OSError), open(os.path.join(folder, LOG), "a", encoding="ascii") as file:
        file.write(f"{line}\n")
