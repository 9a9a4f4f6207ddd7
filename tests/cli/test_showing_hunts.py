"""What `gradlife hunt` prints of a report that is known before the program ends, and of the one at its end."""

from __future__ import annotations

import argparse
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fabricated_hunts import CLEAN, LEAKING, LOSSES, hunt
from gradlife.cli.hunt import Show, finish
from gradlife.model.hunt import HuntReport
from gradlife.model.ranks import SharedLeftover
from gradlife.program.hunt.shared_ledger import leftover_finding
from gradlife.program.parent import Result


def screens(early: HuntReport, last: HuntReport, capsys: pytest.CaptureFixture[str]) -> int:
    show = Show(argparse.Namespace(full=False, github=False), is_script=True, is_stdout_taken=False)
    show.answer(early)
    outputs: Any = SimpleNamespace(write=lambda *given, **options: None)
    finish(Result(0, last, was_killed=False), show, outputs, "major")
    return capsys.readouterr().err.count("train.py")


def test_a_trouble_that_was_shown_is_not_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    once = screens(CLEAN, CLEAN, capsys)
    in_doubt = replace(CLEAN, trouble="growth whose cause was not found")
    assert screens(in_doubt, in_doubt, capsys) == once
    assert screens(CLEAN, in_doubt, capsys) == 2 * once


def test_a_finding_of_the_end_is_shown_after_a_leak_that_was_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """What the program left in shared memory is known at its end; it was in the files only."""
    left = leftover_finding((SharedLeftover("/dev/shm/psm_0a1b", "SharedMemory", 80 << 20, "the program"),))
    once = screens(LEAKING, LEAKING, capsys)
    assert screens(LEAKING, replace(LEAKING, findings=(*LEAKING.findings, left)), capsys) > once
    assert screens(hunt(LOSSES, left), hunt(left, LOSSES), capsys) == screens(hunt(LOSSES, left), hunt(LOSSES), capsys)
