"""Making tensors, and getting values out: factories, nested lists, numpy both ways, conversions, random numbers."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradlife.engine as torch

Make = Callable[[Any], Any]

MADE: dict[str, Make] = {
    "zeros": lambda fw: fw.zeros(2, 3),
    "zeros of a size": lambda fw: fw.zeros((2, 3), dtype=fw.float64),
    "zeros by name": lambda fw: fw.zeros(size=(2, 3)),
    "ones of nothing": lambda fw: fw.ones(()),
    "ones of an empty": lambda fw: fw.ones(0, 3),
    "ints": lambda fw: fw.ones(2, dtype=fw.int64),
    "bools": lambda fw: fw.zeros(2, dtype=fw.bool),
    "full of an int": lambda fw: fw.full((2,), 7),
    "full of a float": lambda fw: fw.full((2,), 0.5),
    "full of a bool": lambda fw: fw.full((2,), True),
    "zeros like": lambda fw: fw.zeros_like(fw.ones(3, 2).t()),
    "ones like, double": lambda fw: fw.ones_like(fw.ones(3, 2), dtype=fw.float64),
    "arange": lambda fw: fw.arange(5),
    "arange from": lambda fw: fw.arange(1, 8, 3),
    "arange down": lambda fw: fw.arange(5, 0, -2),
    "arange of floats": lambda fw: fw.arange(0, 1, 0.25),
    "arange named": lambda fw: fw.arange(start=1, end=3, dtype=fw.float64),
    "an int": lambda fw: fw.tensor(3),
    "a float": lambda fw: fw.tensor(2.5),
    "a bool": lambda fw: fw.tensor(True),
    "a list": lambda fw: fw.tensor([1.0, 2.0]),
    "a list of mixed": lambda fw: fw.tensor([1, 2.5, True]),
    "nested": lambda fw: fw.tensor([[1, 2], (3, 4)]),
    "empty list": lambda fw: fw.tensor([]),
    "empty lists": lambda fw: fw.tensor([[], []]),
    "as double": lambda fw: fw.tensor([1, 2], dtype=fw.float64),
    "of tensors": lambda fw: fw.tensor([fw.tensor(1.0, dtype=fw.float64), 2]),
    "of an array": lambda fw: fw.tensor(np.arange(6.0).reshape(2, 3)[:, ::2]),
    "of arrays": lambda fw: fw.tensor([[np.float32(1), np.float32(2)]]),
    "of a numpy scalar": lambda fw: fw.tensor(np.float64(1.5)),
    "to ints": lambda fw: fw.tensor([1.9, -1.9]).long(),
    "to bools": lambda fw: fw.tensor([0.0, 0.5]).bool(),
    "bools to floats": lambda fw: fw.tensor([True, False]).float(),
    "to another's dtype": lambda fw: fw.ones(2).to(fw.tensor([1])),
    "ints by ints": lambda fw: fw.tensor([1, 2]) / fw.tensor([2, 4]),
    "ints plus a float": lambda fw: fw.tensor([1, 2]) + 0.5,
    "bools plus bools": lambda fw: fw.tensor([True, False]) + fw.tensor([True, True]),
    "sum of bools": lambda fw: fw.tensor([True, True]).sum(),
    "double plus a number": lambda fw: fw.ones(2, dtype=fw.float64) + 1,
    "float plus one double": lambda fw: fw.ones(2) + fw.tensor(1.0, dtype=fw.float64),
    "comparison": lambda fw: fw.tensor([1.0, 2.0]) >= 2,
    "all": lambda fw: (fw.ones(3) > 0).all(),
    "any": lambda fw: (fw.ones(3) > 1).any(),
    "cat of two dtypes": lambda fw: fw.cat([fw.ones(1), fw.ones(2, dtype=fw.float64)]),
    "cat with an empty one": lambda fw: fw.cat([fw.ones(0), fw.ones(2, 3)]),
    "integer powers": lambda fw: fw.tensor([2, -3]) ** 3,
    "integer product": lambda fw: fw.tensor([[1, 2], [3, 4]]) @ fw.tensor([[1, 0], [1, 1]]),
}


def looked_at(tensor: Any) -> tuple[Any, ...]:
    strides = tensor.stride() if tensor.numel() else ()
    return tensor.tolist(), tuple(tensor.shape), str(tensor.dtype), strides, tensor.requires_grad


@pytest.mark.torch
def test_what_is_made_is_what_torch_makes() -> None:
    real = pytest.importorskip("torch")
    ours, theirs = ({name: looked_at(make(fw)) for name, make in MADE.items()} for fw in (torch, real))
    assert ours == theirs


def test_requires_grad_is_an_option_of_every_factory() -> None:
    makes: list[Callable[..., Any]] = [
        lambda **options: torch.ones(2, **options),
        lambda **options: torch.randn(2, **options),
        lambda **options: torch.full((2,), 1.0, **options),
        lambda **options: torch.tensor([1.0], **options),
        lambda **options: torch.zeros_like(torch.ones(2), **options),
        lambda **options: torch.arange(3.0, **options),
    ]
    assert [make(requires_grad=True).requires_grad for make in makes] == [True] * len(makes)
    assert [make().requires_grad for make in makes] == [False] * len(makes)


def test_a_tensor_of_an_array_shares_its_memory_and_keeps_it_alive() -> None:
    values = np.zeros((2, 3))
    tensor = torch.from_numpy(values[:, 1:])
    values[1, 2] = 5
    assert tensor.tolist() == [[0, 0], [0, 5]]
    tensor[0, 0] = 7
    assert values[0, 1] == 7
    owner = weakref.ref(values)
    del values
    assert owner() is not None
    assert tensor.dtype is torch.float64
    del tensor
    gc.collect()
    assert owner() is None


def test_an_array_of_a_tensor_shares_its_memory_and_keeps_it_alive() -> None:
    tensor = torch.ones(2, 3)
    array = tensor.t().numpy()
    array[2, 0] = 4
    assert tensor[0, 2].item() == 4
    storage = weakref.ref(tensor.untyped_storage())
    del tensor
    assert storage() is not None
    assert array.shape == (3, 2)
    assert array.dtype == np.float32
    del array
    gc.collect()
    assert storage() is None


def test_an_array_holds_a_tensor_of_its_own_not_the_one_it_was_asked_of() -> None:
    tensor = torch.ones(2)
    before = sys.getrefcount(tensor)
    array = tensor.numpy()
    assert sys.getrefcount(tensor) == before
    assert isinstance(array.base, torch.Tensor)
    assert array.base is not tensor
    assert not hasattr(array.base, "__array_interface__")


def test_numpy_reads_a_tensor_as_an_array() -> None:
    assert np.asarray(torch.arange(3)).tolist() == [0, 1, 2]
    assert (torch.ones(2) * np.float32(2)).tolist() == [2, 2]
    assert (np.float64(2) * torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("array", "error", "text"),
    [
        ([1.0], TypeError, "expected np.ndarray (got list)"),
        (np.ones(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.ones(3, ">f8"), ValueError, "given numpy array has byte order different from the native byte order"),
        (np.ones(3, "int16"), TypeError, "can't convert np.ndarray of type numpy.int16"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
    ],
)
def test_an_array_that_can_not_be_shared_is_refused(array: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        torch.from_numpy(array)
    assert str(raised.value).startswith(text)


def test_a_read_only_array_is_shared_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        tensor = torch.from_numpy(np.broadcast_to(np.ones(1), (3,)))
    assert tensor.tolist() == [1, 1, 1]


def test_a_tensor_of_a_tensor_is_a_copy_with_a_warning() -> None:
    source = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        copied = torch.tensor(source)
    copied[0] = 5
    assert source.tolist() == [1, 1]
    assert not copied.requires_grad


def test_random_numbers_repeat_from_a_seed() -> None:
    torch.manual_seed(3)
    first = [torch.rand(4).tolist(), torch.randn(5).tolist(), torch.ones(3).uniform_(-1, 1).tolist()]
    torch.manual_seed(3)
    assert [torch.rand(4).tolist(), torch.randn(5).tolist(), torch.ones(3).uniform_(-1, 1).tolist()] == first
    assert torch.initial_seed() == 3
    torch.manual_seed(4)
    assert torch.rand(4).tolist() != first[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_random_numbers_have_the_moments_they_should(dtype: Any) -> None:
    torch.manual_seed(0)
    even, normal = torch.rand(100_000, dtype=dtype), torch.randn(100_000, dtype=dtype)
    assert (even >= 0).all().item()
    assert (even < 1).all().item()
    assert even.mean().item() == pytest.approx(0.5, abs=0.01)
    assert normal.mean().item() == pytest.approx(0, abs=0.02)
    assert (normal * normal).mean().item() == pytest.approx(1, abs=0.02)


def test_a_tensor_too_large_for_memory_is_a_memory_error() -> None:
    with pytest.raises(MemoryError):
        torch.zeros(10**9, 10**9)
    with pytest.raises(MemoryError):
        torch.empty(2**62)


def test_nine_dimensions_are_refused_in_one_line() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.zeros(*[1] * 9)
    assert str(error.value) == "gradlife's engine supports at most 8 dimensions"
    deep: Any = 1.0
    for _ in range(9):
        deep = [deep]
    with pytest.raises(RuntimeError):
        torch.tensor(deep)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RuntimeError, match="at most 8 dimensions"):
        torch.tensor(endless)
    endless.clear()
