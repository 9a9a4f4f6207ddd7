"""The leaks that a hunt plants itself: as many for each round, whoever asks meanwhile."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth import controls  # noqa: E402
from gradlife.hunting.session.clean_report import TargetFacts  # noqa: E402
from gradlife.hunting.session.method import Hunt  # noqa: E402
from gradlife.hunting.session.report import report_of  # noqa: E402
from gradlife.hunting.session.step_counter import Counter  # noqa: E402
from gradlife.hunting.steps.schedule import Schedule  # noqa: E402
from gradlife.model.hunt import HuntReport  # noqa: E402

ROUNDS = (13, 17, 29, 5)
SCHEDULE = Schedule(2, ROUNDS, extension=(), confirmation=(), recorded=0, collector=0, watched=0, patience=math.inf)
FACTS = TargetFacts("train.py", "SGD.step")


def hunted(*asked: int) -> tuple[int, list[tuple[bool, ...]]]:
    """Return how many controls were planted and how they were judged, after these steps and at the end."""
    kept = []
    hunt = Hunt(SCHEDULE)
    counter = Counter(hunt)
    judged = []
    for step in range(1, SCHEDULE.warmup + sum(ROUNDS) + 1):
        kept.append(torch.ones(8))
        counter.step()
        if step in asked:
            judged.append(report_of(hunt, FACTS).controls)
    judged.append(report_of(hunt, FACTS).controls)
    count = len(hunt.controls.held)
    hunt.close()
    return count, [tuple(one.is_right for one in controls) for controls in judged]


@pytest.mark.whole
def test_a_round_that_adds_little_is_judged_by_its_steps() -> None:
    count, judged = hunted()
    assert count == 3 + 3 + 4 + 7 + 3
    assert judged == [(True, True, True, True)]


@pytest.mark.whole
@pytest.mark.parametrize("asked", [(64,), (25, 30, 50, 62)], ids=str)
def test_reports_in_the_midst_of_rounds_change_nothing(asked: tuple[int, ...]) -> None:
    count, judged = hunted(*asked)
    assert count == 3 + 3 + 4 + 7 + 3
    assert judged[-1] == (True, True, True, True)


@pytest.mark.whole
def test_a_long_round_plants_a_limited_number_and_is_judged_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert controls.MAX_STEPS == 1000
    monkeypatch.setattr(controls, "MAX_STEPS", 4)
    count, judged = hunted()
    assert count == 3 + 3 + 4 + 4 + 3
    assert judged == [(True, True, True, True)]


def test_seconds_of_a_report_are_none_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def judge_slowly(hunt: Hunt, facts: TargetFacts) -> HuntReport:
        now[0] += 100.0
        return HuntReport(facts.target, facts.stepped_by, 0, (), ())

    monkeypatch.setattr("gradlife.hunting.steps.schedule.time.monotonic", lambda: now[0])
    monkeypatch.setattr("gradlife.hunting.session.report.judgement_of", judge_slowly)
    hunt = Hunt(SCHEDULE)
    hunt.clock.start()
    report_of(hunt, FACTS)
    hunt.clock.stop()
    assert hunt.clock.seconds < 100.0


@pytest.mark.whole
def test_a_report_in_the_midst_of_a_round_has_its_own_share() -> None:
    assert hunted(60)[1][0] == (True, True, True, True)


class KeepsResult(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


@pytest.mark.whole
def test_cycles_of_the_program_are_its_own_even_where_one_hangs_on_something_planted() -> None:
    weight = torch.ones(8, requires_grad=True)
    hunt = Hunt(SCHEDULE)
    counter = Counter(hunt)
    for _ in range(SCHEDULE.warmup + sum(ROUNDS)):
        result = KeepsResult.apply(weight)
        result.grad_fn.kept = result.sin()
        for planted in hunt.controls._contexts[:1]:
            planted().kept.tied = result.grad_fn.kept  # type: ignore[union-attr]
        counter.step()
    del result
    report = report_of(hunt, FACTS)
    hunt.close()
    assert [one.kind for one in report.findings] == ["never"]
    assert all(one.is_right for one in report.controls)


SHORT = """
import sys, torch
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import Schedule

rounds = tuple(map(int, sys.argv[1].split(",")))
hunt = Hunt(Schedule(2, rounds, extension=(), confirmation=(), recorded=0, collector=0, watched=0))
counter, history = Counter(hunt), []
weight = torch.ones(2, 4, requires_grad=True)
for number in range(2 + sum(rounds)):
    noise = [torch.ones(4) for _ in range(number % 7)]  # addresses come and go
    loss = (torch.ones(3, 2) @ weight).tanh().sum()
    loss.backward()
    history.append(loss)
    counter.step()
report = report_of(hunt, TargetFacts("train.py", "backward"))
hunt.close()
print([one.code for one in report.findings], [one.is_right for one in report.controls])
"""


@pytest.mark.whole
@pytest.mark.parametrize("rounds", ["3,17", "5,5,13", "5,7,15", "2,2,3,23"])
def test_short_and_uneven_rounds_judge_what_was_planted_rightly(rounds: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHORT, rounds], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stdout.strip() == "['GL402'] [True, True, True, True]"


@pytest.mark.whole
def test_what_was_planted_is_judged_wrongly_where_nothing_is_seen_to_be_new(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradlife.hunting.growth import rounds as module

    monkeypatch.setattr(module, "grown_groups", lambda evidence: ([], []))
    assert hunted()[1][-1] == (False, False, True, True)


@pytest.mark.whole
def test_what_was_planted_is_left_out_of_every_round_whole() -> None:
    from gradlife.pytest_plugin.checks.growth import hunted as hunted_function

    report = hunted_function(lambda: torch.ones(3), rounds=5, calls=7, warmup=7)
    counted = {(one.added.tensors, one.added.storages, one.added.graph_nodes) for one in report.rounds}
    assert (counted, report.trouble) == ({(0.0, 0.0, 0.0)}, "")


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap], ids=["grad", "vmap"])
def test_controls_are_planted_inside_a_function_that_torch_func_transforms(transform: Any) -> None:
    """The hunt failed there: torch.func.grad takes no saved-tensor hooks, and a Function needs another form."""
    planting = controls.Controls()

    def step(x: Any) -> Any:
        planting.plant(12, 12)
        return (x * x).sum()

    shape = (2, 3) if transform is torch.func.vmap else (3,)
    result = transform(step)(torch.ones(shape))
    assert result.shape == ((2,) if transform is torch.func.vmap else (3,))
    assert [len(planting.held), len(planting.plantings[0].cycles)] == [3, 3]
    assert not any(map(torch._C._functorch.is_functorch_wrapped_tensor, planting.held))
    planting.uproot()


def test_a_service_waits_for_fewer_planted_leaks() -> None:
    service = controls.Controls(controls.MAX_STEPS_OF_SERVICE)
    try:
        service.plant(1_000_000, 1_000_000)
        assert [len(one.cycles) for one in service.plantings] == [100]
    finally:
        service.uproot()
