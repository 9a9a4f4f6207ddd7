"""The hunt's own generators are no leak of the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import HISTORY
from gradlife.hunting.session.judgement import is_own_plan


@pytest.mark.parametrize(
    ("object_", "detail", "is_own"),
    [
        ("generator", "Hunt._special_rounds (method.py:136)", True),
        ("frame", "Hunt._take_snapshot (method.py:270)", True),
        ("generator", "Hunt.hunted (method.py:136)", False),
        ("generator", "Hunt._special_rounds (hunting.py:136)", False),
        ("list", "len 20", False),
    ],
)
def test_a_generator_of_the_plan_that_grew_deeper_in_each_round(object_: str, detail: str, is_own: bool) -> None:
    """A hunt of a subprocess said GL801 of them: their frames are hidden, so nothing seemed to hold them."""
    assert is_own_plan(replace(HISTORY, object=object_, detail=detail)) is is_own
