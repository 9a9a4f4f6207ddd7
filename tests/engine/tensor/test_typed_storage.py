"""`storage()`: PyTorch's typed view of a storage, a new object at each call; the untyped storage is the one with an identity."""

from __future__ import annotations

import subprocess
import sys
import warnings
import weakref

import pytest

import gradlife.engine as torch


@pytest.fixture(autouse=True)
def no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.storage, "_has_warned", True)


def test_each_call_gives_a_new_object_over_one_untyped_storage() -> None:
    t = torch.tensor([1.0, 2.0])
    first, second = t.storage(), t._typed_storage()
    assert type(first) is type(second) is torch.TypedStorage is torch.storage.TypedStorage
    assert first is not second
    assert first.untyped() is second.untyped() is t.untyped_storage()
    gone = weakref.ref(t.storage())
    assert gone() is None


def test_an_attribute_is_lost_with_the_object() -> None:
    t = torch.tensor([1.0])
    t.storage().tag = 3
    with pytest.raises(AttributeError, match=r"^'torch\.storage\.TypedStorage' object has no attribute 'tag'$"):
        t.storage().tag  # noqa: B018


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 4), (torch.float64, 8), (torch.int64, 8), (torch.bool, 1)])
def test_it_counts_elements_where_the_untyped_one_counts_bytes(dtype: torch.dtype, size: int) -> None:
    t = torch.tensor([[1, 0], [1, 1]], dtype=dtype)
    storage = t[1].storage()
    assert (len(storage), storage.size(), storage.nbytes(), storage.element_size()) == (4, 4, 4 * size, size)
    assert storage.tolist() == [1, 0, 1, 1] == list(storage)
    assert storage.dtype is dtype
    assert storage.data_ptr() == t.data_ptr()
    assert storage._cdata == t.untyped_storage()._cdata


def test_what_is_written_to_it_is_in_every_tensor_on_it() -> None:
    t = torch.tensor([1.0, 2.0, 3.0])
    view = t[1:]
    view.storage()[1] = 7.0
    assert t.tolist() == [1.0, 7.0, 3.0]
    assert t.storage()[2] == 3.0
    t.storage().fill_(4.0)
    assert view.tolist() == [4.0, 4.0]


@pytest.mark.torch
def test_it_prints_as_torchs_does() -> None:
    import torch as pytorch

    values = [1.0, 2.5]
    ours, theirs = torch.tensor(values)._typed_storage(), pytorch.tensor(values)._typed_storage()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert repr(ours) == repr(theirs)


def test_a_rest_of_bytes_that_fills_no_element_is_left_out() -> None:
    storage = torch.TypedStorage(wrap_storage=torch.tensor([1.0] * 3).untyped_storage(), dtype=torch.float64)
    assert (len(storage), len(storage.tolist())) == (1, 1)


def test_it_warns_once_a_process() -> None:
    program = "import gradlife.engine as torch; t = torch.ones(2); t._typed_storage(); t.storage(); t.storage()"
    run = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr.count("UserWarning: TypedStorage is deprecated. It will be removed in the future") == 1
