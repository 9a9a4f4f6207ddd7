"""A slice of `make file-mutants`, and that it notices a file which kills its reader."""

from __future__ import annotations

import os
import signal

import pytest

from benchmarks.hardening import mutants_of_files as mutants


def test_every_mutant_is_refused_with_one_line_or_answered() -> None:
    outcomes = mutants.outcomes_of(list(range(200, 260)))
    assert len(outcomes) == 60
    assert set(outcomes) == {"refused", "answered"}


@pytest.mark.parametrize(("number", "said"), [(signal.SIGSEGV, "died with -11"), (signal.SIGALRM, "hung")])
def test_mutant_that_kills_its_reader_is_wrong(
    number: signal.Signals, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(seed: int, folder: object) -> str:
        if seed == 1:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        return "answered"

    monkeypatch.setattr(mutants, "try_mutant", die)
    assert mutants.outcomes_of([0, 1, 2]) == ["answered", f"wrong: {said}"]
