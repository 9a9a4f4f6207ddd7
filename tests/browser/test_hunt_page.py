"""The page of a hunt in a real browser: clicks, keys, hostile names, many findings, each width and scheme."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from browsing import Visitor
from fabricated_hunts import CLEAN, EVERYTHING, LEAKING, LOSSES, PROVEN, hunt, step
from gradlife.reports.html.document import page_of

OVERLAPS = (Path(__file__).parent / "overlaps.js").read_text("utf-8").partition("\n")[2]
HOSTILE = "<script>alert(1)</script>"

LONG_RING = replace(
    LOSSES,
    trace=replace(
        LOSSES.trace,
        steps=(),
        cycle=tuple(step(f"SomeRatherLongClassName{number}", "._attribute") for number in range(30)),
    ),
)
REPORTS = {
    "clean": CLEAN,
    "leaking": LEAKING,
    "everything": EVERYTHING,
    "proven": hunt(replace(LOSSES, proof=PROVEN)),
    "could not tell": hunt(rounds=(), trouble="only 3 steps were seen"),
    "killed": hunt(LOSSES, trouble="killed by signal 9 at 7.9 of 8.0 GiB", script_status=137),
    "long ring": hunt(LONG_RING, target="a/" * 80 + "train.py"),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", REPORTS)
def test_it_is_clean_at_each_width_in_both_schemes(visitor: Visitor, name: str) -> None:
    assert visitor.look(page_of(REPORTS[name])) == []


def test_names_of_the_program_do_not_run(visitor: Visitor) -> None:
    trace = replace(LOSSES.trace, steps=(step(f"dict {HOSTILE}", f"[{HOSTILE!r}]", suspect=True), step(f"{HOSTILE} y")))
    visit = visitor.open(page_of(hunt(replace(LOSSES, trace=trace), target=HOSTILE)))
    assert visit.page.text_content("ol.trace .reference") == f"[{HOSTILE!r}]"
    assert visit.page.text_content("ol.trace .object") == "dict"
    assert visit.page.locator("script").count() == 1


def test_a_click_and_a_key_in_the_map_lead_to_the_finding(visitor: Visitor) -> None:
    visit = visitor.open(page_of(EVERYTHING))
    visit.page.click(".wide .treemap a.cell >> nth=1")  # a part of the first finding's area
    assert visit.page.url.endswith("#finding-1")
    visit.page.goto(visit.address)
    visit.page.focus(".wide .treemap a.cell")
    visit.page.keyboard.press("Enter")
    assert visit.page.url.endswith("#finding-1")


@pytest.mark.parametrize("width", [1280, 400])
def test_no_word_of_a_ring_lies_on_an_arrow_or_another_word(visitor: Visitor, width: int) -> None:
    for name in ("everything", "long ring"):
        page = visitor.open(page_of(REPORTS[name]), width).page
        shown = page.locator(f".{'wide' if width == 1280 else 'narrow'} > svg.ring")
        assert shown.count() > 0
        assert [fault for one in shown.all() for fault in one.evaluate(OVERLAPS)] == []


@pytest.mark.parametrize(("width", "shown", "hidden"), [(1280, "wide", "narrow"), (400, "narrow", "wide")])
def test_a_drawing_is_shown_once_as_there_is_room(visitor: Visitor, width: int, shown: str, hidden: str) -> None:
    page = visitor.open(page_of(EVERYTHING), width).page
    assert page.is_visible(f".{shown} > .treemap")
    assert not page.is_visible(f".{hidden} > .treemap")


def test_words_in_drawings_are_large_enough_to_be_read(visitor: Visitor) -> None:
    for width in (1280, 400):
        page = visitor.open(page_of(EVERYTHING), width).page
        script = "[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height).filter(h => h)"
        assert min(page.evaluate(script)) > 10


def test_the_rounds_are_reported_in_numbers_on_demand(visitor: Visitor) -> None:
    page = visitor.open(page_of(EVERYTHING)).page
    assert not page.is_visible("#rounds")
    page.click("text=Each round in numbers")
    assert page.locator("#rounds tbody tr").count() == 3


@pytest.mark.whole
def test_ten_thousand_findings_are_drawn_within_a_second_and_found(visitor: Visitor) -> None:
    findings = [
        replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, title=f"leak {number}")) for number in range(10_000)
    ]
    text = page_of(hunt(*findings))
    assert len(text.encode()) < 5_000_000
    visit = visitor.open(text)
    # The best of three: what else runs on the machine is no fault of the page.
    assert min(one.first_paint() for one in (visit, visitor.open(text), visitor.open(text))) < 1000
    assert visit.page.locator("article.finding").count() == 60
    visit.page.fill("[aria-controls=more-findings]", "leak 9876")
    assert visit.page.locator("#more-findings tbody tr").all_text_contents()[0].startswith("GL402leak 9876")


@pytest.mark.whole
def test_a_hunt_is_printed_with_every_part_open(visitor: Visitor) -> None:
    page = visitor.open(page_of(EVERYTHING)).page
    assert page.pdf().startswith(b"%PDF")
