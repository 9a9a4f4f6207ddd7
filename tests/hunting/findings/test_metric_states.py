"""What a metric keeps on purpose, until its own `reset()` empties it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.findings.builder import growth_finding  # noqa: E402
from gradlife.hunting.findings.causes import GrowingGroup, one_per_cause  # noqa: E402
from gradlife.hunting.findings.severity import Room, with_severity  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, grown_groups  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from gradlife.hunting.steps.schedule import Schedule  # noqa: E402
from gradlife.model.hunt import Finding, HuntVerdict, Severity  # noqa: E402
from script_hunts import hunted, repeated  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402

LENGTHS = (3, 7, 8, 11)
ROOM = Room(1 << 33, 1e6)


class Auc:
    """Keeps all scores; `reset` clears them."""

    def __init__(self) -> None:
        self.scores: list[Any] = []
        self.seen: list[Any] = []

    def update(self, score: Any) -> None:
        self.scores.append(score)

    def compute(self) -> Any:
        return torch.stack(self.scores).mean()

    def reset(self) -> None:
        self.scores.clear()


class Pairs(Auc):
    """Has two states."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[Any] = []

    def update(self, score: Any) -> None:
        self.scores.append(score)
        self.targets.append(score.clone())

    def reset(self) -> None:
        self.scores, self.targets = [], []


class Assigned(Auc):
    """Its `reset` makes another list."""

    def reset(self) -> None:
        self.scores = []


class Declared(Auc):
    """Its `reset` sets every declared state to its default value, as torchmetrics does."""

    def __init__(self) -> None:
        super().__init__()
        self.defaults: dict[str, Any] = {"scores": []}

    def reset(self) -> None:
        for name, value in self.defaults.items():
            setattr(self, name, list(value))


class OnlyReset(Auc):
    """No metric: it computes nothing."""

    compute = None  # type: ignore[assignment]


class Joined:
    """Keeps all scores in one tensor; `reset` begins a new one."""

    scores: Any

    def __init__(self) -> None:
        self.reset()

    def update(self, score: Any) -> None:
        self.scores = torch.cat([self.scores, score])

    def compute(self) -> Any:
        return self.scores.mean()

    def reset(self) -> None:
        self.scores = torch.zeros(0, 64)


class Endless(Joined):
    """Its `reset` keeps everything."""

    def __init__(self) -> None:
        self.scores = torch.zeros(0, 64)

    def reset(self) -> None:
        print(self.scores.shape)


class KeepsOnReset(Auc):
    """Its `reset` reads what it keeps, and keeps it."""

    def reset(self) -> None:
        print(len(self.scores))


def grown(metric: Any, name: str = "scores", has_graph: bool = False) -> Finding:
    """The finding of a metric that gets a value at each step and is not reset."""
    weight = torch.ones(8, requires_grad=has_graph)
    return only(evidence(lambda number: getattr(metric, name).append(weight * number), *LENGTHS))


def only(found: Evidence) -> Finding:
    """The one finding with tensors, as the table of expectations judges it."""
    (one,) = (one for one in judged(found, ROOM.free)[0] if one.per_step.storages or one.per_step.bytes)
    return with_severity(one, ROOM)


@pytest.mark.whole
@pytest.mark.parametrize("kind", [Auc, Assigned])
def test_what_a_metric_keeps_until_its_reset_is_a_note(kind: type[Auc]) -> None:
    one = grown(kind())
    assert (one.code, one.severity) == ("GL514", Severity.NOTE)
    assert "its reset() empties it" in one.diagnosis.reason
    assert one.diagnosis.advice.code == "value = metric.compute()\nmetric.reset()"


@pytest.mark.whole
def test_a_reset_that_sets_the_declared_states_by_name_empties_them() -> None:
    assert grown(Declared()).code == "GL514"


@pytest.mark.whole
def test_a_list_that_is_no_declared_state_is_not_emptied_by_such_a_reset() -> None:
    one = grown(Declared(), "seen")
    assert (one.code, one.severity) == ("GL512", Severity.MAJOR)


@pytest.mark.whole
@pytest.mark.parametrize("kind", [OnlyReset, KeepsOnReset])
def test_an_object_whose_reset_does_not_make_it_a_metric_is_a_leak(kind: type[Auc]) -> None:
    assert grown(kind()).code == "GL512"


@pytest.mark.whole
def test_states_of_one_metric_are_one_finding() -> None:
    metric, other = Pairs(), Pairs()

    def step(number: int) -> None:
        metric.update(torch.ones(8))
        other.update(torch.ones(8))

    found = evidence(step, *LENGTHS)
    grown, _ = grown_groups(found)
    groups = [GrowingGroup(one, growth_finding(found.graph, one, CreationSites())) for one in grown]
    mine = [one for one in one_per_cause(found.graph, groups) if one.code == "GL514"]
    assert [(one.consequences, round(one.per_step.tensors)) for one in mine] == [(1, 2), (1, 2)]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("kind", "code", "severity"), [(Joined, "GL514", Severity.NOTE), (Endless, "GL704", Severity.MAJOR)]
)
def test_a_tensor_that_a_metric_makes_longer_until_its_reset_is_a_note(
    kind: type[Joined], code: str, severity: Severity
) -> None:
    """Only lists were; the tensor of such a metric was a leak."""
    metric = kind()
    one = only(evidence(lambda number: metric.update(torch.ones(8, 64)), *LENGTHS))
    assert (one.code, one.severity) == (code, severity)
    is_state = code == "GL514"
    assert ("its reset() empties it" in one.diagnosis.reason) == is_state
    assert (one.diagnosis.advice.code == "value = metric.compute()\nmetric.reset()") == is_state


@pytest.mark.whole
def test_graphs_in_a_metric_are_a_leak() -> None:
    one = grown(Auc(), has_graph=True)
    assert (one.code, one.severity) == ("GL402", Severity.MAJOR)


@pytest.mark.whole
def test_a_metric_that_would_fill_the_memory_is_minor() -> None:
    metric = Auc()
    one = only(evidence(lambda number: metric.update(torch.ones(1 << 15)), *LENGTHS))
    assert one.severity is Severity.MINOR


@pytest.mark.whole
def test_the_declared_states_of_a_metric_that_is_older_than_the_hunt_are_known() -> None:
    """Snapshots of a whole hunt name the entries of new containers alone: each metric of torchmetrics was a leak."""
    metric = Declared()
    report = hunted(Schedule(may_end=True), repeated(lambda: metric.update(torch.ones(8)), 120))
    assert [(one.code, one.severity) for one in report.findings] == [("GL514", Severity.NOTE)]
    assert report.verdict is HuntVerdict.CLEAN
