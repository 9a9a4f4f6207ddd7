"""The dtype that a leaf accepts for its gradient (`grad_dtype`, PyTorch 2.10 on)."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import gradlife.engine as engine


def torch_or_skip() -> Any:
    real = pytest.importorskip("torch")
    if not hasattr(real.Tensor, "grad_dtype"):
        pytest.skip("grad_dtype is of PyTorch 2.10")
    return real


@pytest.fixture(params=["gradlife.engine", "torch"])
def torch(request: pytest.FixtureRequest) -> Any:
    return torch_or_skip() if request.param == "torch" else importlib.import_module(request.param)


def doubled_in_float64(torch: Any, tensor: Any) -> Any:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, tensor: Any) -> Any:
            return tensor * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return (gradient * 2).double()

    return Double.apply(tensor)


def test_a_gradient_has_the_dtype_of_its_tensor_unless_another_is_chosen(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    assert leaf.grad_dtype is torch.float32
    doubled_in_float64(torch, leaf).sum().backward()
    assert leaf.grad.dtype is torch.float32


def test_a_gradient_is_cast_to_the_chosen_dtype(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad_dtype = torch.float64
    (leaf * 2).sum().backward()
    assert leaf.grad_dtype is torch.float64
    assert leaf.grad.dtype is torch.float64
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_a_leaf_that_takes_any_dtype_has_its_gradient_as_it_comes(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad_dtype = None
    assert leaf.grad_dtype is None
    doubled_in_float64(torch, leaf).sum().backward()
    assert leaf.grad.dtype is torch.float64
    leaf.grad = torch.ones(2)
    assert leaf.grad.dtype is torch.float32


def test_a_detached_tensor_does_not_inherit_the_choice(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad_dtype = torch.float64
    assert leaf.detach().grad_dtype is torch.float32


def test_a_gradient_of_another_dtype_is_refused_by_its_name(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad_dtype = torch.float64
    with pytest.raises(
        RuntimeError,
        match=r"gradient with dtype 'float' to a tensor with grad_dtype 'Double'\. The gradient must match",
    ):
        leaf.grad = torch.ones(2)
    leaf.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(
        RuntimeError, match=r"Cannot set grad_dtype to 'Float' because there is already a gradient with dtype 'double'"
    ):
        leaf.grad_dtype = torch.float32
    assert leaf.grad_dtype is torch.float64


def test_only_leaves_have_it_and_only_a_dtype_or_none_is_taken(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    result = leaf * 2
    with pytest.raises(RuntimeError, match=r"^grad_dtype can only be accessed on leaf tensors\."):
        _ = result.grad_dtype
    with pytest.raises(RuntimeError, match=r"^grad_dtype can only be set on leaf tensors\."):
        result.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match=r"^grad_dtype must be a torch\.dtype or None, but got int"):
        leaf.grad_dtype = 3


def test_deleting_the_choice_is_refused() -> None:
    leaf = engine.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"^Deleting grad_dtype is not allowed\.$"):
        del leaf.grad_dtype
