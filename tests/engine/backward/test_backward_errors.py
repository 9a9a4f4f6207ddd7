"""Errors of `backward` and `grad` in torch's words; a refused call changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of
from torch_texts import NO_HISTORY, NOT_SCALAR

grad, backward = torch.autograd.grad, torch.autograd.backward
NO_MATERIALIZED = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
)
NO_GRAD_NEEDED = "One of the differentiated Tensors does not require grad"
NO_INPUTS = "`inputs` argument to `{}()` cannot be empty."
NOT_TENSORS = "all inputs have to be Tensors or GradientEdges, but got int"
NO_GRADIENTS = "gradients can be either Tensors or None, but got int"
SHAPES = (
    "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([1])."
)


def constant() -> Any:
    return torch.ones(1)


def two(x: Any) -> Any:
    return x * torch.ones(2)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "no history": (lambda x: constant().backward(), RuntimeError, NO_HISTORY),
    "no history, second": (lambda x: grad([x * 2, constant()], x), RuntimeError, NO_HISTORY.replace("0", "1")),
    "not scalar": (lambda x: two(x).backward(), RuntimeError, NOT_SCALAR),
    "not scalar, grad": (lambda x: grad(two(x), x), RuntimeError, NOT_SCALAR),
    "no inputs": (lambda x: (x * 2).backward(inputs=[]), RuntimeError, NO_INPUTS.format("backward")),
    "no inputs, grad": (lambda x: grad(x * 2, []), RuntimeError, NO_INPUTS.format("grad")),
    "shapes": (lambda x: (x * 2).backward(torch.ones(2)), RuntimeError, SHAPES),
    "gradient no tensor": (lambda x: backward(x * 2, [3]), TypeError, NO_GRADIENTS),
    "gradient no tensor, grad": (lambda x: grad(x * 2, x, [3]), TypeError, NO_GRADIENTS),
    "gradient no sequence": (lambda x: (x * 2).backward(3), TypeError, "'int' object is not iterable"),
    "root no tensor": (lambda x: backward(3), TypeError, "'int' object is not iterable"),
    "input no tensor": (lambda x: grad(x * 2, [3]), RuntimeError, NOT_TENSORS),
    "input no tensor, backward": (lambda x: backward(x * 2, inputs=[3]), RuntimeError, NOT_TENSORS),
    "input needs no grad": (lambda x: grad(x * 2, constant()), RuntimeError, NO_GRAD_NEEDED),
    "input needs no grad, backward": (
        lambda x: backward(x * 2, inputs=[constant()]),
        RuntimeError,
        "can't retain_grad on Tensor that has requires_grad=False",
    ),
    "contradiction": (
        lambda x: grad(x * 2, x, allow_unused=False, materialize_grads=True),
        ValueError,
        NO_MATERIALIZED,
    ),
    "too few gradients": (
        lambda x: backward([x * 2, x * 3], [constant()]),
        RuntimeError,
        "got 2 tensors and 1 gradients",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_run_says_why(name: str) -> None:
    call, kind, text = REFUSED[name]
    x = leaf(2.0)
    with pytest.raises(kind) as error:
        call(x)
    assert text_of(error) == text
    assert x.grad is None


def test_superfluous_gradients_are_ignored_as_torch_does() -> None:
    x = leaf(2.0)
    backward([x * 2], [constant(), constant()])
    assert x.grad.item() == 2.0


def test_no_roots_at_all_are_no_error() -> None:
    backward([])


def test_integers_cannot_require_grad() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ones(1, dtype=torch.int64, requires_grad=True)
    assert text_of(error) == "Only Tensors of floating point and complex dtype can require gradients"
    with pytest.raises(RuntimeError) as error:
        torch.ones(1, dtype=torch.int64).requires_grad_()
    assert text_of(error) == "only Tensors of floating point dtype can require gradients"


def test_a_computed_tensor_cannot_drop_requires_grad() -> None:
    y = leaf(2.0) * 2
    with pytest.raises(RuntimeError) as error:
        y.requires_grad = False
    assert text_of(error) == (
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
        "doesn't require differentiation use var_no_grad = var.detach()."
    )
    with pytest.raises(RuntimeError) as error:
        y.requires_grad = True
    assert text_of(error) == "you can only change requires_grad flags of leaf variables."
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError) as error:
        leaf(2.0).requires_grad = 1
    assert text_of(error) == "requires_grad must be a bool"


def test_assigning_a_gradient_checks_type_size_and_dtype() -> None:
    x = leaf(2.0)
    with pytest.raises(TypeError) as wrong_type:
        x.grad = 3
    assert text_of(wrong_type) == "assigned grad expected to be a Tensor or None but got grad of type int"
    with pytest.raises(RuntimeError) as error:
        x.grad = x
    assert text_of(error) == "can't assign Variable as its own grad"
    with pytest.raises(RuntimeError) as error:
        x.grad = torch.ones(2)
    assert text_of(error) == (
        "attempting to assign a gradient of size '[2]' to a tensor of size '[1]'. Please ensure that the gradient and the "
        "tensor are the same size"
    )
    with pytest.raises(RuntimeError) as error:
        x.grad = torch.ones(1, dtype=torch.float64)
    assert text_of(error).startswith(
        "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"
    )
    x.grad = torch.ones(1)
    del x.grad
    assert x.grad is None
