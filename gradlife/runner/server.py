"""The parent's side of a fork server: starts it, hands it jobs, replaces it when a story took it down."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any

from gradlife.errors import GradlifeError
from gradlife.runner.worker.boot import boot_arguments
from gradlife.runner.worker.framework import CHILD_ENVIRONMENT

#: How long a framework may take to import, and an answer to come after a job's own limit, in seconds.
START_LIMIT = 180.0
GRACE = 30.0


class ServerError(GradlifeError):
    """A fork server that does not come up: its framework can't be imported."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended, and what it reported until then."""

    exit_code: int
    timed_out: bool
    overflowed: bool
    output: str
    records: tuple[dict[str, Any], ...]
    is_garbled: bool  # something else than records was written on the lab's descriptor


class ForkServer:
    """One warm interpreter with one framework module imported; none (empty name) only lists scenario files."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.about: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._stream: io.BufferedReader | None = None
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> ForkServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the server if it does not run, and wait until its framework is imported."""
        if self._process is not None:
            return
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        with theirs:
            self._process = subprocess.Popen(
                boot_arguments("serve", {"descriptor": theirs.fileno(), "module": self.module}),
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=(theirs.fileno(),),
                env={**os.environ, **CHILD_ENVIRONMENT},
                start_new_session=True,
            )
        self._connection = ours
        ours.settimeout(START_LIMIT)
        self._stream = ours.makefile("rb")
        self.about = self._receive() or {"kind": "broken", "error": self._last_words()}
        if self.about["kind"] != "ready":
            self.close()
            raise ServerError(f"{self.module} can't be imported: {self.about['error']}")

    def do(self, job: dict[str, Any], limit: float) -> Ended:
        """Do one job in a child. If the server dies too, that is the child's crash; the next job gets a new server."""
        self.start()
        assert self._stream is not None
        assert self._connection is not None
        self._connection.settimeout(limit + GRACE)
        try:
            self._connection.sendall(json.dumps({**job, "limit": limit}).encode("ascii") + b"\n")
            ended = self._receive()
            data = self._stream.read(ended["size"]) if ended is not None else b""
        except (OSError, ValueError):
            ended, data = None, b""
        if ended is None:
            return self._lost()
        records, is_garbled = parse_records(data)
        return Ended(
            ended["exit_code"], ended["timed_out"], ended["overflowed"], ended["output"], tuple(records), is_garbled
        )

    def kill(self) -> None:
        """End the server and its child at once, from any thread; whoever waits for an answer gets the child's crash."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Hang up and wait for the server to end."""
        for stream in (self._stream, self._connection):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        if self._process is not None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._errors is not None:
            self._errors.close()
        self._process = self._connection = self._stream = self._errors = None

    def _receive(self) -> dict[str, Any] | None:
        """The server's next message; None if it is gone."""
        assert self._stream is not None
        try:
            line = self._stream.readline()
        except OSError:
            return None
        return json.loads(line) if line.endswith(b"\n") else None

    def _lost(self) -> Ended:
        """What is said of a child whose server died or fell silent."""
        assert self._process is not None
        self._process.kill()
        code = self._process.wait()
        words = self._last_words()
        self.close()
        return Ended(code, False, False, f"the story took its fork server down\n{words}", (), False)

    def _last_words(self) -> str:
        """The end of what the server itself printed."""
        assert self._errors is not None
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 2000))
        return self._errors.read().decode("utf-8", "replace").strip() or "it ended without a word"


def parse_records(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The records among the lines that a child wrote on its descriptor, and whether there was anything else."""
    records, is_garbled = [], False
    for line in data.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            is_garbled = True
            continue
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            records.append(record)
        else:
            is_garbled = True
    return records, is_garbled
