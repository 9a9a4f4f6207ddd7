"""Growth that begins after the first verdict."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth.controls import Controls  # noqa: E402
from gradlife.hunting.growth.late_growth import begun_late, places_begun_late  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import Collect, take_snapshot  # noqa: E402
from gradlife.model.growth import GrowthKind  # noqa: E402

#: Steps at the snapshots; three of these precede the first verdict.
LOOKS, EARLY = (0, 5, 12, 30, 42, 58, 79, 107), 3


def found_late(step: Callable[[int], object], collect: Collect = Collect.ALL) -> list[GrowthKind]:
    """Return the kinds of what grows in the last late rounds."""
    snapshots = []
    for before, after in zip((0, *LOOKS), LOOKS, strict=False):
        for number in range(before, after):
            step(number)
        snapshots.append(take_snapshot(after, with_labels=after == LOOKS[-1], collect=collect))
    graph = snapshots[-1].graph
    found = begun_late(snapshots, EARLY, Controls(), [])
    tensors = [one for one in found if any(graph.kind(node) in {"storage", "tensor"} for node in one.group.members)]
    return [one.kind for one in tensors]


@pytest.mark.whole
def test_a_list_that_was_made_after_the_first_verdict_and_grows_is_found() -> None:
    """A container had to be there at each snapshot, the one after five steps included."""
    state: Any = SimpleNamespace(kept=None)

    def step(number: int) -> None:
        if number == 20:
            state.kept = []
        if state.kept is not None:
            state.kept.append(torch.ones(8))

    assert found_late(step) == [GrowthKind.CONTAINER]


@pytest.mark.whole
@pytest.mark.parametrize("period", [9, 20, 25])
def test_a_list_that_is_emptied_after_every_epoch_is_not(period: int) -> None:
    kept: list[Any] = []

    def step(number: int) -> None:
        kept.append(torch.ones(8))
        if number % period == period - 1:
            kept.clear()

    assert found_late(step) == []


@pytest.mark.whole
def test_a_tensor_that_gets_longer_once_an_epoch_is_found() -> None:
    state = SimpleNamespace(seen=torch.zeros(0, 64))

    def step(number: int) -> None:
        if number > 20 and number % 5 == 0:
            state.seen = torch.cat([state.seen, torch.zeros(4, 64)])

    assert found_late(step) == [GrowthKind.LARGER]


@pytest.mark.whole
def test_the_place_of_a_tensor_that_gets_larger_late_is_watched() -> None:
    """Whether it was made of the last one was asked in the first rounds only: a larger batch of a later phase was a leak."""
    state = SimpleNamespace(batch=torch.zeros(8, 64), rows=[])
    snapshots = []
    for before, after in zip((0, *LOOKS), LOOKS, strict=False):
        for number in range(before, after):
            state.batch = torch.zeros(8 if number < 20 else number, 64)
        snapshots.append(take_snapshot(after))
    assert len(places_begun_late(snapshots, EARLY, Controls())) == 1
    assert places_begun_late(snapshots[:-2], EARLY, Controls()) == ()  # too few late rounds


class Double(torch.autograd.Function):  # type: ignore[misc, name-defined, unused-ignore]
    """Its node can hold what it made."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


@pytest.mark.whole
def test_a_cycle_that_no_collector_frees_is_found_if_collections_precede_the_snapshots() -> None:
    def step(number: int) -> None:
        if number % 3 == 0:
            made = Double.apply(torch.ones(8, requires_grad=True))
            made.grad_fn.kept = made.sin()

    assert found_late(step) == [GrowthKind.UNREACHABLE]
    assert found_late(step, Collect.NOTHING) == []
