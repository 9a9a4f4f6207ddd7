"""The parent's side of a fork server: start it, send it jobs, replace it if a story killed it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from gradlife.environments.ask_interpreter import CHILD_VARIABLES, child_environment, reason_of
from gradlife.environments.child_lines import LineReader, Silence
from gradlife.errors import GradlifeError, shortened
from gradlife.runner.worker.boot import boot_arguments, foreign_boot_arguments
from gradlife.runner.worker_archive import rest_of_package, write_archive

#: Seconds for the import of a framework, and for an answer after a job's time limit.
START_LIMIT = 180.0
GRACE = 30.0

#: Characters kept of the error that stopped an import.
ERROR_LIMIT = 400


class ServerError(GradlifeError):
    """The fork server did not start: its framework cannot be imported."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended, and its records."""

    exit_code: int
    timed_out: bool
    overflowed: bool
    output: str
    records: tuple[dict[str, Any], ...]
    is_garbled: bool  # something other than records was written to the lab's descriptor


class ForkServer:
    """A warm interpreter with one framework module imported; with an empty name it only lists scenario files.

    interpreter: the path of another interpreter, which gets the worker's source from here; abi: its ABI.
    """

    def __init__(self, module: str, interpreter: str = "", abi: str = "") -> None:
        self.module = module
        self.about: dict[str, Any] = {}
        self._interpreter = interpreter
        self._abi = abi
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._reader: LineReader | None = None

    def __enter__(self) -> ForkServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the server if it does not run, and wait for the import of its framework."""
        if self._process is not None:
            return
        self._launch()
        self.about = self._receive(START_LIMIT) or {"kind": "broken", "error": self._last_words()}
        if self.about.get("kind") != "ready":
            self.close()
            error = " ".join(str(self.about.get("error")).split())
            raise ServerError(f"{self.module} can't be imported: {shortened(error, ERROR_LIMIT)}")

    def do(self, job: dict[str, Any], limit: float) -> Ended:
        """Do one job in a child. If the server dies too, that is reported as the child's crash; the next job gets a new
        server.
        """
        self.start()
        assert self._reader is not None
        assert self._connection is not None
        self._connection.settimeout(limit + GRACE)
        try:
            self._connection.sendall(json.dumps({**job, "limit": limit}).encode("ascii") + b"\n")
            ended = self._receive(limit + GRACE)
            return self._lost() if ended is None else ended_of(ended, self._reader.exactly(ended["size"], GRACE))
        except (OSError, Silence, KeyError, TypeError):
            return self._lost()

    def kill(self) -> None:
        """Kill the server and its child, from any thread; whoever waits for an answer gets the child's crash."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Hang up and wait for the server to end."""
        if self._connection is not None:
            with contextlib.suppress(OSError):  # the reader uses the same socket
                self._connection.shutdown(socket.SHUT_RDWR)
            self._connection.close()
        if self._process is not None:
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._reader is not None:
            self._reader.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._connection = self._reader = self._folder = None

    def _launch(self) -> None:
        """Start the process. Its output is read during every wait, and only the end is kept."""
        ours, theirs = socket.socketpair()
        output, theirs_output = os.pipe()
        self._connection, self._reader = ours, LineReader(os.dup(ours.fileno()), output)
        try:
            command = self._command({"descriptor": theirs.fileno(), "module": self.module})
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=theirs_output,
                stderr=theirs_output,
                pass_fds=(theirs.fileno(),),
                env={**self._environment(), **CHILD_VARIABLES},
                cwd=self._folder.name if self._folder is not None else None,
                start_new_session=True,
            )
        except OSError as error:
            self.close()
            raise ServerError(f"{self._interpreter} does not start: {reason_of(error)}") from None
        finally:
            theirs.close()
            os.close(theirs_output)

    def _command(self, order: dict[str, Any]) -> list[str]:
        if not self._interpreter:
            return boot_arguments("serve", order)
        archive = write_archive(self._own_folder())
        return foreign_boot_arguments(self._interpreter, archive, rest_of_package(self._abi), order)

    def _own_folder(self) -> str:
        """Make a temporary folder for the worker's source, and for files that a framework writes at start, such as
        OneFlow's log.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="gradlife-worker-", ignore_cleanup_errors=True)
        return self._folder.name

    def _environment(self) -> dict[str, str]:
        return child_environment(self._interpreter) if self._interpreter else dict(os.environ)

    def _receive(self, limit: float) -> dict[str, Any] | None:
        """Return the server's next message; None if the server is gone, late, or sends something else."""
        assert self._reader is not None
        try:
            message = json.loads(self._reader.line(limit))
        except (Silence, ValueError):
            return None
        return message if isinstance(message, dict) else None

    def _lost(self) -> Ended:
        """Describe a child whose server died or stopped answering."""
        assert self._process is not None
        self._process.kill()
        code = self._process.wait()
        words = self._last_words()
        self.close()
        return Ended(code, False, False, f"the story killed its fork server\n{words}", (), False)

    def _last_words(self) -> str:
        """Return the end of the server's own output."""
        assert self._reader is not None
        return self._reader.last_words() or "it ended without output"


def ended_of(ended: dict[str, Any], data: bytes) -> Ended:
    """Build a child's end from the server's message and the records after it."""
    records, is_garbled = parse_records(data)
    return Ended(
        ended["exit_code"], ended["timed_out"], ended["overflowed"], ended["output"], tuple(records), is_garbled
    )


def parse_records(data: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the records among a child's lines, and whether there was anything else."""
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
