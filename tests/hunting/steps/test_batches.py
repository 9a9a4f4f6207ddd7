"""Batches of a DataLoader count where no optimizer does."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator

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
