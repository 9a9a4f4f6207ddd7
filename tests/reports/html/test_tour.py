"""The guided tour that opens the page of a run: told by readings, so another reading is another sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gradlife.model import RunOk, RunReport
from gradlife.reports.html.run import run_page
from gradlife.reports.html.tour import TourView, tour_view
from gradlife.runner.tour import run_tour


@pytest.fixture(scope="module")
def report() -> RunReport:
    return run_tour()


@pytest.fixture(scope="module")
def view(report: RunReport) -> TourView:
    found = tour_view(report)
    assert found is not None
    return found


def test_it_runs_on_the_releases_around_the_change(view: TourView) -> None:
    assert view.systems == ["PyTorch 1.1", "PyTorch 1.2"]
    assert view.pull == ("PyTorch PR 22983", "https://github.com/pytorch/pytorch/pull/22983")
    assert [stop.code[0] for stop in view.stops] == [
        "y = Double.apply(x)",
        "saved = y.grad_fn.saved_tensors[0]",
        "del saved, used",
        "y.sum().backward()",
    ]


def test_the_last_stage_tells_the_gradient_that_was_read(view: TourView) -> None:
    before, after = view.stops[-1].sides
    assert before.style == "bad"
    assert "x.grad stays None" in before.sentence
    assert dict(before.facts)["x.grad"] == "None"
    assert after.style == "good"
    assert "x.grad is [2.0, 2.0, 2.0, 2.0]" in after.sentence


def test_another_reading_is_another_sentence(report: RunReport) -> None:
    runs = []
    for run in report.runs:
        assert isinstance(run, RunOk)
        readings = [replace(one, value=None) if one.subject == "x.grad" else one for one in run.readings]
        runs.append(replace(run, readings=tuple(readings)))
    found = tour_view(replace(report, runs=tuple(runs)))
    assert found is not None
    assert [side.style for side in found.stops[-1].sides] == ["bad", "bad"]


def test_a_stage_has_one_sentence_a_system(view: TourView) -> None:
    sentences = [side.sentence for stop in view.stops for side in stop.sides]
    assert len(set(sentences)) == 8
    assert all(len(re.findall(r"\.(?:\s|$)", one)) == 1 for one in sentences), sentences


def test_the_drawings_call_ctx_and_its_node_by_name(view: TourView) -> None:
    called = [{node.get("tag") for node in graph["nodes"]} - {None} for graph in view.graphs[0]]
    assert called == [{"ctx = node"}, {"ctx", "node"}]


def test_a_page_without_a_tour_has_no_link_to_one(report: RunReport) -> None:
    assert 'href="#tour"' in run_page(report, report)
    assert 'href="#tour"' not in run_page(report)
    assert tour_view(replace(report, runs=report.runs[:1])) is None
