"""Custom Functions: what forward may tell about itself, and what backward sees of it."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import grad, leaf

Function = torch.autograd.Function


class Scale(Function):
    """x * factor, where the factor is a number kept as an attribute."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.factor, None


def keeping(**methods: Any) -> Any:
    """A Function class with these static methods."""
    return type("Custom", (Function,), {name: staticmethod(method) for name, method in methods.items()})


def test_attributes_of_ctx_last_until_backward_and_ctx_is_the_grad_fn() -> None:
    x = leaf(2.0)
    y: Any = Scale.apply(x, 5.0)
    assert y.grad_fn.factor == 5.0
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ScaleBackward"
    y.backward()
    assert x.grad.item() == 5.0
    assert y.grad_fn.factor == 5.0
    assert isinstance(y.grad_fn, torch.autograd.function.FunctionCtx)


def test_forward_runs_without_recording_and_backward_as_the_call_says() -> None:
    modes: list[bool] = []

    def forward(ctx: Any, x: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        return x * 2

    def backward(ctx: Any, gradient: Any) -> Any:
        modes.append(torch.is_grad_enabled())
        return gradient * 2

    custom, x = keeping(forward=forward, backward=backward), leaf(2.0)
    custom.apply(x).backward()
    grad(custom.apply(x), x, create_graph=True)
    assert modes == [False, False, False, True]


def test_without_a_tensor_that_requires_grad_there_is_no_history() -> None:
    y = Scale.apply(torch.ones(1), 3.0)
    assert (y.requires_grad, y.grad_fn) == (False, None)
    with torch.no_grad():
        y = Scale.apply(leaf(1.0), 3.0)
    assert (y.requires_grad, y.grad_fn) == (False, None)


def test_needs_input_grad_has_one_entry_an_argument() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, b: Any, c: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx: Any, gradient: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return gradient, None, None

    keeping(forward=forward, backward=backward).apply(leaf(1.0), torch.ones(1), "text").backward()
    assert seen == [(True, False, False)] * 2


def test_saved_tensors_come_in_order_with_none_in_its_place() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None, torch.tensor([4.0]))
        return x * 2

    def backward(ctx: Any, gradient: Any) -> Any:
        seen.extend(ctx.saved_tensors)
        return gradient

    x = leaf(3.0)
    keeping(forward=forward, backward=backward).apply(x).backward()
    assert seen[0] is x
    assert seen[1] is None
    assert seen[2].item() == 4.0
    seen.clear()


def test_a_second_save_for_backward_replaces_the_first() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(x)
        return x * 2

    y = keeping(forward=forward, backward=lambda ctx, gradient: gradient).apply(leaf(1.0))
    assert len(y.grad_fn.saved_tensors) == 1


def test_nothing_saved_is_an_empty_tuple_even_after_backward() -> None:
    y = Scale.apply(leaf(1.0), 2.0)
    assert y.grad_fn.saved_tensors == ()


def test_to_save_is_gone_after_forward() -> None:
    kept: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        kept.append(ctx.to_save)
        return x * 2

    x = leaf(1.0)
    y = keeping(forward=forward, backward=lambda ctx, gradient: gradient).apply(x)
    assert kept[0][0] is x
    assert y.grad_fn.to_save is None


class Power(Function):
    @staticmethod
    def forward(x: Any, exponent: int) -> Any:
        return x**exponent

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.exponent = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, _ = ctx.saved_tensors
        return gradient * ctx.exponent * x ** (ctx.exponent - 1), None


def test_setup_context_sees_inputs_and_output_and_forward_no_ctx() -> None:
    x = leaf(2.0)
    y = Power.apply(x, 3)
    assert y.item() == 8.0
    assert y.grad_fn.saved_tensors[1].grad_fn is y.grad_fn
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_a_context_with_a_saved_output_of_setup_context_dies_with_its_output() -> None:
    y = Power.apply(leaf(2.0), 3)
    alive = weakref.ref(y.grad_fn)
    del y
    assert alive() is None


@pytest.mark.parametrize(("profile", "leaked"), [("torch-2.9", 10), ("torch-2.13", 10), ("torch-2.14", 0)])
def test_what_setup_context_returns_is_leaked_as_in_torch(profile: str, leaked: int) -> None:
    """PyTorch 2.9 to 2.13 (issue 188034): one reference a call."""
    returned = object()
    custom = keeping(
        forward=lambda x: x * 2,
        setup_context=lambda ctx, inputs, output: returned,
        backward=lambda ctx, gradient: gradient,
    )
    with torch.profile(profile):
        x = leaf(1.0)
        before = sys.getrefcount(returned)
        for _ in range(10):
            custom.apply(x)
        assert sys.getrefcount(returned) - before == leaked


def two_outputs(seen: list[Any], materialize: bool | None) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        if materialize is not None:
            ctx.set_materialize_grads(materialize)
        return x * 2, x * 3, "no tensor"

    def backward(ctx: Any, first: Any, second: Any, third: Any) -> Any:
        seen.extend(item if item is None else item.tolist() for item in (first, second, third))
        return second * 3 if first is None else first * 2 + second * 3

    return keeping(forward=forward, backward=backward)


def test_outputs_that_nobody_used_have_zero_gradients_in_backward() -> None:
    seen: list[Any] = []
    x = leaf(1.0, 1.0)
    first, second, third = two_outputs(seen, None).apply(x)
    assert third == "no tensor"
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert first.grad_fn is second.grad_fn
    second.sum().backward()
    assert seen == [[0.0, 0.0], [1.0, 1.0], None]
    assert x.grad.tolist() == [3.0, 3.0]


def test_or_none_where_they_are_not_to_be_materialized() -> None:
    seen: list[Any] = []
    x = leaf(1.0, 1.0)
    _, second, _ = two_outputs(seen, False).apply(x)
    second.sum().backward()
    assert seen == [None, [1.0, 1.0], None]
    assert x.grad.tolist() == [3.0, 3.0]


def test_lists_and_tuples_of_outputs() -> None:
    x = leaf(1.0)
    single = keeping(forward=lambda ctx, x: (x * 2,), backward=lambda ctx, gradient: gradient * 2).apply(x)
    assert isinstance(single, tuple)
    assert single[0].item() == 2.0


def test_outputs_marked_non_differentiable_have_no_history_but_get_a_zero_gradient() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        values, mask = x * 2, x * 0
        ctx.mark_non_differentiable(mask)
        return values, mask

    def backward(ctx: Any, of_values: Any, of_mask: Any) -> Any:
        seen.append(of_mask.tolist())
        return of_values * 2

    x = leaf(1.0, 2.0)
    values, mask = keeping(forward=forward, backward=backward).apply(x)
    assert (values.requires_grad, mask.requires_grad, mask.grad_fn) == (True, False, None)
    values.sum().backward()
    assert seen == [[0.0, 0.0]]
    assert x.grad.tolist() == [2.0, 2.0]
