"""Lines of JSON over a Unix socket between a process and the side that attaches to it.

A request names an action. The answer is any number of progress lines, and one last line with a result or an error.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

from gradlife.errors import GradlifeError, UsageError

#: The version of the protocol, which must be the same on both sides.
VERSION = 2

Message = dict[str, Any]


class AttachError(GradlifeError):
    """A process cannot be reached, or ended while gradlife was attached to it."""


class Gone(AttachError):
    """The other side no longer listens."""


class Channel:
    """One end of the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def send(self, **message: Any) -> None:
        """Send one message; raise Gone if nobody listens any more."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            raise Gone("the other side has gone", hint="attach again: gradlife attach PID") from None

    def receive(self) -> Message | None:
        """Return the next message; None at the end of the connection."""
        try:
            line = self._lines.readline()
        except OSError:
            return None
        if not line.endswith(b"\n"):
            return None
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()
        self._connection.close()


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
