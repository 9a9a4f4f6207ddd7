"""Batches of a DataLoader count where no optimizer does."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator

import pytest

from gradlife.hunting.steps.batches import WARMUP_BATCHES, BatchSteps


class Loader:
    """As torch's: its iterator's `__next__` gives the batches."""

    def __next__(self) -> int:
        return 1


def hears(steps: list[str]) -> tuple[BatchSteps, Iterator[int]]:
    def begin(name: str) -> Callable[[], object]:
        return lambda: steps.append(name)

    class Iterating(Loader):
        def __iter__(self) -> Iterator[int]:
            return self

    batches = BatchSteps(begin)
    batches.attach(types.SimpleNamespace(_BaseDataLoaderIter=Iterating))
    return batches, Iterating()


def test_each_batch_is_a_step_once_there_were_some() -> None:
    steps: list[str] = []
    _, taken = hears(steps)
    for _ in range(WARMUP_BATCHES + 1 + 3):
        next(taken)
    assert steps == ["batch of a DataLoader"] * 3


def test_no_batch_is_a_step_where_an_optimizer_is_stepped_by() -> None:
    steps: list[str] = []
    batches, taken = hears(steps)
    next(taken)
    batches.is_wanted = False
    for _ in range(30):
        next(taken)
    assert steps == []


class Pass:
    """The iterator of one pass over a loader with this many batches."""

    def __init__(self, batches: int) -> None:
        self._left = batches

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self._left -= 1
        if self._left < 0:
            raise StopIteration
        return 1


def passes_that_count(steps: list[str]) -> type[Pass]:
    """Return a class of passes whose batches are counted."""

    class Hooked(Pass):
        pass

    BatchSteps(lambda name: lambda: steps.append(name)).attach(types.SimpleNamespace(_BaseDataLoaderIter=Hooked))
    return Hooked


@pytest.mark.parametrize("size", [1, 3])
def test_a_pass_over_a_loader_has_as_many_steps_as_batches(size: int) -> None:
    """Each pass counted one more, because its end and the first batch of the next one counted the same batch."""
    steps: list[str] = []
    one_pass = passes_that_count(steps)
    for _ in range(WARMUP_BATCHES + 30):
        list(one_pass(size))
    assert len(steps) == size * (WARMUP_BATCHES + 30) - WARMUP_BATCHES


def test_an_iterator_that_is_left_after_one_batch_gives_a_step() -> None:
    steps: list[str] = []
    one_pass = passes_that_count(steps)
    for _ in range(WARMUP_BATCHES + 1 + 3):
        next(one_pass(5))
    assert len(steps) == 3


def test_loaders_that_take_turns_have_one_step_for_each_turn() -> None:
    """`for a, b in zip(labelled, unlabelled)` counted each step twice."""
    steps: list[str] = []
    hooked = passes_that_count(steps)
    for _ in range(3):
        for _ in zip(hooked(20), hooked(20), hooked(40), strict=False):
            pass
    assert len(steps) == 3 * 20 - WARMUP_BATCHES


def test_loaders_one_after_the_other_count_all_batches() -> None:
    steps: list[str] = []
    hooked = passes_that_count(steps)
    for _ in range(3):
        for size in (20, 5):
            for _ in hooked(size):
                pass
    assert len(steps) == 3 * 25 - WARMUP_BATCHES


def test_a_loader_in_the_loop_of_another_counts_if_it_has_many_batches() -> None:
    steps: list[str] = []
    hooked = passes_that_count(steps)
    for _ in hooked(2):
        for _ in hooked(100):
            pass
    assert len(steps) > 2 * (100 - 2 * WARMUP_BATCHES)
