"""The folder that the ranks of a run share: the one given by the user, or a private one on this machine.

Ranks exchange only files. No rank calls a collective for gradlife, so none can wait for a rank that is gone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gradlife.errors import UsageError
from gradlife.hunting.process.own_folders import keep_folder
from gradlife.hunting.process.rank import Rank, join_run, rank_of, start_of, write_whole
from gradlife.output import reason
from gradlife.ranks.rank_report import folders_of_ranks, member_at

#: The variable with the folder, if gradlife launches the ranks: they leave their results there, and it merges them.
VARIABLE = "GRADLIFE_RUN_FOLDER"

#: The variable in which torchrun counts restarts of the ranks.
RESTARTS = "TORCHELASTIC_RESTART_COUNT"

#: The variable that torchrun sets, and which shows that the launcher is of this run alone.
RUN_ID = "TORCHELASTIC_RUN_ID"

#: The file that the merging rank creates, and the one with the exit status for all ranks.
CLAIM, MERGED = "merging", "merged.json"

#: The file in a rank's folder that names the process that launched it.
LAUNCHER = "launcher"

HINT = "an empty folder for each run: --run-folder FOLDER"


@dataclass(frozen=True)
class RunFolder:
    """The folder in which the ranks of a run leave their files."""

    path: str
    is_private: bool = False  # removed when the last rank leaves
    is_launchers: bool = False  # the process that launched the ranks merges

    def join(self, rank: Rank) -> str:
        """Make this rank's own folder and return its path; UsageError if an earlier run has left one."""
        own = os.path.join(self.path, rank.folder)
        try:
            if self.is_private:
                return self._join_private(rank)
            launcher = f"{socket.gethostname()} {launcher_of(os.getpid())}"
            if os.path.exists(own) and not self._set_aside(rank, launcher):
                raise UsageError(f"{self.path} has reports of an earlier run", HINT)
            joined = join_run(self.path, rank)
            keep_folder(self.path)  # a launcher that is killed leaves the ranks behind
            write_whole(os.path.join(joined, LAUNCHER), launcher)
            return joined
        except OSError as error:
            raise UsageError(f"cannot write to {self.path}: {reason(error)}", HINT) from None

    def _set_aside(self, rank: Rank, launcher: str) -> bool:
        """Move what an earlier attempt of this run has left: torchrun starts all ranks anew if a node joins or leaves.

        False if it is of another run: another process has launched it.
        """
        own = os.path.join(self.path, rank.folder)
        member = member_at(own)
        if (
            RUN_ID not in os.environ
            or member is None
            or member.is_alive
            or text_at(os.path.join(own, LAUNCHER)) != launcher
        ):
            return False
        aside = tempfile.mkdtemp(prefix="earlier-", dir=self.path)
        for name in (rank.folder, CLAIM, MERGED):
            with suppress(FileNotFoundError):  # another rank has moved it
                os.replace(os.path.join(self.path, name), os.path.join(aside, name))
        return True

    def _join_private(self, rank: Rank) -> str:
        """Join after removing what an earlier run of the same launcher has left."""
        with locked(os.path.dirname(self.path)):
            is_used = any(os.path.exists(os.path.join(self.path, name)) for name in (CLAIM, MERGED))
            if is_used and not self._living():
                shutil.rmtree(self.path)
            shutil.rmtree(os.path.join(self.path, rank.folder), ignore_errors=True)
            return join_run(self.path, rank)

    def _living(self) -> list[str]:
        """Return the folders of ranks whose processes are alive."""
        members = {name: member_at(os.path.join(self.path, name)) for name in folders_of_ranks(self.path)}
        return [name for name, member in members.items() if member is not None and member.is_alive]

    def leave(self, rank: Rank) -> None:
        """Remove this rank's files from a private folder, and the folder itself when no other rank is left."""
        if not self.is_private:
            return
        with suppress(OSError), locked(os.path.dirname(self.path)):
            shutil.rmtree(os.path.join(self.path, rank.folder), ignore_errors=True)
            if not self._living():
                shutil.rmtree(self.path, ignore_errors=True)


def folder_for(rank: Rank, wanted: str | None, environ: Mapping[str, str]) -> RunFolder:
    """Return the folder of this rank's run. Ranks on several machines need one that they share."""
    if environ.get(VARIABLE):
        return RunFolder(environ[VARIABLE], is_launchers=True)
    restarts = environ.get(RESTARTS, "0")
    if wanted is not None:
        path = os.path.abspath(wanted)  # the program may change its working folder
        return RunFolder(path if restarts == "0" else os.path.join(path, f"restart-{restarts}"))
    if rank.local_world_size < rank.world_size:
        raise UsageError("ranks on several machines need a folder that they share", "--run-folder FOLDER")
    root = private(os.path.join(tempfile.gettempdir(), f"gradlife-runs-{os.getuid()}"))
    name = hashlib.sha256(f"{launcher_of(os.getpid())} {restarts}".encode()).hexdigest()[:16]
    return RunFolder(os.path.join(root, name), is_private=True)


def launcher_of(pid: int) -> str:
    """Identify the process that launched the ranks by ID and start time: the nearest ancestor that is not a rank."""
    above = parent_of(pid)
    while above > 1 and is_rank(above):
        above = parent_of(above)
    return f"{above} {start_of(above)}"


def is_rank(pid: int) -> bool:
    """Whether the environment of a process names a rank. False if it cannot be read."""
    try:
        found = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    pairs = (word.partition("=") for word in os.fsdecode(found).split("\0"))
    return rank_of({name: value for name, _, value in pairs}) is not None


def text_at(path: str) -> str:
    """Read a small file; empty if there is none."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 if unknown."""
    if pid == os.getpid():
        return os.getppid()
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return int(fields[1])
    except (OSError, ValueError, IndexError):
        return 0


def private(path: str) -> str:
    """Make a folder that only this user may enter; UsageError if its name is taken by another user's file."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UsageError(f"{path} belongs to another user, or is open to others", "--run-folder FOLDER")
    return path


@contextmanager
def locked(root: str) -> Iterator[None]:
    """Lock out other ranks that join or leave."""
    with open(os.path.join(root, "lock"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
