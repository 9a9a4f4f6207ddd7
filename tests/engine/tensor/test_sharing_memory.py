"""Memory that tensors share with each other, with storages and with NumPy, and who keeps it alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of

numpy = pytest.importorskip("numpy")


def test_from_numpy_shares_memory_in_both_directions() -> None:
    array = numpy.array([1.0, 2.0], dtype=numpy.float32)
    tensor = torch.from_numpy(array)
    assert tensor.dtype is torch.float32
    array[0] = 7
    tensor[1] = 8
    assert tensor.tolist() == array.tolist() == [7.0, 8.0]
    assert tensor.data_ptr() == array.__array_interface__["data"][0]


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "bool"])
def test_from_numpy_keeps_the_dtype(name: str) -> None:
    array = numpy.zeros(2, dtype=name)
    assert str(torch.from_numpy(array).dtype) == f"torch.{name}"
    assert torch.from_numpy(array).numpy().dtype == array.dtype


@pytest.mark.parametrize(
    ("interface", "error"),
    [
        ({}, "ValueError: __array_interface__ has no 'typestr'"),
        ({"typestr": "<f4"}, "ValueError: __array_interface__ has no 'shape'"),
        ({"typestr": "<f4", "shape": (1,)}, "ValueError: __array_interface__ has no 'data'"),
        (None, "TypeError: __array_interface__ is no dict"),
    ],
)
def test_an_array_that_describes_itself_wrongly_is_refused(interface: Any, error: str) -> None:
    class Strange(numpy.ndarray):  # type: ignore[name-defined,misc]
        __array_interface__ = interface

    with pytest.raises((ValueError, TypeError)) as raised:
        torch.from_numpy(numpy.zeros(1, dtype=numpy.float32).view(Strange))
    assert f"{type(raised.value).__name__}: {raised.value}" == error


def test_from_numpy_keeps_strides() -> None:
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    assert torch.from_numpy(array.T).stride() == (1, 3)
    assert torch.from_numpy(array[:, ::2]).tolist() == [[0.0, 2.0], [3.0, 5.0]]


def test_from_numpy_keeps_the_array_alive_as_long_as_the_storage() -> None:
    class Watched(numpy.ndarray):  # type: ignore[misc, name-defined]
        pass

    array = numpy.ones(3, dtype=numpy.float32).view(Watched)
    alive = weakref.ref(array)
    tensor = torch.from_numpy(array)
    view = tensor[1:]
    del array, tensor
    gc.collect()
    assert alive() is not None
    assert view.tolist() == [1.0, 1.0]
    del view
    assert alive() is None


def test_numpy_of_a_tensor_shares_memory_and_keeps_the_storage_alive_but_not_the_tensor() -> None:
    tensor = torch.ones(3)
    array = tensor.numpy()
    array[1] = 5
    assert tensor.tolist() == [1.0, 5.0, 1.0]
    alive, storage_alive = weakref.ref(tensor), weakref.ref(tensor.untyped_storage())
    del tensor
    assert alive() is None
    assert storage_alive() is not None
    assert array.tolist() == [1.0, 5.0, 1.0]
    del array
    assert storage_alive() is None


def test_numpy_there_and_back_is_the_same_memory() -> None:
    array = numpy.ones(2, dtype=numpy.float32)
    assert torch.from_numpy(array).numpy().__array_interface__["data"] == array.__array_interface__["data"]
    assert torch.from_numpy(array.copy()).t().numpy().tolist() == [1.0, 1.0]


def test_numpy_refuses_a_tensor_that_requires_grad() -> None:
    with pytest.raises(RuntimeError) as error:
        leaf(1.0).numpy()
    assert text_of(error) == "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    assert leaf(1.0).detach().numpy().tolist() == [1.0]


def test_from_numpy_refuses_what_is_no_array_and_negative_strides() -> None:
    with pytest.raises(TypeError) as wrong:
        torch.from_numpy([1.0])
    assert text_of(wrong) == "expected np.ndarray (got list)"
    with pytest.raises(ValueError) as error:
        torch.from_numpy(numpy.ones(3, dtype=numpy.float32)[::-1])
    assert text_of(error).startswith("At least one stride in the given numpy array is negative")


def test_a_change_made_in_numpy_is_not_counted() -> None:
    x, w = leaf(2.0), torch.tensor([3.0])
    y = x * w
    w.numpy()[0] = 100
    assert w._version == 0
    y.backward()
    assert x.grad.item() == 100.0


# --- storages ---


def test_all_tensors_on_a_storage_give_the_same_storage_object() -> None:
    base = torch.zeros(4)
    storage = base.untyped_storage()
    assert base[1:].untyped_storage() is base.detach().untyped_storage() is storage
    assert storage.nbytes() == len(storage) == 16
    assert base[1:].storage_offset() == 1
    assert base[1:].data_ptr() == storage.data_ptr() + 4
    assert base.clone().untyped_storage() is not storage


def test_a_storage_keeps_attributes_and_weak_references_while_a_tensor_has_it() -> None:
    tensor = torch.zeros(4)
    tensor.untyped_storage().tag = "kept"
    alive = weakref.ref(tensor.untyped_storage())
    assert tensor.untyped_storage().tag == "kept"
    assert alive() is tensor.untyped_storage()
    del tensor
    assert alive() is None


def test_a_storage_outlives_its_tensors_while_it_is_held() -> None:
    tensor = torch.zeros(4)
    storage = tensor.untyped_storage()
    dead = weakref.ref(tensor)
    del tensor
    assert dead() is None
    assert storage.nbytes() == 16


def test_live_bytes_count_each_storage_once() -> None:
    before = torch.live_bytes()
    base = torch.zeros(1000)
    views = [base[i:] for i in range(10)]
    assert torch.live_bytes() - before == 4000
    doubles: Any = base.double()
    assert torch.live_bytes() - before == 12000
    del base, views, doubles
    assert torch.live_bytes() == before
