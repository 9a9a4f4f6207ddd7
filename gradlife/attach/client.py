"""The attaching side: connects to a process, requests a hunt or a snapshot, and detaches."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from gradlife._version import __version__
from gradlife.attach.bootstrap import expression, script
from gradlife.attach.debugger import inject
from gradlife.attach.processes import Target, find_target
from gradlife.attach.protocol import (
    VERSION,
    AttachError,
    Channel,
    Message,
    error_of,
    folder_for_sockets,
    peer_of,
    socket_paths,
)
from gradlife.attach.remote_exec import request, runs_on_request, withdraw
from gradlife.errors import UsageError
from gradlife.hunting.process.own_folders import ATTACH, OwnFolder
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport
from gradlife.model.peak import codec as peak_codec
from gradlife.model.peak.report import PeakReport
from gradlife.model.watching.look import Look
from gradlife.output import reason
from gradlife.program.hunt.running import Progress, Terms
from gradlife.readable import readable

#: Seconds for a process to connect after it was given the code.
PATIENCE = 60.0


#: Seconds for the main thread of a process to run what it was asked to. Then a debugger is tried.
PATIENCE_WITH_REQUEST = 5.0


class Unanswered(UsageError):
    """No process listens at a socket."""


class Session:
    """A process that gradlife is attached to. Leaving the block detaches."""

    def __init__(self, channel: Channel, target: Target | None, stopped_seconds: float = 0.0, title: str = "") -> None:
        self._channel = channel
        self._target = target
        self._title = title
        self.stopped_seconds = stopped_seconds  # stopped by a debugger; 0 without one
        self.pid = 0
        try:
            self._greet()
        except BaseException:
            channel.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Detach."""
        self._channel.close()

    @property
    def title(self) -> str:
        """The name of the process in reports."""
        return self._title or (self._target.title if self._target is not None else f"process {self.pid}")

    def hunt(self, terms: Terms, command: str, heard: Callable[[Progress], object]) -> HuntReport:
        """Hunt in the process. ``command``: what the report advises to type for more."""
        self._channel.send(do="hunt", target=self.title, command=command, terms=asdict(terms))
        while "progress" in (message := self._next()):
            heard(Progress(**message["progress"]))
        return hunt_codec.loads(message["report"])

    def peak(self, terms: Terms, heard: Callable[[Progress], object]) -> PeakReport:
        """Record a few steps of the process, and report its peak memory."""
        self._channel.send(do="peak", target=self.title, terms=asdict(terms))
        while "progress" in (message := self._next()):
            heard(Progress(**message["progress"]))
        return peak_codec.loads(message["report"])

    def follow(
        self,
        terms: Terms,
        every: float,
        command: str,
        *,
        progress: Callable[[Progress], object],
        look: Callable[[Look], object] | None,
        report: Callable[[HuntReport], object],
    ) -> None:
        """Watch the process until it ends or the time is up: a report per round, and with ``look`` a measurement every
        ``every`` seconds.
        """
        request = {"target": self.title, "command": command, "terms": asdict(terms), "every": every}
        self._channel.send(do="follow", measures=look is not None, **request)
        while (message := self._channel.receive()) is not None:
            if "progress" in message:
                progress(Progress(**message["progress"]))
            elif look is not None and "look" in message:
                look(Look.from_json(message["look"]))
            elif "interim" in message:
                report(hunt_codec.loads(message["interim"]))
            else:
                report(hunt_codec.loads(checked(message)["report"]))
                return

    def snapshot(self, path: Path, *, labels: bool = True, user_text: bool = False, native: bool = False) -> Message:
        """Make the process write a snapshot; return its ``objects`` and the ``pause_seconds`` of the program."""
        options = {"labels": labels, "user_text": user_text, "native": native}
        self._channel.send(do="snapshot", path=str(path.absolute()), options=options)
        return self._next()

    def _greet(self) -> None:
        hello = self._next()
        self.pid = int(hello["pid"])
        if hello.get("version") != VERSION:
            raise UsageError(
                f"the process has gradlife {hello.get('gradlife')}, and this is {__version__}",
                "the same gradlife on both sides",
            )

    def _next(self) -> Message:
        message = self._channel.receive()
        if message is None:
            raise AttachError(f"{self.title} has ended or closed the connection", "pgrep -af python")
        return checked(message)


def checked(message: Message) -> Message:
    """Return the message; raise the error that it reports."""
    if "error" in message:
        raise error_of({**message, "hint": message.get("hint") or hint_for(message)})
    return message


def hint_for(message: dict[str, Any]) -> str:
    """Explain how to attach to a process that cannot import gradlife; empty for other errors."""
    if "executable" not in message:
        return ""
    return f"gradlife attach --inject FOLDER, a folder with a gradlife for {message['executable']}"


def attach(pid: int, folder: str = "") -> Session:
    """Attach to a process by its own socket, its interpreter, or a debugger, in this order.

    The interpreter runs code on request if both sides have Python 3.14 or later, of the same version, and its main thread
    does not sleep. ``folder``: where gradlife is, for a process
    without it. Raises UsageError if the process cannot be attached to, AttachError if attaching failed.
    """
    target = find_target(pid)
    for path in socket_paths(target.pid):
        with suppress(Unanswered):  # there is no socket, or one that a dead process of the same number left behind
            return connect(path, target)
    with ExitStack() as stack:
        private = stack.enter_context(OwnFolder(ATTACH, folder_for_sockets()))
        path = os.path.join(private, "socket")
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listener.bind(path)
        listener.listen(1)
        place = os.path.abspath(folder) if folder else ""
        if runs_on_request(target):
            request(target, script(path, place), os.path.join(private, "script.py"))
            if readable([listener.fileno()], PATIENCE_WITH_REQUEST):
                return Session(greeting(accepted(listener, target), target.title), target)
            withdraw(target)
        stopped = inject(target, expression(path, place))
        return Session(greeting(accepted(listener, target), target.title), target, stopped)


def accepted(listener: socket.socket, target: Target) -> socket.socket:
    """Accept a connection from this process, and from no other."""
    if not readable([listener.fileno()], PATIENCE):
        raise AttachError(
            f"{target.title} did not answer in {PATIENCE:.0f} seconds: its main thread is in a long C call",
            "try again later",
        )
    connection, _ = listener.accept()
    if peer_of(connection)[0] != target.pid:
        connection.close()
        raise AttachError("another process answered", "try again")
    return connection


def connect(path: str, target: Target | None = None, title: str = "") -> Session:
    """Attach by a socket on which a process listens; Unanswered if none does. ``title``: its name in reports.

    Nothing is sent to another process than the target: in a folder for all users anybody may listen.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise Unanswered(f"nothing answers at {path}: {reason(error)}", "gradlife.serve() in the program") from None
    if target is not None and peer_of(connection)[0] != target.pid:
        connection.close()
        raise Unanswered(f"another process listens at {path}", "gradlife.serve() in the program")
    return Session(greeting(connection, title or (target.title if target is not None else path)), target, title=title)


def greeting(connection: socket.socket, title: str) -> Channel:
    """Wait for the first word of a process, and return the channel to it. AttachError if it says nothing for long."""
    if not readable([connection.fileno()], PATIENCE):
        connection.close()
        words = f"{title} did not answer in {PATIENCE:.0f} seconds: it is stopped, or another client is served"
        raise AttachError(words, "try again later")
    return Channel(connection, is_client=True)
