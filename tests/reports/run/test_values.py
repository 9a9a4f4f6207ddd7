from __future__ import annotations

import pytest

from gradlife.model.comparison import MISSING
from gradlife.reports.values import Notes, contrast, counted, letters, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (None, "None"),
        (3, "3"),
        (0.5, "0.5"),
        (1e-9, "1e-09"),
        ("two\n lines", "two lines"),
        ("", '""'),
        ([1, "x"], '[1, "x"]'),
        ({"a": None}, '{"a": null}'),
        (MISSING, "-"),
    ],
)
def test_a_value_is_one_line_of_text(value: object, text: str) -> None:
    assert plain(value) == text


def test_a_long_value_gets_a_letter_and_keeps_it() -> None:
    notes = Notes(4)
    assert [notes.short(value) for value in ("four", "fives", "sixth", "fives")] == ["four", "(a)", "(b)", "(a)"]
    assert notes.lettered == [("(a)", "fives"), ("(b)", "sixth")]


def test_letters_go_on_after_z() -> None:
    assert [letters(number) for number in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        "a", "z", "aa", "ab", "az", "ba", "zz", "aaa",
    ]  # fmt: skip


def test_a_count_has_its_noun() -> None:
    assert counted(1, "story", "stories") == "1 story"
    assert counted(2000, "story", "stories") == "2,000 stories"
    assert counted(0, "system") == "0 systems"


def test_short_values_are_set_against_each_other_whole() -> None:
    assert contrast("never", None) == ("never", "None")


def test_long_values_are_shown_where_they_begin_to_differ() -> None:
    same = "x" * 200
    one, other = contrast(f"{same}1st{same}", f"{same}other")
    assert one == "..." + "x" * 40 + "1st" + "x" * 57 + "..."
    assert other == "..." + "x" * 40 + "other"
