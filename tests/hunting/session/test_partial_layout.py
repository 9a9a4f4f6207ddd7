"""Reports on a PyTorch that can be read only in part leave out what may have a holder that was not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")

from fabricated_hunts import CYCLE, LOSSES, WAITING, hunt
from gradlife.hunting.findings.severity import room_now
from gradlife.hunting.session import judgement, partial_layout
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.partial_layout import as_far_as_read
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import FindingKind
from gradlife.model.unread_layout import UnreadLayout

UNREAD = UnreadLayout("2.16.0", ("next edges", "hooks"), 69)
NATIVE = replace(LOSSES, kind=FindingKind.NATIVE, fingerprint="77777777")


@pytest.fixture(autouse=True)
def read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_layout, "unread_layout", lambda: UNREAD)


def test_what_seems_to_have_no_holder_is_left_out_and_counted() -> None:
    report = as_far_as_read(hunt(LOSSES, CYCLE, NATIVE, WAITING))
    assert report.findings == (LOSSES, WAITING)
    assert report.unread == replace(UNREAD, withheld=2)
    assert report.limits[0] == "of PyTorch 2.16.0: next edges, hooks → gradlife doctor"


def test_a_second_time_changes_nothing() -> None:
    report = as_far_as_read(hunt(LOSSES, NATIVE))
    assert as_far_as_read(report) == report


def test_fields_that_only_describe_leave_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_layout, "unread_layout", lambda: replace(UNREAD, hides_references=False))
    assert as_far_as_read(hunt(LOSSES, NATIVE)).findings == (LOSSES, NATIVE)


def test_a_whole_layout_leaves_the_report_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_layout, "unread_layout", lambda: None)
    report = hunt(LOSSES, NATIVE)
    assert as_far_as_read(report) is report


def test_what_later_rounds_add_is_left_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Snapshot:
        graph: Any = None

    monkeypatch.setattr(judgement, "split", lambda graph, asked: ([NATIVE], []))
    early = as_far_as_read(hunt(LOSSES))
    snapshots: Any = [Snapshot()]
    under_way = Hunt(schedule_for(None, is_endless=False))
    late = judgement.with_found(under_way, early, snapshots, [], room_now(0.0, None))
    assert late.findings == (LOSSES,)
    assert late.unread == replace(UNREAD, withheld=1)
