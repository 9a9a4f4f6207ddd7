"""Slices of `make file-mutants`, and that it notices a file which kills its reader."""

from __future__ import annotations

import os
import signal

import pytest

from benchmarks.hardening import mutants, mutants_of_files, mutants_of_json


def test_every_mutant_is_refused_with_one_line_or_answered() -> None:
    outcomes = mutants.outcomes_of(list(range(200, 260)), mutants_of_files.try_mutant)
    assert len(outcomes) == 60
    assert set(outcomes) == {"refused", "answered"}


def test_every_mutant_of_a_json_file_is_refused_with_one_line_or_answered() -> None:
    outcomes = mutants.outcomes_of(list(range(400)), mutants_of_json.try_mutant)
    assert len(outcomes) == 400
    assert set(outcomes) == {"refused", "answered"}


@pytest.mark.parametrize(("number", "said"), [(signal.SIGSEGV, "died with -11"), (signal.SIGALRM, "hung")])
def test_mutant_that_kills_its_reader_is_wrong(number: signal.Signals, said: str) -> None:
    def die(seed: int, folder: object) -> str:
        if seed == 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        return "answered"

    assert mutants.outcomes_of([0, 1, 2], die) == ["answered", f"wrong: {said}"]
