"""Slices of `make file-mutants`, and that it notices a file which kills its reader."""

from __future__ import annotations

import os
import signal

import pytest

from benchmarks.hardening import mutants, mutants_of_files, mutants_of_json, mutants_of_pickles


def test_every_mutant_is_refused_with_one_line_or_answered() -> None:
    mutants_of_files.read_one_that_is_whole()
    outcomes = mutants.outcomes_of(list(range(200, 260)), mutants_of_files.try_mutant)
    assert len(outcomes) == 60
    assert set(outcomes) == {"refused", "answered"}


def test_every_mutant_of_a_json_file_is_refused_with_one_line_or_answered() -> None:
    mutants_of_json.read_each_that_is_whole()
    outcomes = mutants.outcomes_of(list(range(400)), mutants_of_json.try_mutant)
    assert len(outcomes) == 400
    assert set(outcomes) == {"refused", "answered"}


def test_every_mutant_of_a_pickle_is_refused_with_one_line_or_answered() -> None:
    mutants_of_pickles.show_one_that_is_whole()
    outcomes = mutants.outcomes_of(list(range(400)), mutants_of_pickles.try_mutant)
    assert len(outcomes) == 400
    assert set(outcomes) == {"refused", "answered"}


@pytest.mark.parametrize("text", ["a\x1b[31m", "\u202ea", "  ::error::x", "x ##[error]x", "a\rb"])
def test_an_output_that_acts_on_its_reader_is_noticed(text: str) -> None:
    with pytest.raises(mutants.Harmful):
        mutants.check(f"a line\n{text}\n", "terminal")


@pytest.mark.parametrize(("number", "said"), [(signal.SIGSEGV, "died with -11"), (signal.SIGALRM, "hung")])
def test_mutant_that_kills_its_reader_is_wrong(number: signal.Signals, said: str) -> None:
    def die(seed: int, folder: object) -> str:
        if seed == 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        return "answered"

    assert mutants.outcomes_of([0, 1, 2], die) == ["answered", f"wrong: {said}"]
