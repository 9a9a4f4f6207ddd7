"""Data sets, and loaders that hand them out in batches; in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from gradlife import _engine
from gradlife.engine.random import Generator, drawing_from
from gradlife.engine.tensors import Tensor

__all__ = ["DataLoader", "Dataset", "Subset", "TensorDataset", "default_collate"]

_T = TypeVar("_T", covariant=True)


class Dataset(Generic[_T]):
    """Samples by number: ``__getitem__``, and ``__len__`` for loaders."""

    def __getitem__(self, index: Any) -> _T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample ``i`` is the ``i``-th row of every tensor."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class Subset(Dataset[Any]):
    """The samples of another data set with these numbers."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of these samples: tensors stacked, numbers as a tensor, containers part by part."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _engine.stack(list(batch))
    if isinstance(first, float):
        return _engine.tensor(list(batch), dtype=_engine.float64)
    if isinstance(first, int):
        return _engine.tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(list(parts)) for parts in zip(*batch, strict=True)]
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


class DataLoader:
    """Iterates over a data set in batches; each ``for`` loop goes over it once."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        if num_workers != 0:
            raise ValueError("gradlife's engine loads data in one process: num_workers is 0")
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = bool(shuffle)
        self.collate_fn = collate_fn or default_collate
        self.drop_last = drop_last
        self.generator = generator

    def __len__(self) -> int:
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        order = self._order()
        if self.batch_size is None:
            yield from (self.dataset[number] for number in order)
            return
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            yield self.collate_fn([self.dataset[number] for number in order[start : start + self.batch_size]])

    def _order(self) -> list[int]:
        numbers = list(range(len(self.dataset)))
        if not self.shuffle:
            return numbers
        with drawing_from(self.generator):
            keys = _engine.rand(len(numbers)).tolist()
        return sorted(numbers, key=keys.__getitem__)
