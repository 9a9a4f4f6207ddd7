"""The severity of a finding."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CYCLE, LOSSES, WAITING
from gradlife.hunting.findings.builder import worst_first
from gradlife.hunting.findings.severity import Room, graded, with_severity
from gradlife.model.heap import TypeCount
from gradlife.model.hunt import Amounts, Arrivals, Finding, FindingKind, Severity
from gradlife.model.trace import Lifetime

WIDE = Room(free=1 << 40, peak=1_000_000)
PLAIN = replace(LOSSES, per_step=Amounts(objects=3, bytes=900), retained_types=())
KEPT = replace(LOSSES, kind=FindingKind.RETAINED, per_step=Amounts())


def severity(one: Finding, room: Room = WIDE) -> Severity:
    return with_severity(one, room).severity


def test_what_reaches_the_memory_limit_within_a_usual_job_is_critical() -> None:
    near = with_severity(LOSSES, Room(free=65536 * 1000, peak=0))
    assert (near.severity, near.steps_to_limit) == (Severity.CRITICAL, 1000)
    far = with_severity(LOSSES, Room(free=65536 * 100_001, peak=0))
    assert (far.severity, far.steps_to_limit) == (Severity.MAJOR, None)


ON_DEVICE = replace(
    LOSSES,
    per_step=Amounts(retained_bytes=1000),
    retained_bytes=100_000,
    retained_types=(TypeCount("torch::StorageImpl cuda:1", "storage", 9, 75_000),),
)


@pytest.mark.parametrize(
    ("host", "devices", "expected"),
    [
        (1 << 40, {"cuda:1": 7_500_000}, (10_000, "cuda:1")),
        (250_000, {"cuda:1": 7_500_000}, (1000, "")),
        (1 << 40, {"cuda:0": 1}, (None, "")),
        (1 << 40, {"cuda:1": 75_000_001}, (None, "")),
        (1 << 40, {"cuda:1": 0}, (0, "cuda:1")),
    ],
)
def test_the_memory_that_is_full_first_is_named(
    host: int, devices: dict[str, int], expected: tuple[int | None, str]
) -> None:
    """Three quarters of what is retained are on the device: so is that part of each step's growth."""
    found = with_severity(ON_DEVICE, Room(host, 0, devices))
    assert (found.steps_to_limit, found.fills) == expected
    assert (found.severity is Severity.CRITICAL) == (expected[0] is not None)


def test_the_rate_of_what_would_be_freed_counts() -> None:
    one = replace(LOSSES, per_step=Amounts(tensors=1, storages=1, graph_nodes=4, bytes=4, retained_bytes=800_000))
    assert with_severity(one, Room(free=8_000_000_000, peak=0)).steps_to_limit == 10_000


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(PLAIN, Severity.MINOR, id="plain data"),
        pytest.param(
            replace(PLAIN, diagnosis=replace(LOSSES.diagnosis, code="GL704")), Severity.MAJOR, id="a longer tensor"
        ),
        pytest.param(
            replace(PLAIN, diagnosis=replace(LOSSES.diagnosis, code="GL704"), per_step=Amounts(bytes=0.9)),
            Severity.NOTE,
            id="a row for each round of an optimization",
        ),
        pytest.param(
            replace(
                PLAIN,
                diagnosis=replace(LOSSES.diagnosis, code="GL704"),
                trace=replace(LOSSES.trace, tensor=None),
            ),
            Severity.MINOR,
            id="a longer text",
        ),
        pytest.param(replace(PLAIN, kind=FindingKind.NEVER, lifetime=Lifetime.GC), Severity.MINOR, id="plain cycles"),
        pytest.param(replace(PLAIN, per_step=Amounts(objects=90, bytes=5000)), Severity.MAJOR, id="much plain data"),
        pytest.param(replace(PLAIN, per_step=Amounts(objects=9, tensors=6)), Severity.MINOR, id="aliases of weights"),
        pytest.param(replace(PLAIN, per_step=Amounts(tensors=1, storages=1, bytes=4)), Severity.MAJOR, id="a scalar"),
        pytest.param(replace(PLAIN, per_step=Amounts(graph_nodes=2)), Severity.MAJOR, id="a graph"),
        pytest.param(
            replace(PLAIN, retained_types=(TypeCount("_io.FileIO", "python", 9, 900),)), Severity.MAJOR, id="open files"
        ),
        pytest.param(
            replace(PLAIN, diagnosis=replace(PLAIN.diagnosis, code="GL605")), Severity.MAJOR, id="hooks that all run"
        ),
        pytest.param(replace(PLAIN, is_running=True), Severity.MAJOR, id="threads that run"),
        pytest.param(replace(CYCLE, per_step=Amounts(objects=2)), Severity.MAJOR, id="never freed"),
        pytest.param(WAITING, Severity.MINOR, id="waits for the collector"),
        pytest.param(replace(KEPT, retained_bytes=50_000), Severity.NOTE, id="a small part of the peak"),
        pytest.param(replace(KEPT, retained_bytes=50_001), Severity.MAJOR, id="a large part of the peak"),
    ],
)
def test_each_finding_has_its_severity(one: Finding, expected: Severity) -> None:
    assert severity(one) is expected


def test_the_worst_severity_comes_first_and_the_collector_s_after_all_leaks_of_its_own() -> None:
    small = replace(KEPT, retained_bytes=10, fingerprint="small")
    shown = worst_first(graded([small, WAITING, PLAIN, CYCLE], WIDE))
    assert [one.severity for one in shown] == [Severity.MAJOR, Severity.MINOR, Severity.MINOR, Severity.NOTE]
    assert [one.fingerprint for one in shown] == [CYCLE.fingerprint, PLAIN.fingerprint, WAITING.fingerprint, "small"]


def test_leaks_that_fill_the_memory_together_are_critical_and_a_small_one_beside_them_is_not() -> None:
    """Each alone was just too slow: none was critical, and nothing said when memory runs out."""
    one, other = (replace(LOSSES, per_step=Amounts(tensors=1, storages=1, bytes=nbytes)) for nbytes in (600, 500))
    small = replace(LOSSES, per_step=Amounts(tensors=1, storages=1, bytes=10))
    room = Room(free=100_000_000, peak=0)
    assert [(found.severity, found.steps_to_limit) for found in graded([small, other, one], room)] == [
        (Severity.MAJOR, None),
        (Severity.CRITICAL, 200_000),
        (Severity.CRITICAL, 166_666),
    ]
    assert {found.severity for found in graded([small, other], room)} == {Severity.MAJOR}


def test_what_came_after_the_last_step_has_no_rate_and_fills_nothing() -> None:
    after = with_severity(replace(LOSSES, arrivals=Arrivals(400, 0, 65536)), Room(free=65536 * 1000, peak=0))
    assert (after.severity, after.steps_to_limit) == (Severity.MAJOR, None)
