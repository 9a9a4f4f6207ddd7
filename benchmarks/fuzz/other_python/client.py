"""The second system as seen from the fuzzer: programs go to the server, worlds replay their traces."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.fuzz.program import Program
from gradlife.environments.ask_interpreter import ONE_THREAD, ask, child_environment

ROOT = Path(__file__).parents[3]


class Elsewhere:
    """A framework in another interpreter. Each process that asks has a connection of its own."""

    def __init__(self, python: str, framework: str = "torch") -> None:
        major, minor = ask(python, framework).version.split(".")[:2]
        self.release = int(major), int(minor)
        self._folder = tempfile.TemporaryDirectory(prefix="gradlife-")
        self._path = os.path.join(self._folder.name, "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self._path)
            listening.listen()
            self._process = subprocess.Popen(
                [python, "-m", f"{__package__}.server", str(listening.fileno()), framework],
                pass_fds=(listening.fileno(),),
                cwd=ROOT,
                env={**child_environment(python), **ONE_THREAD},
            )
        self._owner = 0

    def world(self, program: Program) -> Replayed:
        """Run a whole program there."""
        if self._owner != os.getpid():
            self._connect()
        texts = [step.text for step in program.steps]
        try:
            pickle.dump((texts, program.looks, program.storages), self._questions)
            self._questions.flush()
            return Replayed(pickle.load(self._answers), self.release)  # from a child of our own
        except (EOFError, OSError):
            os.kill(os.getpid(), signal.SIGKILL)  # a crash there is one of this child, as with a framework here
            raise

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._path)
        self._questions, self._answers = connection.makefile("wb"), connection.makefile("rb")
        self._owner = os.getpid()

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


class Replayed:
    """The world of a program that was run elsewhere: what it showed, one step or stage after another."""

    def __init__(self, trace: list[tuple[str, Any]], release: tuple[int, int]) -> None:
        self._trace = trace
        self.release = release
        self.number = 0

    def run(self, number: int, text: str) -> str:
        """Return what the step raised, or ""."""
        self.number = number
        return self._trace[number][0]

    def seen(self) -> Any:
        """Return what was seen after this step or stage."""
        return self._trace[self.number][1]

    def do(self, stage: str) -> None:
        """Nothing: the stage is over."""

    def end(self) -> None:
        """Nothing: the program has ended."""
