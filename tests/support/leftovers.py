"""Checks that a test leaves no engine objects behind, and child processes for tests that do.

A test leaves no live engine object unless it says so: `@leaves(tensor=2, node=1)`. One that does runs in a child, so
that what it leaves dies with it; the counts must then be exactly those declared. The conftest applies both rules.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import pytest

leaves = pytest.mark.leaves
T = TypeVar("T")
Counts = Mapping[str, int]

# The event log is a bounded record of what happened, not something alive.
NOT_OBJECTS = ("event", "events")


class ChildFailed(AssertionError):
    """The function raised in the child; the text is its traceback there."""


class ChildDied(AssertionError):
    """The child ended without an answer: a signal, an exit status, or the time limit."""


def live_counts() -> dict[str, int]:
    """Live engine objects by kind once the collector has run; nothing where the engine was never loaded."""
    engine = sys.modules.get("gradlife.engine")
    if engine is None:
        return {}
    gc.collect()
    gc.collect()
    return {kind: count for kind, count in engine.live_counts().items() if kind not in NOT_OBJECTS}


def difference(before: Counts, after: Counts) -> dict[str, int]:
    """Return how many more objects of each kind there are now, without kinds that did not change."""
    kinds = sorted({*before, *after})
    changes = {kind: after.get(kind, 0) - before.get(kind, 0) for kind in kinds}
    return {kind: change for kind, change in changes.items() if change}


def run_in_child(function: Callable[..., T], *args: Any, timeout: float = 900.0) -> T:
    """The function's result, computed in a forked child; it must be picklable."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # a child of a process with threads: the child runs one function and leaves by os._exit
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(writer, function, args)
    os.close(writer)
    answer, in_time = _read_all(reader, timeout)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not in_time:
        raise ChildDied(f"the child was still running after {timeout:g} s")
    return cast(T, _result(answer, os.waitstatus_to_exitcode(status)))


def run_script(text: str, *args: str, timeout: float = 900.0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python source in a fresh interpreter; the caller looks at its exit status, stdout and stderr."""
    command = [sys.executable, "-c", text, *args]
    env = {**os.environ, **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def _answer(writer: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """In the child: run, send the pickled outcome, and end without touching the parent's buffers and exit handlers."""
    try:
        try:
            outcome = pickle.dumps((True, function(*args)))
        except BaseException:  # the parent is the one to judge it, even a KeyboardInterrupt
            outcome = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(writer, "wb") as stream:
            stream.write(outcome)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _read_all(reader: int, timeout: float) -> tuple[bytes, bool]:
    deadline = time.monotonic() + timeout
    chunks: list[bytes] = []
    with os.fdopen(reader, "rb", buffering=0) as stream:
        while select.select([stream], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = stream.read(1 << 16)
            if not chunk:
                return b"".join(chunks), True
            chunks.append(chunk)
    return b"".join(chunks), False


def _result(answer: bytes, exit_code: int) -> Any:
    if exit_code < 0:
        raise ChildDied(f"the child died of {signal.Signals(-exit_code).name}")
    if not answer:
        raise ChildDied(f"the child ended with exit status {exit_code} and no answer")
    succeeded, value = pickle.loads(answer)
    if not succeeded:
        raise ChildFailed(value)
    return value
