"""Run work in a forked child: a crash or an endless program is a result."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Died:
    """The end of a child without a result."""

    signal: int

    @property
    def text(self) -> str:
        if self.signal == signal.SIGALRM:
            return "did not end"
        return signal.strsignal(self.signal) or f"signal {self.signal}" if self.signal else "ended without a result"


@dataclass(frozen=True)
class Child:
    """A child at work."""

    pid: int
    reading: int

    def result(self) -> Any:
        """Wait for the work's result; `Died` if there is none."""
        with os.fdopen(self.reading, "rb") as pipe:
            data = pipe.read()
        status = os.waitpid(self.pid, 0)[1]
        if status == 0 and data:
            return pickle.loads(data)  # from our own child
        return Died(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


def start_child(work: Callable[[], Any], seconds: int = 0) -> Child:
    """Start the work in a child; kill it after `seconds`."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        run_as_child(work, writing, seconds)
    os.close(writing)
    return Child(pid, reading)


def in_child(work: Callable[[], Any], seconds: int = 0) -> Any:
    """Return the plain values that the work returns, or `Died`."""
    return start_child(work, seconds).result()


def run_as_child(work: Callable[[], Any], writing: int, seconds: int) -> None:
    status = 1
    faulthandler.disable()  # only its own end matters, not that of the process it was forked from
    try:
        signal.alarm(seconds)
        data = pickle.dumps(work())
        signal.alarm(0)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
