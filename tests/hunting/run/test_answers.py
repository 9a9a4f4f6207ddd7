"""When an answer stays, and when better steps begin anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import LOSSES, hunt
from gradlife.hunting.process.settings import Settings
from gradlife.hunting.run.child import Child, may_add
from gradlife.model.hunt import Finding, FindingKind, PerStep, Severity

#: What each call of a function that loads data leaves in a list.
LOADED = replace(LOSSES, per_step=PerStep(objects=2, tensors=1, storages=1, bytes=256))


def confirmed(finding: Finding) -> Child:
    """A hunt with a leak that sampled steps have shown long enough."""
    child = Child(Settings("main.py"))
    child._stepped_by = "call of load"
    child._answered = hunt(finding)
    child._is_sampled = child._is_final = True
    return child


def test_an_optimizer_begins_anew_after_calls_that_filled_a_list_with_data() -> None:
    """A list of data that a plain loop loads was the verdict on the program, and its training was not hunted."""
    child = confirmed(LOADED)
    child._begin_again("SGD.step")
    assert (child._stepped_by, child._answered, child._earlier) == ("SGD.step", None, hunt(LOADED))
    assert child.counter is not None
    child.counter.end()


def test_graphs_that_calls_leave_are_more_than_data_and_stay_the_answer() -> None:
    child = confirmed(replace(LOSSES, per_step=PerStep(objects=4, tensors=1, graph_nodes=3)))
    assert child._begin_again("SGD.step")()
    assert child._stepped_by == "call of load"


def test_other_calls_do_not_replace_a_leak_that_calls_have_confirmed() -> None:
    child = confirmed(LOADED)
    assert child._begin_sampled("call of answer")()
    assert child._stepped_by == "call of load"


@pytest.mark.parametrize(
    ("severity", "kind", "is_open"),
    [
        (Severity.MINOR, FindingKind.GROWTH, True),
        (Severity.NOTE, FindingKind.RETAINED, True),
        (Severity.MAJOR, FindingKind.GROWTH, False),
        (Severity.MAJOR, FindingKind.NEEDS_GC, True),
    ],
)
def test_only_a_leak_that_is_not_minor_ends_the_search_for_rarer_ones(
    severity: Severity, kind: FindingKind, is_open: bool
) -> None:
    assert may_add(hunt(replace(LOSSES, severity=severity, kind=kind))) == is_open
