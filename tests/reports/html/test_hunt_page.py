"""The page of a hunt, read as its text: what stands in it, how large it is, and that names are data."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, CYCLE, EVERYTHING, LEAKING, LOSSES, PROVEN, WAITING, hunt, rounds, step
from gradlife.model.hunt import Advice, Amounts, Control, Diagnosis, Finding, HuntReport, Patch
from gradlife.model.ranks import Spread, WorkerRow
from gradlife.reports.html.code import code_markup
from gradlife.reports.html.document import page_of
from gradlife.reports.html.traces import path_rows

HOSTILE = "<script>alert(1)</script>"


def words(report: HuntReport) -> str:
    """Return the visible text, on one line."""
    body = page_of(report).partition("<body>")[2]
    text = re.sub(r"<(script|svg).*?</\1>", " ", body, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def with_names(finding: Finding, name: str) -> Finding:
    """The same with a name of somebody's own wherever one can stand."""
    trace = finding.trace
    steps = tuple(replace(one, object=name, detail=name, via=name, reason=name) for one in trace.steps)
    cycle = tuple(replace(one, object=name, detail=name, via=name) for one in trace.cycle)
    diagnosis = Diagnosis("GL402", name, name, Advice(name, name, (name,)), name)
    made = replace(trace, object=name, detail=name, steps=steps, cycle=cycle, hidden_references=(name,))
    return replace(finding, trace=made, diagnosis=diagnosis, created_at=(name,), also_held_by=(name,), fingerprint=name)


@pytest.mark.parametrize(
    ("report", "word", "headline"),
    [
        (CLEAN, "clean", "nothing grew in 3 rounds of 7 steps; 1 growth explained"),
        (LEAKING, "LEAK", "1 leak of this program"),
        (
            hunt(WAITING),
            "needs-gc",
            "nothing leaks, but memory waits for the collector: 1 cycle waiting for the collector",
        ),
        (hunt(rounds=()), "could not tell", "too few steps to tell"),
        (hunt(rounds=(), trouble="killed by signal 9 at 7.9 of 8.0 GiB"), "could not tell", "killed by signal 9"),
    ],
)
def test_the_verdict_stands_at_the_top(report: HuntReport, word: str, headline: str) -> None:
    assert f"Hunt in train.py {word} {headline}" in words(report)


def test_workers_have_a_table_with_a_row_for_those_that_agree() -> None:
    loader = WorkerRow(
        "DataLoader worker", "Images", "0-1", 2, 4, "fork", "batch", "clean", 0, Spread(60, 64), Spread(0, 0), "", None
    )
    leaking = replace(loader, workers="2", count=1, verdict="leak", findings=1, growth=Spread(1400, 1400))
    text = words(replace(CLEAN, workers=(loader, replace(leaking, trouble="its disk is full"))))
    assert "DataLoader workers 0-1 of 4 (Images) clean fork 0 60 to 64 0 B" in text
    assert "DataLoader worker 2 of 4 (Images) leak fork 1 60 to 64 1.4 kB" in text
    assert "DataLoader worker 2 of 4: its disk is full" in text
    assert "Worker processes" not in words(CLEAN)


def test_a_card_has_the_problem_the_trace_the_proof_and_the_advice() -> None:
    text = words(hunt(replace(LOSSES, proof=PROVEN)))
    for part in (
        "1. GL402 A list of losses keeps the graph of each",
        "Each step leaks 1 tensor and 65.5 kB, still reachable.",
        "module __main__ expected a module lives as long as the process",
        "list len 20 ↓ [17] (suspect)",
        "Tensor float32 [] leaked made in step 17, which is over",
        "Cut item of list .history dropped after each step Rate +1 tensor and 65.5 kB → nothing a step Proof ✔ this was",
        "What to do: Keep the number, not the tensor.",
        "See: pytorch/pytorch#1840",
    ):
        assert part in text


def test_a_reference_that_is_suspect_is_underlined_and_no_other() -> None:
    page = page_of(LEAKING)
    assert re.findall(r'via suspect">↓ <span class="reference">([^<]*)', page) == ["[17]"]
    assert "ol.trace .via.suspect .reference { text-decoration: underline" in page


def test_a_cycle_is_a_ring_for_wide_places_and_for_narrow_ones() -> None:
    page = page_of(hunt(CYCLE))
    assert page.count('class="drawing ring"') == 2
    assert "A cycle of 2 objects" in page


def test_what_was_asked_to_be_believed_stands_at_the_end() -> None:
    text = words(EVERYTHING)
    end = text[text.index("Growth that is meant Optimizer state AdamW") :]
    for part in (
        "✔ a list that grows: found to grow",
        "C++ hooks made before the hunt are not seen → gradlife hunt --scan train.py",
        "gradlife hunt --prove train.py",
    ):
        assert part in end


def test_a_control_judged_wrongly_is_reported() -> None:
    assert "✘ a clean twin: found to grow, but it is clean" in words(
        hunt(controls=(Control("a clean twin", "clean", "growth"),))
    )


