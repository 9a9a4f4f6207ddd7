"""Attributes of tensors and less frequent factories, against PyTorch."""

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
    "is_conj",
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
        with pytest.raises(RuntimeError, match=r"^imag is not implemented for tensors with non-complex dtypes\.$"):
            _ = x.imag


@pytest.mark.parametrize(
    "attempt",
    [lambda: mini.softmax(mini.ones(2), 0, out=mini.ones(2)), lambda: mini.max(mini.ones(2), 0, out=mini.ones(2))],
    ids=["softmax", "max"],
)
def test_some_results_are_not_written_into_what_is_there(attempt: Operation) -> None:
    with pytest.raises(RuntimeError, match=r"gradlife's engine gives results, it does not write them into out=$"):
        attempt()
