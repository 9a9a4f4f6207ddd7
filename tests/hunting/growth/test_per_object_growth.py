"""Many old objects that get one new thing each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.findings.builder import growth_finding  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, grown_groups  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from gradlife.model.hunt import Finding  # noqa: E402
from gradlife.reports.hunt.sentences import problem  # noqa: E402
from step_evidence import evidence, has_tensors  # noqa: E402

LENGTHS = (3, 29, 31, 61)


class Sample:
    """Is loaded when it is asked for."""

    loaded: Any


def findings(found: Evidence) -> list[Finding]:
    grown, _ = grown_groups(found)
    return [growth_finding(found.graph, one, CreationSites()) for one in grown if has_tensors(found, one.group.members)]


@pytest.mark.whole
def test_samples_that_cache_what_was_loaded_are_reported_together() -> None:
    samples = [Sample() for _ in range(300)]

    def step(number: int) -> None:
        for sample in samples[2 * number : 2 * number + 2]:
            sample.loaded = torch.ones(8)

    (one,) = findings(evidence(step, *LENGTHS))
    assert one.code == "GL527"
    assert (one.trace.steps[-2].object, one.trace.steps[-2].via) == ("Sample", ".loaded")
    assert one.per_step.tensors == pytest.approx(2, abs=0.1)
    assert one.diagnosis.reason.startswith("Each step stores something, such as `samples[")


@pytest.mark.whole
def test_records_that_get_a_result_each_are_named_by_their_key_and_not_by_a_variable() -> None:
    weight = torch.ones(8, requires_grad=True)
    rows: list[dict[str, Any]] = [{"number": number} for number in range(200)]
    last: dict[str, Any] = {}

    def step(number: int) -> None:
        nonlocal last
        last = rows[number]
        last["out"] = (weight * number).sum()

    (one,) = findings(evidence(step, *LENGTHS))
    assert (one.code, one.title) == ("GL527", "each of many objects keeps a result with its graph")
    assert [each.via.partition("[")[2] for each in one.trace.steps[-2:-1]] == ["'out']"]
    assert "local variable 'rows'" in one.trace.steps[0].via
    assert last


@pytest.mark.whole
def test_what_lies_deeper_in_what_each_got_is_reported_with_the_path_to_it() -> None:
    samples = [Sample() for _ in range(200)]

    def step(number: int) -> None:
        samples[number].loaded = [torch.ones(8), torch.ones(16)]

    (one,) = findings(evidence(step, *LENGTHS))
    assert [each.via for each in one.trace.steps[-3:]] == [".loaded", "[1]", ""]


def replaced(samples: list[Sample]) -> Callable[[int], None]:
    for sample in samples:
        sample.loaded = torch.zeros(8)

    def step(number: int) -> None:
        samples[number].loaded = torch.ones(8)

    return step


def replaced_by_a_view(samples: list[Sample]) -> Callable[[int], None]:
    net = torch.nn.Linear(8, 8).requires_grad_(False)
    for sample in samples:
        sample.loaded = torch.zeros(8)

    def step(number: int) -> None:
        for sample in samples[2 * number : 2 * number + 2]:
            sample.loaded = net(torch.ones(8))

    return step


def in_turns(samples: list[Sample]) -> Callable[[int], None]:
    def step(number: int) -> None:
        samples[number % 5].loaded = torch.ones(8)

    return step


def from_one_to_the_next(samples: list[Sample]) -> Callable[[int], None]:
    def step(number: int) -> None:
        samples[number].loaded = torch.ones(8)
        if number >= 5:
            del samples[number - 5].loaded

    return step


@pytest.mark.whole
@pytest.mark.parametrize("make", [replaced, replaced_by_a_view, in_turns, from_one_to_the_next])
def test_what_is_replaced_or_let_go_is_no_leak(make: Callable[[list[Sample]], Callable[[int], None]]) -> None:
    samples = [Sample() for _ in range(300)]
    assert findings(evidence(make(samples), *LENGTHS)) == []
    assert len(samples) == 300


@pytest.mark.whole
def test_no_container_is_named_where_it_gathers_in_none() -> None:
    samples = [Sample() for _ in range(200)]

    def step(number: int) -> None:
        samples[number].loaded = torch.ones(8)

    (one,) = findings(evidence(step, *LENGTHS))
    report: Any = type("Report", (), {"rounds": (), "step": "step"})()
    assert not any(line.startswith("Stored in") for line in problem(one, report))
