"""The gradients that a failed backward had ready and did not run: who owns them until they are freed."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

from gradlife import engine
from processes import comes_true

FAILED = """
from gradlife import engine
older, younger = (engine.tensor([2.0], requires_grad=True) for _ in range(2))
class Held(list): pass
held = Held()
first, second = older * older, younger * 2
first.register_hook(lambda gradient, held=held: None)
second.register_hook(lambda gradient: 1 / 0)
try:
    engine.autograd.backward([first.sum(), second.sum()])
except ZeroDivisionError:
    print("failed")
"""


class Held(list[Any]):
    """The object that a hook keeps: it takes weak references, and no profile gives it a life of its own."""


def fail(seen: list[weakref.ref[Any]]) -> None:
    """Leaves the graph behind one root queued, and what a hook of it keeps."""
    older, younger = (engine.tensor([2.0], requires_grad=True) for _ in range(2))
    first, second = older * older, younger * 2
    held = Held()
    seen.append(weakref.ref(held))
    first.register_hook(lambda gradient, held=held: None)
    second.register_hook(lambda gradient: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        engine.autograd.backward([first.sum(), second.sum()])


@pytest.mark.parametrize(
    ("profile", "is_left"),
    [("torch-1.2", False), ("torch-1.9", True), ("torch-2.13", True), ("oneflow-0.9", False)],
)
def test_graph_of_a_failed_backward_stays_queued_from_torch_1_6_on(profile: str, is_left: bool) -> None:
    seen: list[weakref.ref[Any]] = []
    with engine.profile(profile):
        fail(seen)
        assert (seen[0]() is not None) is is_left
        engine.tensor(1.0, requires_grad=True).backward()
    assert seen[0]() is None


def test_micrograd_has_no_queue() -> None:
    seen: list[weakref.ref[Any]] = []
    with engine.profile("micrograd"):
        fail(seen)
        gc.collect()  # its results keep themselves
        assert seen[0]() is None


def test_thread_that_ends_lets_go_of_what_its_backward_left_queued() -> None:
    seen: list[weakref.ref[Any]] = []
    thread = threading.Thread(target=fail, args=(seen,))
    thread.start()
    thread.join()
    # The thread of Python is joined before that of the system has ended, and it is the latter that keeps the queue.
    assert comes_true(lambda: seen[0]() is None)


def test_interpreter_that_exits_with_a_queued_graph_says_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", FAILED], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout, done.stderr) == (0, "failed\n", "")
