"""What a tensor says about itself, and factories that are asked for less often, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Operation = Callable[..., Any]

ATTRIBUTES = [
    "is_sparse",
    "is_sparse_csr",
    "is_quantized",
    "is_mkldnn",
    "is_cuda",
    "is_cpu",
    "is_meta",
    "is_nested",
    "is_xpu",
    "is_mps",
    "is_mtia",
    "is_maia",
    "is_ipu",
    "is_xla",
    "is_vulkan",
    "itemsize",
    "nbytes",
    "name",
    "ndim",
    "is_leaf",
    "output_nr",
    "requires_grad",
    "retains_grad",
    "_has_symbolic_sizes_strides",
    "_version",
    "_base",
]
METHODS = [
    "is_complex",
    "is_floating_point",
    "is_signed",
    "is_conj",
    "is_neg",
    "is_distributed",
    "is_shared",
    "is_pinned",
    "get_device",
]


def tensors(fw: Any) -> list[Any]:
    return [
        fw.ones(2, 3, dtype=fw.float64, requires_grad=True),
        fw.ones(2, 3)[:, 1],
        fw.tensor([1, 2]),
        fw.tensor([True]),
        fw.empty(0),
        fw.tensor(1.5),
    ]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    for ours, theirs in zip(tensors(mini), tensors(real), strict=True):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert (mine is None) == (other is None)
        if name != "_base":
            assert mine == other
            assert type(mine) is type(other)


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    for ours, theirs in zip(tensors(mini), tensors(real), strict=True):
        assert getattr(ours, name)() == getattr(theirs, name)()


def test_what_is_real_is_its_own_real_part_and_conjugate() -> None:
    for fw in (mini, real):
        x = fw.ones(2, requires_grad=True)
        assert x.real is x
        assert x.conj() is x
        assert fw.resolve_neg(x) is x
        with pytest.raises(RuntimeError, match=r"^imag is not implemented for tensors with non-complex dtypes\.$"):
            _ = x.imag


def test_sizes_and_windows_compared() -> None:
    for fw in (mini, real):
        x = fw.ones(2, 3)
        assert x.is_same_size(fw.zeros(2, 3))
        assert not fw.is_same_size(x, fw.zeros(3))
        assert x.is_set_to(x.view(2, 3))
        assert not x.is_set_to(x.t())
        assert fw.ones(2, 3).sum_to_size(1, 3).tolist() == [[2.0, 2.0, 2.0]]


def test_a_tensor_of_one_number_is_zero_or_not() -> None:
    for fw in (mini, real):
        assert fw.is_nonzero(fw.tensor([2.0]))
        assert not fw.tensor(0).is_nonzero()
        for values in ([], [1.0, 2.0]):
            with pytest.raises(RuntimeError, match=r"^Boolean value of Tensor with "):
                fw.tensor(values).is_nonzero()


FACTORIES: dict[str, Operation] = {
    "empty_strided": lambda fw: fw.empty_strided((2, 3), (1, 2)).zero_(),
    "empty_strided with gaps": lambda fw: fw.empty_strided((2, 2), (7, 2), dtype=fw.int64).fill_(3),
    "new_empty_strided": lambda fw: fw.ones(1, dtype=fw.float64).new_empty_strided((2,), (3,)).zero_(),
    "logspace": lambda fw: fw.logspace(0, 2, 3),
    "logspace of two": lambda fw: fw.logspace(-1, 3, 5, base=2.0, dtype=fw.float64),
    "scalar_tensor": lambda fw: fw.scalar_tensor(2),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    ours, theirs = (FACTORIES[name](fw) for fw in (mini, real))
    assert ours.stride() == theirs.stride()
    assert str(ours.dtype) == str(theirs.dtype)
    assert mini.allclose(ours.double(), mini.tensor(theirs.tolist(), dtype=mini.float64))


@pytest.mark.parametrize(
    ("sizes", "strides"), [((2,), (1, 2)), ((2,), (-1,))], ids=["two strides for one size", "a negative stride"]
)
def test_strides_that_do_not_fit_are_refused(sizes: Any, strides: Any) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises(RuntimeError) as raised:
            fw.empty_strided(sizes, strides)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "attempt",
    [lambda: mini.softmax(mini.ones(2), 0, out=mini.ones(2)), lambda: mini.max(mini.ones(2), 0, out=mini.ones(2))],
    ids=["softmax", "max"],
)
def test_some_results_are_not_written_into_what_is_there(attempt: Operation) -> None:
    with pytest.raises(RuntimeError, match=r"gradlife's engine gives results, it does not write them into out=$"):
        attempt()
