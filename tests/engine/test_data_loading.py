"""Data sets and loaders: what comes in which batch, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.engine.utils.data import DataLoader, Dataset, Subset, TensorDataset, default_collate


def rows(count: int = 5) -> TensorDataset:
    return TensorDataset(torch.arange(float(count)), torch.arange(count) * 10)


def test_batches_come_in_order_and_the_last_may_be_short() -> None:
    loader = DataLoader(rows(), batch_size=2)
    assert len(loader) == 3
    assert [[x.tolist(), y.tolist()] for x, y in loader] == [
        [[0.0, 1.0], [0, 10]],
        [[2.0, 3.0], [20, 30]],
        [[4.0], [40]],
    ]
    assert (
        len(list(DataLoader(rows(), batch_size=2, drop_last=True))) == len(DataLoader(rows(), 2, drop_last=True)) == 2
    )


def test_without_a_batch_size_samples_come_one_by_one() -> None:
    assert [x.item() for x, _ in DataLoader(rows(3), batch_size=None)] == [0.0, 1.0, 2.0]


def test_a_shuffled_pass_has_every_sample_once_and_a_seed_repeats_it() -> None:
    def order(seed: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        return [int(y) // 10 for _, y in DataLoader(rows(20), shuffle=True, generator=generator)]

    assert sorted(order(1)) == list(range(20))
    assert order(1) == order(1) != order(2)


def test_samples_are_collated_part_by_part() -> None:
    batch: dict[str, Any] = default_collate([{"x": torch.ones(2), "n": (1, 2.0), "s": "a"}] * 2)
    assert batch["x"].shape == (2, 2)
    assert [part.dtype for part in batch["n"]] == [torch.int64, torch.float64]
    assert batch["s"] == ["a", "a"]


def test_a_subset_is_taken_by_number_and_a_collate_function_is_called() -> None:
    loader = DataLoader(Subset(rows(), [4, 0]), batch_size=2, collate_fn=lambda batch: [x.item() for x, _ in batch])
    assert list(loader) == [[4.0, 0.0]]


def test_what_does_not_do_is_refused() -> None:
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))
    with pytest.raises(ValueError, match="batch_size should be a positive integer value, but got batch_size=0"):
        DataLoader(rows(), 0)
    with pytest.raises(ValueError, match="num_workers is 0"):
        DataLoader(rows(), num_workers=2)
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="default_collate: batch must contain"):
        default_collate([object()])
    with pytest.raises(NotImplementedError):
        Dataset()[0]
