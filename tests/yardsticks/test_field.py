"""The log of public reports: each entry is well-formed, has a source, and its leak differs from its twin."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.corpus.running import Hunted
from benchmarks.field.entries import AREAS, ENTRIES
from benchmarks.field.entry import PATTERN, Entry
from benchmarks.field.judging import Answer, judge
from benchmarks.twins.pair import Pair
from fabricated_hunts import CLEAN, HISTORY, LOSSES, hunt, step
from gradlife.model.hunt import HuntReport
from gradlife.reports.formats.json.document import hunt_text

PAIR = Pair("losses", "losses", "losses = []\nlosses.append(1)\n", (("append(1)", "clear()"),), "a list", "empty")
ENTRY = Entry(PAIR, "owner/name#1", "losses.append(", advice="clear|float(")
NAMED = replace(LOSSES, trace=replace(HISTORY, steps=(step("Trainer", ".losses"), *HISTORY.steps[-2:])))


def answer(report: HuntReport | None, entry: Entry = ENTRY, is_leaking: bool = True, line: str = "") -> Answer:
    document = json.loads(hunt_text(report)) if report else None
    for finding in document["findings"] if document else ():
        finding["stored_at"] = {"source": line}
        finding["advice"] = {"text": "Keep numbers.", "code": "losses.append(float(loss))"}
    return judge("a", entry, is_leaking, 40, Hunted(document, int(is_leaking), "", 1.0, 2.0))


def test_there_are_at_least_sixty_entries_half_of_them_outside_training() -> None:
    assert len(ENTRIES) >= 60
    outside = [entry for area in ("serving", "pipelines", "notebooks", "evaluation", "rl") for entry in AREAS[area]]
    assert len(outside) * 2 >= len(ENTRIES)


def test_names_are_unique() -> None:
    assert [name for name, count in Counter(entry.pair.name for entry in ENTRIES).items() if count > 1] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.pair.name)
def test_an_entry_is_well_formed(entry: Entry) -> None:
    leak, twin = entry.pair.source(True, 40), entry.pair.source(False, 40)
    assert ast.dump(ast.parse(leak)) != ast.dump(ast.parse(twin))
    assert entry.pair.truth in ("leak", "needs-gc")
    assert entry.pair.why
    assert entry.pair.why_not
    assert entry.source == PATTERN or re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", entry.source)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.pair.name)
def test_the_line_stands_in_the_program(entry: Entry) -> None:
    assert not entry.line or any(line in entry.pair.leak for line in entry.line.split("|"))


def test_a_right_answer_has_verdict_holder_line_and_advice() -> None:
    found = answer(hunt(NAMED), line="losses.append(loss)")
    assert (found.is_verdict_right, found.is_holder_right, found.is_line_right) == (True, True, True)
    assert found.is_advice_right


def test_a_wrong_line_and_harmful_advice_are_seen() -> None:
    harmful = replace(ENTRY, harmful="float(")
    found = answer(hunt(NAMED), harmful, line="losses = []")
    assert (found.is_line_right, found.is_advice_right) == (False, False)


def test_a_missed_leak_has_nothing_right() -> None:
    found = answer(CLEAN)
    assert (found.is_verdict_right, found.is_holder_right, found.is_line_right) == (False, False, False)


def test_a_twin_is_judged_by_its_verdict() -> None:
    found = answer(CLEAN, is_leaking=False)
    assert (found.is_verdict_right, found.is_holder_right, found.is_line_right) == (True, None, None)
