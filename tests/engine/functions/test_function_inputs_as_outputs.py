"""Functions that change or return their inputs, and those that can be differentiated only once."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import grad, leaf, text_of

Function = torch.autograd.Function
ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"


def keeping(**methods: Any) -> Any:
    """A Function class with these static methods."""
    return type("Custom", (Function,), {name: staticmethod(method) for name, method in methods.items()})


def doubling_in_place(extra: bool = False) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return (x, x * 1) if extra else x

    return keeping(forward=forward, backward=lambda ctx, *gradients: gradients[0] * 2)


def test_a_dirty_input_is_the_output_itself_with_a_new_history() -> None:
    x = leaf(3.0)
    middle = x * 1
    old = middle.grad_fn
    y = doubling_in_place().apply(middle)
    assert y is middle
    assert y.grad_fn.next_functions[0][0] is old
    assert (y.item(), y._version) == (6.0, 2)  # once by mul_, once by mark_dirty
    y.backward()
    assert x.grad.item() == 2.0


def test_a_dirty_view_moves_its_base_along() -> None:
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    assert doubling_in_place().apply(view) is view
    assert type(base.grad_fn).__name__ == "CopySlices"
    base.sum().backward()
    assert x.grad.tolist() == [2.0, 1.0]


def test_a_dirty_leaf_is_refused() -> None:
    with torch.no_grad():
        x = leaf(3.0)
    with pytest.raises(RuntimeError) as error:
        doubling_in_place().apply(x)
    assert text_of(error) == "a leaf Variable that requires grad has been used in an in-place operation."


def test_a_dirty_view_beside_another_output_is_refused() -> None:
    view = (leaf(1.0, 2.0) * 1)[:1]
    with pytest.raises(RuntimeError) as error:
        doubling_in_place(extra=True).apply(view)
    assert text_of(error).startswith(
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
        "Tensor. This is not supported by the current autograd engine."
    )


def test_an_input_returned_as_it_is_becomes_a_view_with_the_functions_history() -> None:
    x = leaf(3.0)
    y = keeping(forward=lambda ctx, x: x, backward=lambda ctx, gradient: gradient * 5).apply(x)
    assert y is not x
    assert y._base is x
    assert y.data_ptr() == x.data_ptr()
    assert type(y.grad_fn).__name__ == "CustomBackward"
    y.backward()
    assert x.grad.item() == 5.0


def test_an_input_without_grad_returned_as_it_is() -> None:
    x, w = leaf(3.0), torch.tensor([4.0])
    y, v = keeping(forward=lambda ctx, x, w: (x * 1, w), backward=lambda ctx, a, b: (a, b)).apply(x, w)
    assert v is not w
    assert v.requires_grad
    assert v.data_ptr() == w.data_ptr()
    (y + v).backward()
    assert (x.grad.item(), w.grad) == (1.0, None)


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        assert not torch.is_grad_enabled()
        return gradient * 2 * ctx.saved_tensors[0]


def test_a_once_differentiable_function_gives_its_gradient() -> None:
    x = leaf(3.0)
    Once.apply(x).backward()
    assert x.grad.item() == 6.0


def test_differentiating_it_again_says_that_it_cannot() -> None:
    x, weight = leaf(3.0), leaf(2.0)
    (first,) = grad(Once.apply(x) * weight, x, create_graph=True)
    assert first.item() == 12.0
    assert first.requires_grad
    with pytest.raises(RuntimeError) as error:
        first.backward()
    assert text_of(error) == ONCE


def test_where_no_gradient_needs_grad_there_is_nothing_to_guard() -> None:
    x = leaf(3.0)
    (first,) = grad(Once.apply(x), x, create_graph=True)
    assert not first.requires_grad
