"""Temporary folders of gradlife's commands. If one is killed, its folder stays: the next command removes it.

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

#: The names of the folders begin with one of these.
HUNT, TRIAL, PEAK = PREFIXES = ("gradlife-hunt-", "gradlife-trial-", "gradlife-peak-")

#: The locked file, and its name until it is locked.
LOCK, NEW_LOCK = ".gradlife-lock", ".gradlife-lock.new"


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is removed by the next command if this process is killed."""

    def __init__(self, prefix: str) -> None:
        remove_abandoned()
        super().__init__(prefix=prefix)
        self._lock = -1
        new = os.path.join(self.name, NEW_LOCK)
        with suppress(OSError):  # a file system without locks: then nothing is removed but by its owner
            self._lock = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            os.rename(new, os.path.join(self.name, LOCK))

    def cleanup(self) -> None:
        """Remove the folder, then its lock."""
        super().cleanup()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def keep_folder(path: str) -> None:
    """Keep a folder that this process uses until it ends, if it is one that would be removed."""
    with suppress(OSError):
        fcntl.flock(os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_NOFOLLOW), fcntl.LOCK_SH | fcntl.LOCK_NB)


@functools.cache  # once in a process
def remove_abandoned() -> None:
    """Remove this user's folders that no process uses. Folders without a lock stay, and whatever cannot be removed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
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
