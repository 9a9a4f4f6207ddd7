"""Temporary folders of the commands that run or watch a program. If one is killed, its folder stays: the next such command
removes it.

Each process that uses a folder holds a shared lock on a file in it, which the system releases however the process ends. A
program may outlive the command that watches it, and still write its reports.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
from contextlib import suppress

from gradlife.descriptors import move_up

#: The names of the folders begin with one of these.
HUNT, TRIAL, PEAK, RUN, FOLLOW, ATTACH = PREFIXES = tuple(
    f"gradlife-{command}-" for command in ("hunt", "trial", "peak", "run", "follow", "attach")
)

#: Temporary folders besides the usual one, and the bytes that one must have free.
OTHERS = ("/tmp", "/var/tmp", "/dev/shm")
LEAST_ROOM = 8 << 20

#: The locked file, and its name until it is locked.
LOCK, NEW_LOCK = ".gradlife-lock", ".gradlife-lock.new"


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is removed by the next command if this process is killed.

    The first one of a process in a place reads the names there, to remove abandoned ones. ``place``: None for the usual one.
    """

    def __init__(self, prefix: str, place: str | None = None) -> None:
        place = place or roomy_folder()
        remove_abandoned(place)
        super().__init__(prefix=prefix, dir=place)
        self._lock = -1
        new = os.path.join(self.name, NEW_LOCK)
        with suppress(OSError):  # a file system without locks: then only the owner removes the folder
            self._lock = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            os.rename(new, os.path.join(self.name, LOCK))

    def cleanup(self) -> None:
        """Remove the folder, then release its lock."""
        super().cleanup()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def roomy_folder() -> str:
    """Return the usual temporary folder, or another one that has more room if that is nearly full."""
    usual = tempfile.gettempdir()
    others = (folder for folder in OTHERS if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK))
    return next((folder for folder in (usual, *others) if free_bytes(folder) >= LEAST_ROOM), usual)


def free_bytes(folder: str) -> int:
    """Return how many bytes this user may still write there; 0 if it is unknown."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def keep_folder(path: str) -> None:
    """Hold a shared lock on the folder until this process ends: the descriptor stays open on purpose.

    Do nothing for a folder without a lock file.
    """
    with suppress(OSError):
        lock = move_up(os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_NOFOLLOW))
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)


@functools.cache  # once in a process
def remove_abandoned(place: str) -> None:
    """Remove this user's abandoned gradlife folders there. Folders without a lock file stay."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIXES) and is_own_folder(entry):
                remove_unless_locked(entry.path)


def is_own_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder of this user, and no link to one."""
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except OSError:  # removed meanwhile
        return False


def remove_unless_locked(path: str) -> None:
    """Remove a folder whose lock no process holds."""
    with suppress(OSError):
        lock = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
