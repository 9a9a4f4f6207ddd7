"""A child is killed at its time limit, and one that has ended is not called late."""

from __future__ import annotations

import os
import sys

import pytest

from gradlife.runner.worker.supervisor import Supervision
from processes import comes_true

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")


def supervised(kind: type[Supervision], limit: float, end: int) -> Supervision:
    """A child that ends with status 7 when it can read from this descriptor."""
    result_end, result = os.pipe()
    output_end, output = os.pipe()
    child = os.fork()
    if not child:
        os.read(end, 1)
        os._exit(7)
    os.close(result)
    os.close(output)
    return kind(child, result_end, output_end, limit)


def state_of(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_child_that_ended_while_its_supervisor_was_not_running_is_not_late() -> None:
    """On a busy machine a story that took a moment was reported as "not done after 60 s"."""
    end, ask = os.pipe()

    class Sleepy(Supervision):
        def _gather(self) -> None:
            os.write(ask, b"!")
            assert comes_true(lambda: state_of(self.pid) == "Z")

    ended = supervised(Sleepy, 0.0, end).run()
    os.close(end)
    os.close(ask)
    assert (ended["timed_out"], ended["exit_code"]) == (False, 7)


def test_a_child_that_runs_on_is_killed_at_its_limit() -> None:
    end, ask = os.pipe()
    ended = supervised(Supervision, 0.0, end).run()
    os.close(end)
    os.close(ask)
    assert (ended["timed_out"], ended["exit_code"]) == (True, -9)
