"""Containers inside a container that take turns in growing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth.reachable_growth import grown_groups  # noqa: E402
from hunting.growth.test_per_object_growth import findings  # noqa: E402
from step_evidence import evidence, has_tensors  # noqa: E402

Step = Callable[[int], None]

#: Rounds that are no multiples of an epoch of ten steps.
LENGTHS = (3, 7, 8, 11)


class Epoch:
    """Keeps the outputs of its steps."""

    def __init__(self) -> None:
        self.outputs: list[Any] = []


@pytest.mark.whole
@pytest.mark.parametrize("lengths", [LENGTHS, (5, 5, 5, 5), (3, 29, 31, 61)], ids=str)
def test_lists_of_a_dict_that_take_turns_are_one_finding_that_names_the_dict(lengths: tuple[int, ...]) -> None:
    kept: dict[int, list[Any]] = {}

    def step(number: int) -> None:
        kept.setdefault(number // 10, []).append(torch.ones(8))

    (one,) = findings(evidence(step, *lengths))
    assert one.code in {"GL511", "GL512"}
    assert one.grows_at is not None
    assert "kept" in one.trace.steps[one.grows_at - 1].via
    assert one.per_step.tensors == pytest.approx(1, abs=0.1)


@pytest.mark.whole
def test_graphs_kept_in_lists_of_a_dict_are_one_finding() -> None:
    weight = torch.ones(8, requires_grad=True)
    kept: defaultdict[int, list[Any]] = defaultdict(list)

    def step(number: int) -> None:
        kept[number // 10].append((weight * number).relu())

    (one,) = findings(evidence(step, *LENGTHS))
    assert one.code == "GL402"
    assert one.diagnosis.advice.code == "kept[number // 10].append((weight * number).relu().detach())"


@pytest.mark.whole
def test_objects_of_an_epoch_that_keep_lists_are_one_finding_that_names_the_list_of_them() -> None:
    epochs: list[Epoch] = []

    def step(number: int) -> None:
        if number % 10 == 0:
            epochs.append(Epoch())
        epochs[-1].outputs.append(torch.ones(8))

    (one,) = findings(evidence(step, *LENGTHS))
    assert one.grows_at is not None
    assert "epochs" in one.trace.steps[one.grows_at - 1].via


@pytest.mark.whole
def test_a_list_of_lists_is_one_finding_that_names_the_outer_list() -> None:
    kept: list[list[Any]] = []

    def step(number: int) -> None:
        if number % 12 == 0:
            kept.append([])
        kept[-1].append((number, torch.ones(8)))

    (one,) = findings(evidence(step, *LENGTHS))
    assert one.grows_at is not None
    assert "kept" in one.trace.steps[one.grows_at - 1].via


@pytest.mark.whole
def test_lists_made_beforehand_that_take_turns_are_one_finding() -> None:
    kept: list[list[Any]] = [[] for _ in range(10)]

    def step(number: int) -> None:
        kept[number // 9].append(torch.ones(8))

    (one,) = findings(evidence(step, *LENGTHS))
    assert one.grows_at is not None
    assert "kept" in one.trace.steps[one.grows_at - 1].via


@pytest.mark.whole
def test_a_new_list_that_gets_some_of_every_round_is_no_chain() -> None:
    kept: defaultdict[int, list[Any]] = defaultdict(list)

    def step(number: int) -> None:
        kept[number * number % 7].append(torch.ones(8))

    for one in findings(evidence(step, 3, 5, 7, 19)):
        assert one.code in {"GL511", "GL512"}
        assert one.grows_at is not None


def dropped(number: int, kept: dict[int, list[Any]]) -> None:
    """Keep the lists of the last two epochs."""
    kept.setdefault(number // 7, []).append(torch.ones(8))
    kept.pop(number // 7 - 2, None)


def filled(number: int, kept: dict[int, list[Any]]) -> None:
    """Keep eight tensors for each of five keys."""
    one = kept.setdefault(number % 5, [])
    one.append(torch.ones(8))
    del one[:-8]


def cleared(number: int, kept: dict[int, list[Any]]) -> None:
    """Keep the tensors of an epoch until it ends."""
    if number % 9 == 0:
        for one in kept.values():
            one.clear()
    kept.setdefault(number % 2, []).append(torch.ones(8))


@pytest.mark.whole
@pytest.mark.parametrize("alike", [dropped, filled, cleared])
def test_lists_of_a_dict_that_stay_bounded_do_not_grow(alike: Callable[[int, dict[int, list[Any]]], None]) -> None:
    kept: dict[int, list[Any]] = {}
    found = evidence(lambda number: alike(number, kept), *(LENGTHS if alike is not filled else (60, 7, 8, 11)))
    grown, _ = grown_groups(found)
    assert [one for one in grown if has_tensors(found, one.group.members)] == []
