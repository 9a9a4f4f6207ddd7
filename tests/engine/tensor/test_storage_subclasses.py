"""Storages made by hand, and what their subclasses keep while only a tensor holds them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Mark, text_of


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


made: Any = torch.UntypedStorage


class Told(torch.UntypedStorage):
    ended = 0
    mark: Any

    def __del__(self) -> None:
        Told.ended += 1


def test_a_storage_is_made_of_a_size_of_bytes_or_of_nothing() -> None:
    assert torch.UntypedStorage(10).nbytes() == 10
    assert torch.UntypedStorage().nbytes() == 0
    assert list(made([1, 2, 255])) == [1, 2, 255]
    copy = torch.UntypedStorage(torch.UntypedStorage([7]))
    assert copy[0] == 7


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (
            lambda: torch._C.StorageBase(),
            RuntimeError,
            "Cannot directly construct StorageBase; subclass it and then construct that",
        ),
        (
            lambda: torch.UntypedStorage(3.5),
            RuntimeError,
            "torch.UntypedStorage(): Expected a sequence type, but got float",
        ),
        (lambda: torch.UntypedStorage(-1), RuntimeError, "Trying to create a storage with a negative size: -1"),
        (
            lambda: made(2, 3),
            TypeError,
            "torch.UntypedStorage() received an invalid combination of arguments",
        ),
        (lambda: torch.UntypedStorage(2)[2], IndexError, "index 2 out of range for storage of size 2"),
    ],
)
def test_what_is_no_storage_is_refused(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        make()
    assert text_of(error) == text


def test_a_storage_goes_with_its_last_name_and_what_hangs_on_it_too() -> None:
    storage = made(2)
    storage.mark = Mark()
    gone = weakref.ref(storage.mark)
    again = storage
    del storage
    assert gone() is not None
    del again
    assert gone() is None


def test_a_subclass_lives_as_long_as_a_tensor_on_it_and_ends_once() -> None:
    Told.ended = 0
    storage = Told(8)
    storage.mark = 3
    tensor = torch.tensor(storage)
    del storage
    assert Told.ended == 0
    again: Any = tensor.untyped_storage()
    assert type(again) is Told
    assert again.mark == 3
    del tensor
    assert Told.ended == 0
    del again
    assert Told.ended == 1


def test_under_the_older_policy_a_subclass_is_brought_back_and_ends_once() -> None:
    Told.ended = 0
    with torch.profile("torch-2.9"):
        storage: Any = Told(8)
        storage.mark = 3
        tensor = torch.tensor(storage)
        del storage
        assert Told.ended == 0
        again: Any = tensor.untyped_storage()
        assert (type(again), again.mark) == (Told, 3)
        del tensor, again
    assert Told.ended == 1


def test_slots_are_freed_and_seen_by_the_collector() -> None:
    class Slotted(torch._C.StorageBase):
        __slots__ = ("one",)

    class More(Slotted):
        __slots__ = ("two",)

    storage: Any = More(2)
    mark = Mark()
    gone = weakref.ref(mark)
    storage.one, storage.two = mark, storage
    del mark, storage
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_a_tensor_of_a_storage_shares_its_memory() -> None:
    storage = torch.UntypedStorage([1, 0, 0, 0, 0, 0, 0, 0])
    tensor: Any = torch.tensor(storage)
    assert (tensor.tolist(), tensor.dtype) == ([1], torch.int64)
    assert tensor.untyped_storage() is storage
    tensor.add_(1)
    assert storage[0] == 2


def test_a_clone_of_a_subclass_is_of_that_class() -> None:
    result: Any = Told([1, 2, 250])
    clone: Any = result.clone()
    assert (type(clone), clone.tolist(), clone.data_ptr() == result.data_ptr()) == (Told, [1, 2, 250], False)


def test_a_clone_keeps_bytes_that_are_neither_true_nor_false() -> None:
    assert made([0, 1, 2, 255]).clone().tolist() == [0, 1, 2, 255]