def test_a_hunt_that_was_killed_shows_what_went_wrong_and_what_it_saw() -> None:
    text = words(hunt(LOSSES, trouble="killed by signal 9 at 7.9 of 8.0 GiB", script_status=137))
    assert "killed by signal 9 at 7.9 of 8.0 GiB Script ended with status 137" in text
    assert "1. GL402" in text


def test_a_hunt_without_a_round_has_neither_chart_nor_map() -> None:
    page = page_of(hunt(rounds=(), controls=()))
    assert 'class="drawing' not in page
    assert "no control was judged: the hunt did not come that far" in page


def test_names_of_the_program_are_data() -> None:
    report = hunt(with_names(LOSSES, HOSTILE), with_names(CYCLE, HOSTILE), target=HOSTILE, stepped_by=HOSTILE)
    page = page_of(report)
    assert page.count("<script") == 1
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 20


def test_halves_of_characters_can_be_written_to_a_file() -> None:
    page_of(hunt(with_names(LOSSES, "\ud800"), with_names(CYCLE, "\ud800"), target="\ud800.py")).encode("utf-8")


@pytest.mark.parametrize("finding", [LOSSES, CYCLE, with_names(CYCLE, "x" * 5000)], ids=["loss", "cycle", "long names"])
def test_ten_thousand_findings_stay_below_5_mb(finding: Finding) -> None:
    page = page_of(hunt(*[finding] * 10_000))
    assert len(page.encode()) < 5_000_000
    assert page.count('<article class="card finding"') == 60
    assert "9,940 more findings, after the first 60" in page


def test_of_a_long_path_the_middle_is_left_out_and_counted() -> None:
    rows = path_rows([step(f"Node{number} x", ".next") for number in range(1000)])
    assert (len(rows), rows[24].is_gap, rows[24].more) == (49, True, 952)
    assert (rows[23].object, rows[25].object) == ("Node23", "Node976")


def test_alike_steps_are_counted_once() -> None:
    rows = path_rows([step("AddBackward0", "next edge") for _ in range(100)])
    assert [(row.object, row.more) for row in rows] == [("AddBackward0", 0), ("AddBackward0", 97), ("AddBackward0", 0)]


def test_code_has_colours_and_lines_of_a_difference_are_old_and_new() -> None:
    assert code_markup("x = 'a<b'  # why") == (
        'x = <span class="code-string">&#39;a&lt;b&#39;</span>  <span class="code-comment"># why</span>'
    )
    assert code_markup("-losses.append(loss)\n+losses.append(loss.item())") == (
        '<span class="line gone">-losses.append(loss)</span><span class="line new">+losses.append(loss.item())</span>'
    )


def test_only_addresses_and_issues_become_links() -> None:
    links = ("javascript:alert(1)", "https://x.org/a", "pytorch/pytorch#1840", "a b/c#1")
    finding = replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, advice=Advice("", "", links)))
    assert re.findall(r'href="([^#][^"]*)" rel', page_of(hunt(finding))) == [
        "https://x.org/a",
        "https://github.com/pytorch/pytorch/issues/1840",
    ]


def test_what_was_kept_is_drawn_by_bytes_with_what_is_meant_beside_it() -> None:
    report = hunt(LOSSES, explained=EVERYTHING.explained, rounds=rounds(Amounts(bytes=1), 7, 7, 7))
    page = page_of(report)
    assert "1. GL402 A list of losses keeps the graph of each: 1.11 MB, 100%" in page
    assert "17 StorageImpl: 1 MB, 89%" in page
    assert "meant: optimizer state, AdamW, at its first step: 4.1 kB, 0%" in page


def test_every_link_leads_to_a_part_of_the_page_and_each_part_has_an_address_of_its_own() -> None:
    page = page_of(EVERYTHING)
    targets, parts = set(re.findall(r'href="#([\w-]+)"', page)), re.findall(r' id="([\w-]+)"', page)
    assert {"finding-1", "answer", "growth", "limits"} <= targets <= set(parts)
    assert len(parts) == len(set(parts))


def test_the_page_begins_with_what_to_change_and_its_proof() -> None:
    patch = Patch("", ("self.losses.append(loss)",), ("self.losses.append(loss.item())",))
    head, _, text = words(hunt(replace(LOSSES, patch=patch, proof=PROVEN))).partition("Without scripts")
    assert "Memory grows by 65.5 kB per step" in head
    places = [
        text.index(part)
        for part in (
            "1. GL402, major: run.history: A list of losses keeps the graph of each",
            "- self.losses.append(loss) + self.losses.append(loss.item())",
            "Proof: in a copy with the line changed, 0 B per step",
            "What each round added",
            "Who holds it",
            "Self-check: planted leaks",
        )
    ]
    assert places == sorted(places)


def test_the_reference_that_the_collector_does_not_see_has_a_sign_in_the_ring() -> None:
    page = page_of(hunt(CYCLE))
    assert page.count('<g class="unseen">') == 3  # on the ring, wide and narrow, and in the legend
    assert "Tensor refers to the next by grad_fn, which the collector does not see" in page
    assert '<g class="unseen">' not in page_of(hunt(WAITING))
