"""The pairs of programs: each leak differs from its twin by a few edits, and the judge sees the difference."""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.corpus.running import Hunted
from benchmarks.twins.judging import FALSE_ALARM, MISSED, RIGHT, UNDECIDED, UNNAMED, judge
from benchmarks.twins.pair import LENGTHS, Pair
from benchmarks.twins.pairs import PAIRS
from fabricated_hunts import CLEAN, CYCLE, HISTORY, LOSSES, hunt, step
from gradlife.model.hunt import HuntReport
from gradlife.reports.formats.json.document import hunt_text

PAIR = Pair("losses", "losses", "losses = []\n", (("[]", "{}"),), "a list", "a dict")
NAMED = replace(LOSSES, trace=replace(HISTORY, steps=(step("Trainer", ".losses"), *HISTORY.steps[-2:])))


def result(report: HuntReport | None, is_leaking: bool, status: int = 0) -> str:
    document = json.loads(hunt_text(report)) if report else None
    return judge("a", PAIR, is_leaking, 40, "", Hunted(document, status, "Killed", 1.0, 2.0)).result


def test_there_are_at_least_150_pairs_with_names_of_their_own() -> None:
    assert len(PAIRS) >= 150
    assert [name for name, count in Counter(pair.name for pair in PAIRS).items() if count > 1] == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_leak_and_twin_are_two_programs(pair: Pair) -> None:
    for steps in LENGTHS:
        leak, twin = pair.source(True, steps), pair.source(False, steps)
        assert ast.dump(ast.parse(leak)) != ast.dump(ast.parse(twin))
    assert pair.steps
    assert set(pair.steps) <= set(LENGTHS)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_pair_says_why(pair: Pair) -> None:
    assert pair.why
    assert pair.why_not
    assert pair.truth in ("leak", "needs-gc")


def test_a_source_is_made_for_its_length() -> None:
    assert "STEPS = 12\n" in PAIR.source(True, 12)
    assert "STEPS = 480\n" in PAIR.source(True, 40, 480)
    bounded = replace(PAIR, leak="deque(maxlen=<N/2>)\n")
    assert bounded.source(True, 40, 480).endswith("deque(maxlen=20)\n")


def test_an_edit_that_finds_no_place_or_two_is_refused() -> None:
    for leak in ("losses = {}\n", "a, b = [], []\n"):
        with pytest.raises(ValueError, match=r"stands [02] times"):
            replace(PAIR, leak=leak).source(False, 12)


def test_a_leak_is_found_where_its_holder_is_named() -> None:
    assert result(hunt(NAMED), True, 1) == RIGHT
    assert result(hunt(LOSSES), True, 1) == UNNAMED
    assert result(CLEAN, True) == MISSED
    assert result(None, True, 137) == MISSED


def test_a_twin_must_be_clean() -> None:
    assert result(CLEAN, False) == RIGHT
    assert result(hunt(NAMED), False, 1) == FALSE_ALARM
    assert result(hunt(CYCLE), False) == FALSE_ALARM
    assert result(None, False, 137) == UNDECIDED
