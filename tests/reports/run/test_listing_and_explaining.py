from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from fabricated import PLAIN, STORY, TWIN, seven_systems, troubled
from gradlife.model import codec
from gradlife.patterns.codes import SENTENCES, is_code, sentence
from gradlife.reports.formats.json.document import list_text, run_text
from gradlife.reports.hunt.pattern import print_pattern
from gradlife.reports.run.listing import print_list
from gradlife.reports.run.story import Explanation, Fix, print_explanation
from printing import printed, widest


def test_a_list_has_the_stories_of_each_suite_with_their_twins_below_them() -> None:
    assert printed(lambda console: print_list(console, [TWIN, PLAIN, STORY])).splitlines() == [
        "function_ownership  1 story, 1 repaired twin",
        "  ctx_keeps_output               ctx keeps its own output  GL101",
        "    + ctx_keeps_detached_output  ctx keeps a detached copy of its output",
        "",
        "wrapper_identity  1 story",
        "  grad_id                        x.grad read again and again",
        "",
        "2 stories, 1 repaired twin; gradlife explain NAME shows one",
    ]


def test_a_name_too_long_for_its_column_has_its_title_below() -> None:
    long = replace(STORY, name="a_story_with_a_name_that_is_longer_than_any_column")
    assert printed(lambda console: print_list(console, [long])).splitlines()[1:3] == [
        "  a_story_with_a_name_that_is_longer_than_any_column",
        " " * 20 + "ctx keeps its own output  GL101",
    ]


def test_a_twin_listed_without_its_story_is_listed_all_the_same() -> None:
    assert "ctx_keeps_detached_output" in printed(lambda console: print_list(console, [TWIN]))


def explained(width: int = 80, **changes: object) -> list[str]:
    profiles = [("torch-1.1", STORY.expects[:1]), ("torch-2.13", STORY.expects[1:]), ("oneflow-0.9", ())]
    fix = Fix(TWIN, ["-ctx.y = y", "+ctx.y = y.detach()"])
    explanation = replace(Explanation(STORY, profiles, [fix]), **changes)  # type: ignore[arg-type]
    return printed(lambda console: print_explanation(console, explanation), width).splitlines()


def test_an_explanation_begins_with_what_the_story_is_and_shows_it() -> None:
    assert explained()[:10] == [
        "ctx keeps its own output",
        "  story    function_ownership/ctx_keeps_output",
        "  pattern  GL101: ctx keeps an output of its own Function: output, grad node and",
        "           ctx hold one another.",
        "  origin   pytorch/pytorch#25340",
        "",
        "The story",
        "  Storing an output on ctx ties a knot.",
        "",
        "  Fix: store it detached.",
    ]


def test_each_profile_has_a_row_with_the_numbers_of_its_reasons() -> None:
    lines = explained()
    start = lines.index("What each profile is declared to do")
    assert lines[start + 1 : start + 6] == [
        "  torch-1.1   ctx never [1]",
        "  torch-2.13  ctx gc [2]",
        "  [1] the collector does not see the edge",
        "  [2] from 1.10 on it does",
        "  nothing is declared of oneflow-0.9",
    ]


def test_the_fix_comes_with_its_difference_in_the_source() -> None:
    assert explained()[-5:] == [
        "The fix: store y.detach() on ctx",
        "  as shown in ctx_keeps_detached_output: ctx keeps a detached copy of its output",
        "",
        "    -ctx.y = y",
        "    +ctx.y = y.detach()",
    ]


def test_a_story_that_was_run_is_shown_stage_by_stage() -> None:
    lines = explained(report=seven_systems())
    start = lines.index("Stage by stage")
    assert lines[start + 5 : start + 8] == [
        "  at 'forward done'",
        "  expiry    ctx alive  alive alive  alive  alive alive   alive",
        "  refcount  ctx 1      1     1      1      1     1       1",
    ]


def test_a_story_that_was_not_run_says_why() -> None:
    lines = explained(why_no_report="It was not run: no engine")
    assert lines[lines.index("Stage by stage") + 1] == "  It was not run: no engine"


def test_a_story_without_a_twin_says_so() -> None:
    assert explained(fixes=())[-1] == "No repaired twin: nothing in this story is a fault."
    assert explained(story=TWIN, fixes=())[-1] == "No repaired twin: this is the repaired form of ctx_keeps_output."


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_an_explanation_is_wider_than_the_terminal(width: int) -> None:
    assert widest("\n".join(explained(width, report=troubled()))) <= width


def test_a_pattern_is_reported_with_its_family_its_looks_and_its_stories() -> None:
    lines = printed(lambda console: print_pattern(console, "GL101", [STORY, TWIN])).splitlines()
    assert lines[:4] == [
        "GL101  ctx keeps an output of its own Function: output, grad node and ctx hold",
        "       one another.",
        "GL1xx  function and ctx ownership: a custom Function, its ctx and its grad node",
        "       hold one another",
    ]
    assert "Ctx keeps its own output" in lines
    assert "  trace    Tensor grad_fn → MulByTwoBackward .result → the same Tensor" in lines
    assert "             ctx.save_for_backward(value)" in lines
    assert "  see      pytorch/pytorch#25340, pytorch/pytorch#5569" in lines
    assert lines[-3:] == [
        "Stories",
        "  ctx_keeps_output  ctx keeps its own output",
        "    + ctx_keeps_detached_output  ctx keeps a detached copy of its output",
    ]


def test_of_a_pattern_that_no_trace_gives_away_the_repairs_are_reported() -> None:
    repaired = replace(TWIN, fix="let go of it")
    lines = printed(lambda console: print_pattern(console, "GL110", [STORY, repaired])).splitlines()
    assert "  do       let go of it" in lines


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_every_code_is_reported_without_a_gap(code: str) -> None:
    text = printed(lambda console: print_pattern(console, code, []))
    assert text.startswith(code)
    assert not re.search(r"\{\w+_?\w*\}", text.replace("{}", ""))


def test_a_pattern_without_a_sentence_has_that_of_its_family() -> None:
    assert sentence("GL799") == "Views and storages: a small tensor keeps a large storage."
    assert sentence("GL001") == "No family: no pattern has this number."


def test_codes_are_distinguished_from_names() -> None:
    assert [text for text in ("GL101", "gl101", "GL1", "GL1011", "ctx") if is_code(text)] == ["GL101", "gl101"]
    assert all(is_code(code) for code in SENTENCES)


def test_the_json_of_a_run_holds_the_run() -> None:
    assert codec.loads(run_text(troubled())) == troubled()


def test_the_json_of_a_list_holds_everything_declared() -> None:
    document = json.loads(list_text([STORY, TWIN]))
    assert document["format"] == "gradlife.list/1"
    assert [one["name"] for one in document["scenarios"]] == ["ctx_keeps_output", "ctx_keeps_detached_output"]
    assert document["scenarios"][0]["expects"][1]["because"] == "from 1.10 on it does"


def test_the_json_of_an_empty_list_is_json() -> None:
    assert json.loads(list_text([]))["scenarios"] == []
