"""`gradlife.hunt(function)`: the report of a function that this process calls, and can call again."""

from __future__ import annotations

import pickle
import weakref
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import gradlife  # noqa: E402
from gradlife.model.hunt import Amounts, HuntReport  # noqa: E402

KEPT: dict[str, Any] = {}


@pytest.mark.whole
def test_the_report_of_a_function_proves_its_findings_by_calling_it_again() -> None:
    def step() -> None:
        for key in ("train", "test"):
            KEPT.setdefault(key, []).append(torch.ones(1000))

    report = gradlife.hunt(step, steps=60)
    (one,) = report.findings
    assert one.proof is None
    assert str(report).splitlines()[-2:] == ["To cut the reference: report.prove()", "Details: print(report.full())"]
    (proven,) = report.prove().findings
    assert proven.proof is not None
    assert (proven.proof.is_sufficient, proven.proof.after) == (True, Amounts())
    KEPT.clear()
    assert "like those of 1 other place that the same line fills" in proven.proof.cut


@pytest.mark.whole
def test_the_report_of_a_function_goes_to_another_process_without_the_function() -> None:
    report = gradlife.hunt(lambda: torch.ones(4), steps=60)
    copy = pickle.loads(pickle.dumps(report))
    assert (type(copy), copy.verdict, copy.settings) == (HuntReport, report.verdict, report.settings)


def test_the_public_names_are_listed_before_they_are_used() -> None:
    assert {"hunt", "why", "snapshot", "watch", "peak"} <= set(dir(gradlife))
    assert dir(gradlife) == sorted(gradlife.__all__)


@pytest.mark.whole
def test_a_report_does_not_keep_the_function_alive() -> None:
    """It did: what the function closes over was found as left by the last step in the next hunt."""

    def step() -> None:
        torch.ones(4)

    report, seen = gradlife.hunt(step, steps=60), weakref.ref(step)
    del step
    assert seen() is None
    with pytest.raises(gradlife.UsageError, match="the function that was hunted is gone"):
        report.again.hunted(())
