"""Lines of JSON over a Unix socket between a process and the side that attaches to it.

A request names an action. The answer is any number of progress lines, and one last line with a result or an error.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import tempfile
from contextlib import suppress
from typing import Any

from gradlife.descriptors import move_up
from gradlife.errors import GradlifeError, UsageError

#: The version of the protocol, which must be the same on both sides.
VERSION = 2

#: Bytes of the longest folder that still leaves room for a private folder and a socket in it: a path has 107 at most.
LONGEST_FOLDER = 64

#: Sending never raises SIGPIPE, which ends a program that has set it back to the default.
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)

Message = dict[str, Any]


class AttachError(GradlifeError):
    """A process cannot be reached, or ended while gradlife was attached to it."""


class Gone(AttachError):
    """The other side no longer listens."""


class Channel:
    """One end of the connection. With ``is_client``, the end of the other process is the end of the connection.

    A child that the other process has forked may keep its end open.
    """

    def __init__(self, connection: socket.socket, is_client: bool = False) -> None:
        connection.settimeout(None)  # the program may have a default
        self._connection = connection
        self._unread = bytearray()
        self._peer = process_at(connection) if is_client else None

    def send(self, **message: Any) -> None:
        """Send one message; raise Gone if nobody listens any more."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n", NO_SIGNAL)
        except OSError:
            raise Gone("the other side has gone", hint="attach again: gradlife attach PID") from None

    def receive(self) -> Message | None:
        """Return the next message; None at the end of the connection."""
        while b"\n" not in self._unread:
            try:
                piece = self._connection.recv(1 << 16) if self._has_more() else b""
            except OSError:
                return None
            if not piece:
                return None
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise AttachError("the other side does not speak gradlife's protocol", "the socket of gradlife.serve()")
        return message

    def _has_more(self) -> bool:
        """Wait for the other side. False: its process has ended, and all that it sent is read."""
        if self._peer is None:
            return True
        poll = select.poll()
        for one in (self._connection.fileno(), self._peer):
            poll.register(one, select.POLLIN)
        return any(one == self._connection.fileno() for one, _ in poll.poll())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        if self._peer is not None:
            os.close(self._peer)
            self._peer = None

    def leave_copy(self) -> None:
        """Close a forked child's copy of the connection. It takes no lock, which a thread that is gone might have."""
        with suppress(OSError):
            os.close(self._connection.detach())


def process_at(connection: socket.socket) -> int | None:
    """Return a descriptor of the process at the other end, which is readable once it has ended; None without one."""
    try:
        return move_up(os.pidfd_open(peer_of(connection)[0]))
    except (AttributeError, OSError):  # an older system, or a process of another container
        return None


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the process ID and user ID at the other end, as the system knows them."""
    answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, _ = struct.unpack("3i", answer)
    return pid, user


def error_of(message: Message) -> GradlifeError:
    """Return the error that the other side reports, as a UsageError or an AttachError."""
    kind = UsageError if message.get("is_usage") else AttachError
    return kind(str(message.get("error", "")), str(message.get("hint", "")))


def socket_folder() -> str:
    """Return the folder where this user's processes open their sockets."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base and os.path.isdir(base):
        return os.path.join(base, "gradlife")
    return f"/tmp/gradlife-{os.geteuid()}"


def folder_for_sockets() -> str | None:
    """Return where to make a temporary folder for a socket; None: in the usual place."""
    return None if len(os.fsencode(tempfile.gettempdir())) <= LONGEST_FOLDER else "/tmp"


def socket_paths(pid: int) -> list[str]:
    """Return where a process may listen. Its environment may have had another runtime folder than this one, or none."""
    try:
        user = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        user = os.geteuid()
    folders = (socket_folder(), f"/run/user/{user}/gradlife", f"/tmp/gradlife-{user}")
    return [os.path.join(folder, f"{pid}.sock") for folder in dict.fromkeys(folders)]


def socket_path(pid: int) -> str:
    """Return the path of the socket on which a process listens after `gradlife.serve()`."""
    return os.path.join(socket_folder(), f"{pid}.sock")
