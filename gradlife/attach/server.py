"""`gradlife.serve()`: a process opens a socket, so that gradlife can attach without a debugger.

One thread waits at a Unix socket that only the same user can reach, and does nothing until a client connects.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import socket
import stat
import sys
import tempfile
import threading
import time

from gradlife.after_fork import after_fork
from gradlife.attach.protocol import Channel, Gone, peer_of, socket_folder, socket_path
from gradlife.descriptors import moved_socket
from gradlife.errors import UsageError
from gradlife.heap.program_modules import absolute
from gradlife.output import reason, say
from gradlife.own_thread import OwnThread

#: The environment variable that makes `import gradlife` start the server.
VARIABLE = "GRADLIFE_SERVE"

THREAD = "gradlife"

#: The name of a socket in the private folder where it is made.
SOCKET = "s"

#: Bytes of the longest path to which a client can connect.
LONGEST_PATH = 107 if sys.platform == "linux" else 103

#: Seconds that a client waits for the one before it to go.
PATIENCE = 30.0

#: Seconds until the next try if no connection can be accepted, for example because no descriptor is free.
RETRY = 1.0

#: Errors of a socket that was closed.
CLOSED = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)


class Server:
    """Listens on a socket, and serves one client at a time. Another one waits a while, then is refused."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._place = absolute(path)  # the program may change the folder
        self._pid = os.getpid()
        self._socket = bound(path)
        self._is_free = threading.Lock()
        self._thread = OwnThread(THREAD, self._serve)
        atexit.register(self.close)
        self._thread.start()

    def close(self) -> None:
        """Close the socket; a client that is being served is served to its end."""
        if os.getpid() != self._pid:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with contextlib.suppress(OSError):
            os.unlink(self._place)
        atexit.unregister(self.close)
        _servers.pop(self._place, None)

    def leave_copy(self) -> None:
        """Close a forked child's copy of the socket."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if error.errno in CLOSED:
                    return
                time.sleep(RETRY)
                continue
            if self._is_free.acquire(timeout=PATIENCE):
                self._start_serving(moved_socket(connection))
            else:
                refuse(connection)

    def _start_serving(self, connection: socket.socket) -> None:
        try:
            OwnThread(THREAD, lambda: self._serve_one(connection)).start()
        except RuntimeError:  # the process may start no more threads
            connection.close()
            self._is_free.release()

    def _serve_one(self, connection: socket.socket) -> None:
        try:
            serve_one(connection)
        finally:
            self._is_free.release()


_servers: dict[str, Server] = {}

#: The connections of clients that are being served.
_served: set[Channel] = set()


def leave_copies() -> None:
    """Close a forked child's copies of sockets and connections: the client waits for their end."""
    copies: list[Server | Channel] = [*_servers.values(), *_served]
    for one in copies:
        one.leave_copy()
    _servers.clear()
    _served.clear()


after_fork(leave_copies)


def serve(path: str | os.PathLike[str] | None = None) -> Server:
    """Let ``gradlife attach`` attach to this process without a debugger.

    ``path``: the Unix socket; ``gradlife attach PID`` finds the default by itself. The socket has mode 0600, and the
    default folder 0700. Costs one sleeping thread. Raises UsageError if the socket cannot be made.
    """
    place = os.fspath(path) if path is not None else own_door()
    key = absolute(place)  # the program may change the folder
    if key not in _servers:
        _servers[key] = Server(place)
    return _servers[key]


def serve_quietly() -> None:
    """Serve as the environment asks. If the socket cannot be opened, print a line and let the program start."""
    try:
        serve()
    except UsageError as error:
        say(f"gradlife: {VARIABLE}: {error}")


def serve_one(connection: socket.socket) -> None:
    """Answer one client of the same user or of root. Errors are sent to the client, never raised in the program."""
    channel = Channel(connection)
    _served.add(channel)
    try:
        if peer_of(connection)[1] in (os.geteuid(), 0):
            from gradlife.attach.service import answer_all  # imported late: most programs are never attached to

            answer_all(channel)
    except Exception as error:
        with contextlib.suppress(Gone):
            channel.send(error=f"it cannot use gradlife: {type(error).__name__}: {error}", executable=sys.executable)
    finally:
        _served.discard(channel)
        channel.close()


def refuse(connection: socket.socket) -> None:
    """Answer a client that another one is served."""
    channel = Channel(connection)
    with contextlib.suppress(Gone):
        channel.send(error="gradlife is attached to this process already", hint="again when the other client has gone")
    channel.close()


def own_door() -> str:
    """Return the path of this process's socket, in a folder that only this user can enter."""
    folder = socket_folder()
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {reason(error)}", "gradlife.serve(path)") from None
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UsageError(f"{folder} is open to other users", "gradlife.serve(path) in a folder of your own")
    sweep(folder)
    return socket_path(os.getpid())


def sweep(folder: str) -> None:
    """Remove the sockets of processes that were killed. One of another container may be alive: it is heard."""
    for name in os.listdir(folder) if os.path.isdir("/proc/self") else ():
        number, path = name.removesuffix(".sock"), os.path.join(folder, name)
        if number.isdecimal() and not os.path.exists(f"/proc/{number}") and not is_heard(path):
            with contextlib.suppress(OSError):
                os.unlink(path)


def bound(path: str) -> socket.socket:
    """Return a listening socket; one that an ended process left behind is replaced."""
    if os.path.lexists(path) and not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise UsageError(f"{path} exists and is no socket", "gradlife.serve(path) with a path that is free")
    made = moved_socket(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC))
    made.settimeout(None)  # the program may have a default
    try:
        if os.path.exists(path) and not is_heard(path):
            os.unlink(path)
        bind_privately(made, path)
        made.listen(1)
    except OSError as error:
        made.close()
        raise UsageError(
            f"cannot open a socket at {path}: {reason(error)}", "gradlife.serve(path) with a short path"
        ) from None
    return made


def bind_privately(made: socket.socket, path: str) -> None:
    """Bind a socket that nobody else can reach: it is made in a private folder, and linked to its path with the right mode.

    The first mode of a new socket depends on the umask, which would change for all threads of the program.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError("AF_UNIX path too long")
    folder = tempfile.mkdtemp(prefix=".gradlife-", dir=os.path.dirname(absolute(path)))
    inside = os.path.join(folder, SOCKET)
    place = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        made.bind(f"/proc/self/fd/{place}/{SOCKET}" if os.path.isdir("/proc/self/fd") else inside)
        os.chmod(inside, 0o600)
        os.link(inside, path)
    except FileExistsError:
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)) from None
    finally:
        os.close(place)
        with contextlib.suppress(OSError):
            os.unlink(inside)
        os.rmdir(folder)


def is_heard(path: str) -> bool:
    """Whether a process listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
