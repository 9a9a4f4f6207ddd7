"""Verdicts from before and after a collection; lines that are said while the interpreter ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gradlife.probes.exit import EXIT_MARK
from gradlife.probes.liveness import verdict_of


@pytest.mark.parametrize(
    ("before", "after", "is_held", "verdict"),
    [
        (False, False, False, "del"),
        (True, False, False, "gc"),
        (True, True, False, "never"),
        (True, True, True, "held"),
        (None, True, False, "inconclusive"),
        (True, None, False, "inconclusive"),
    ],
)
def test_a_verdict_is_named_by_life_before_and_after_a_collection(
    before: bool | None, after: bool | None, is_held: bool, verdict: str
) -> None:
    assert verdict_of(before, after, is_held) == verdict


def test_a_finalizer_that_runs_last_is_still_heard() -> None:
    code = """
import sys
from gradlife.probes.exit import say_at_exit
class Last:
    def __del__(self, say=say_at_exit):
        say("gone")
sys.last = Last()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (0, f"{EXIT_MARK}gone\n")
