"""Growth that a hunt reports beside growth of resident memory, with made-up figures."""

from __future__ import annotations

import pytest

from benchmarks.rss.__main__ import Row, judged_steps, reported_rate


def finding(kind: str, nbytes: float, retained: float) -> dict[str, object]:
    return {"kind": kind, "per_step": {"bytes": nbytes, "retained_bytes": retained}}


def test_findings_that_grow_are_added_up_by_what_they_retain() -> None:
    findings = [finding("growth", 4, 1_000), finding("never", 500, 0), finding("retained", 10**6, 10**6)]
    assert reported_rate({"findings": findings}) == 1_500


@pytest.mark.parametrize(("rounds", "steps"), [((13, 17, 29, 41), (20, 107)), ((5, 8), (7, 20))])
def test_a_bare_run_is_measured_between_the_steps_of_the_last_three_rounds(
    rounds: tuple[int, ...], steps: tuple[int, int]
) -> None:
    assert judged_steps({"warmup_steps": 7, "rounds": [{"steps": one} for one in rounds]}) == steps


def test_a_hunt_without_a_report_is_not_compared() -> None:
    assert not Row("kept", trouble="the hunt left no report in time").is_compared


@pytest.mark.parametrize(("reported", "right"), [(79_000, False), (81_000, True), (119_000, True), (121_000, False)])
def test_a_fifth_more_or_less_is_right(reported: float, right: bool) -> None:
    assert Row("kept", reported, 100_000).is_right == right


def test_memory_that_does_not_grow_is_never_right() -> None:
    assert not Row("kept", 200_000, 0).is_right


@pytest.mark.parametrize(("reported", "resident", "compared"), [(9_900, 9_900, False), (15_000, 0, True)])
def test_small_growth_is_not_compared(reported: float, resident: float, compared: bool) -> None:
    assert Row("kept", reported, resident).is_compared == compared
