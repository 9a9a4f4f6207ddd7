"""docs/sources.md: each statement names stories that exist and show that source, or has a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from source_releases import renewed

from gradlife.model import ScenarioInfo
from gradlife.runner import api

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sources.md"

#: Issues that a section's stories may have as their origin in place of its own.
RELATED = {
    "pytorch/pytorch#22983": {"pytorch/pytorch#22998", "pytorch/pytorch#16888", "pytorch/pytorch#18619"},
    "Oneflow-Inc/oneflow#9500": {"Oneflow-Inc/oneflow#9544"},
    "pytorch/pytorch#147242": {"pytorch/pytorch#60975", "pytorch/pytorch#60663", "pytorch/pytorch#62654"},
}

#: Stories about a source that show no statement of it: variants, and consequences that the document does not speak of.
FURTHER = {
    "ctx_attributes_cleared",
    "ctx_drops_output_in_backward",
    "ctx_output_detached_in_place",
    "ctx_output_taken_off",
    "first_backward_frees_the_shared_part",
    "function_never_applied_no_cycle",
    "held_name_keeps_nothing",
    "hook_without_ctx",
    "once_differentiable_lets_ctx_go",
    "one_backward_for_both_losses",
    "own_output_after_backward",
    "own_output_without_backward",
    "plain_function_lets_ctx_go",
    "reductions_that_save_their_result",
    "saved_by_a_custom_function",
    "saved_output_is_another_tensor",
    "static_applied_again",
    "twice_differentiable_ctx",
}


@dataclass(frozen=True)
class Statement:
    """A row of the page."""

    source: str
    text: str
    shown_by: str

    @property
    def stories(self) -> list[str]:
        return re.findall(r"`(\w+)`", self.shown_by) if not self.shown_by.startswith("reason: ") else []


def statements() -> Iterator[Statement]:
    source = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            source = line.rpartition(": ")[2]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "statement":
            text, shown_by, _ = cells
            yield Statement(source, text, shown_by)


STATEMENTS = list(statements())


@pytest.fixture(scope="module")
def stories() -> dict[str, ScenarioInfo]:
    return {story.family: story for story in api.select()}


def test_the_page_has_the_three_sources() -> None:
    assert list(dict.fromkeys(statement.source for statement in STATEMENTS)) == list(RELATED)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.text[:60])
def test_a_statement_is_shown_by_stories_of_its_source_or_has_a_reason(
    statement: Statement, stories: dict[str, ScenarioInfo]
) -> None:
    assert statement.stories or statement.shown_by.startswith("reason: ")
    for name in statement.stories:
        assert {statement.source, *RELATED[statement.source]} & set(stories[name].origin), name


@pytest.mark.parametrize("source", RELATED)
def test_the_page_names_the_stories_of_a_source(source: str, stories: dict[str, ScenarioInfo]) -> None:
    named = {name for statement in STATEMENTS for name in statement.stories}
    of_source = {story.family for story in stories.values() if source in story.origin}
    assert of_source - named - FURTHER == set()


def test_the_page_has_the_releases_on_which_its_stories_were_recorded() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == renewed(page), "python docs/_ext/source_releases.py renews it"


def test_what_is_left_out_of_the_page_exists(stories: dict[str, ScenarioInfo]) -> None:
    assert FURTHER - set(stories) == set()
