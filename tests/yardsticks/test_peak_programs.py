"""The programs of `make bench-peak`: an edit saves what was predicted, a program without its unread memory has as much
less, and a clean program gets no saving."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.peak.measured import (
    CLEAN,
    NOTHING,
    UNREAD,
    WASTEFUL,
    Outcome,
    outcomes,
    peak_of,
    programs,
    unread_outcome,
)

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_there_are_programs_of_each_kind() -> None:
    assert [len(programs(one)) for one in (WASTEFUL, UNREAD, CLEAN)] == [40, 7, 30]


def test_an_outcome_is_right_within_3_per_cent() -> None:
    assert Outcome("", 103, 100).is_right
    assert not Outcome("", 104, 100).is_right


@pytest.mark.parametrize("path", programs(WASTEFUL), ids=lambda path: path.stem)
def test_edits_save_what_was_predicted_alone_and_together(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = list(outcomes(text, peak_of(text)))
    assert len(found) > 1
    assert [one for one in found if not one.is_right] == []


@pytest.mark.parametrize("path", programs(UNREAD), ids=lambda path: path.stem)
def test_unread_memory_is_no_saving_and_the_peak_is_as_much_lower_without_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    report = peak_of(text)
    found = unread_outcome(text, report)
    assert report.savings == ()
    assert found.predicted == found.measured > 0


@pytest.mark.parametrize("path", programs(CLEAN), ids=lambda path: path.stem)
def test_there_is_nothing_to_save_in_a_clean_program(path: Path) -> None:
    report = peak_of(path.read_text(encoding="utf-8"))
    assert report.saved_bytes <= NOTHING * report.peak_bytes
    assert report.savings == ()
