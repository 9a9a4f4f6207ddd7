"""What `gradlife hunt` prints of a report that is known before the program ends, and of the one at its end."""

from __future__ import annotations

import argparse
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fabricated_hunts import CLEAN
from gradlife.cli.hunt import Show, finish
from gradlife.hunting.run.parent import Result
from gradlife.model.hunt import HuntReport


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
