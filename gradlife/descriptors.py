"""Descriptors of gradlife in the program's process: out of its way, as the program's files get the lowest free numbers."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import socket
from contextlib import suppress

#: The number from which on they are, if the process may have as many; `select` takes numbers below 1,024.
FIRST = 800

#: Error numbers of a process, or a system, that may open no more files.
NONE_LEFT = frozenset({errno.EMFILE, errno.ENFILE})


def move_up(descriptor: int) -> int:
    """Return a high number for an open file, whose low one is closed. It stays where it is if the process may have no higher
    one. Programs that the process starts do not inherit it.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    least = FIRST if limit in {-1, resource.RLIM_INFINITY} or limit > FIRST + FIRST // 8 else limit * 3 // 4
    with suppress(OSError):
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)
        os.close(descriptor)
        return moved
    return descriptor


def pipe() -> tuple[int, int]:
    """Make a pipe with high numbers; return the ends for reading and writing."""
    reading, writing = os.pipe()
    return move_up(reading), move_up(writing)


def moved_socket(made: socket.socket) -> socket.socket:
    """Return the same socket under a high number."""
    timeout = made.gettimeout()
    moved = socket.socket(fileno=move_up(made.detach()))
    moved.settimeout(timeout)
    return moved


__all__ = ["NONE_LEFT", "move_up", "moved_socket", "pipe"]
