"""Growth that a hunt reports beside growth of resident memory, with made-up figures."""

from __future__ import annotations

import pytest

from benchmarks.rss.__main__ import Row, reported_rate


def finding(kind: str, nbytes: float, retained: float) -> dict[str, object]:
    return {"kind": kind, "per_step": {"bytes": nbytes, "retained_bytes": retained}}


def test_findings_that_grow_are_added_up_by_what_they_retain() -> None:
    findings = [finding("growth", 4, 1_000), finding("never", 500, 0), finding("retained", 10**6, 10**6)]
    assert reported_rate({"findings": findings}) == 1_500


def test_a_hunt_without_a_report_has_no_rate() -> None:
    assert reported_rate(None) == 0


@pytest.mark.parametrize(("reported", "right"), [(79_000, False), (81_000, True), (119_000, True), (121_000, False)])
def test_a_fifth_more_or_less_is_right(reported: float, right: bool) -> None:
    assert Row("kept", reported, 100_000).is_right == right


def test_memory_that_does_not_grow_is_never_right() -> None:
    assert not Row("kept", 200_000, 0).is_right


@pytest.mark.parametrize(("reported", "resident", "compared"), [(99_000, 99_000, False), (150_000, 0, True)])
def test_small_growth_is_not_compared(reported: float, resident: float, compared: bool) -> None:
    assert Row("kept", reported, resident).is_compared == compared
