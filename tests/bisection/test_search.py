"""The search for the first bad one: few hunts, and honest where some cannot be judged."""

from __future__ import annotations

import pytest

from gradlife.bisection.search import first_bad, most_hunts
from gradlife.model.bisection import Outcome


def searched(row: str) -> tuple[list[int], int]:
    """Search a row of g, b and s. Return what the first bad one may be, and the number of hunts."""
    seen: list[int] = []

    def judge(number: int) -> Outcome:
        assert number not in seen
        seen.append(number)
        return {"g": Outcome.GOOD, "b": Outcome.BAD, "s": Outcome.SKIPPED}[row[number]]

    return list(first_bad(len(row), judge)), len(seen)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 100])
def test_every_first_bad_one_is_found_in_a_row(count: int) -> None:
    for first in range(count):
        suspects, hunts = searched("g" * first + "b" * (count - first))
        assert suspects == [first]
        assert hunts <= most_hunts(count)


@pytest.mark.parametrize(
    ("row", "suspects"),
    [
        ("gsb", [1, 2]),
        ("gsgb", [3]),
        ("gssbb", [1, 2, 3]),
        ("ssb", [0, 1, 2]),
        ("gbsb", [1]),
        ("gggsssbbb", [3, 4, 5, 6]),
    ],
)
def test_what_cannot_be_judged_before_the_first_bad_one_may_be_it(row: str, suspects: list[int]) -> None:
    assert searched(row)[0] == suspects


def test_a_long_row_that_does_not_run_is_left_quickly() -> None:
    suspects, hunts = searched("g" * 30 + "s" * 40 + "g" * 20 + "b" * 10)
    assert suspects == [90]
    assert hunts <= 12
