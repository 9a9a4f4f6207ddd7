"""Errors of custom Functions whose forward or backward returns, saves or marks the wrong thing."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of

Function = torch.autograd.Function


def custom(backward: Any = lambda ctx, gradient: gradient, forward: Any = lambda ctx, x: x * 2) -> Any:
    return type("Custom", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


@pytest.mark.parametrize(
    ("backward", "kind", "text"),
    [
        (
            lambda ctx, gradient: (gradient, gradient),
            RuntimeError,
            "function CustomBackward returned an incorrect number of gradients (expected 1, got 2)",
        ),
        (
            lambda ctx, gradient: (),
            RuntimeError,
            "function CustomBackward returned an incorrect number of gradients (expected 1, got 0)",
        ),
        (
            lambda ctx, gradient: torch.ones(3),
            RuntimeError,
            "Function CustomBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]",
        ),
        (lambda ctx, gradient: 3, RuntimeError, "expected Variable or None (got int)"),
        (lambda ctx: None, TypeError, "<lambda>() takes 1 positional argument but 2 were given"),
    ],
    ids=["too many", "too few", "wrong shape", "no tensor", "wrong signature"],
)
def test_a_backward_that_returns_the_wrong_thing(backward: Any, kind: type[Exception], text: str) -> None:
    x = leaf(1.0, 2.0)
    y = custom(backward).apply(x).sum()
    with pytest.raises(kind) as error:
        y.backward()
    assert text_of(error).endswith(text)
    assert x.grad is None


def test_superfluous_nones_are_forgiven() -> None:
    x = leaf(1.0, 2.0)
    custom(lambda ctx, gradient: (gradient * 2, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_none_gradient_leaves_the_leaf_without_one() -> None:
    x = leaf(1.0, 2.0)
    custom(lambda ctx, gradient: None).apply(x).sum().backward()
    assert x.grad is None


def test_a_gradient_for_an_argument_that_was_no_tensor() -> None:
    y = custom(lambda ctx, gradient: (gradient, gradient), lambda ctx, x, factor: x * factor).apply(leaf(1.0), 2.0)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == (
        "function CustomBackward returned a gradient different than None at position 2, but the corresponding forward input "
        "was not a Variable"
    )


def test_a_gradient_is_brought_to_the_dtype_and_shape_of_the_input() -> None:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    custom(lambda ctx, gradient: torch.ones(3)).apply(x).backward()
    assert (x.grad.dtype, x.grad.tolist()) == (torch.float64, [3.0])


@pytest.mark.parametrize("saved", [3, "text", [1.0]])
def test_only_tensors_can_be_saved(saved: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, saved)
        return x * 2

    with pytest.raises(TypeError) as error:
        custom(forward=forward).apply(leaf(1.0))
    name = type(saved).__name__
    assert text_of(error) == f"save_for_backward can only save variables, but argument 1 is of type {name}"


#: What torch says of a marked 3. Up to 2.13 its text ends before it says what was given.
MARKS = {
    "mark_dirty": ("mark_dirty can only accept variables, but argument ", "0 is of type int"),
    "mark_non_differentiable": ("mark_non_differentiable only accepts variable arguments, but got ", "int"),
}


@pytest.mark.parametrize("profile", ["torch-2.13", "torch-2.14"])
@pytest.mark.parametrize("mark", MARKS)
def test_only_tensors_can_be_marked(mark: str, profile: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        getattr(ctx, mark)(3)
        return x * 2

    with pytest.raises(RuntimeError) as error, torch.profile(profile):
        custom(forward=forward).apply(leaf(1.0))
    text, ending = MARKS[mark]
    assert text_of(error) == text + (ending if profile == "torch-2.14" else "")


@pytest.mark.parametrize(("profile", "given"), [("torch-2.13", ""), ("torch-2.14", "int")])
@pytest.mark.parametrize("attribute", ["to_save", "dirty_tensors", "non_differentiable"])
def test_what_is_set_by_hand_must_be_a_tuple(attribute: str, profile: str, given: str) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        setattr(ctx, attribute, 3)
        return x * 2

    with pytest.raises(RuntimeError) as error, torch.profile(profile):
        custom(forward=forward).apply(leaf(1.0))
    assert text_of(error) == f"autograd internal error: {attribute} attribute is expected to be a tuple but is {given}"


def test_a_dirty_input_must_be_returned() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    with pytest.raises(RuntimeError) as error:
        custom(forward=forward).apply(leaf(1.0) * 1)
    assert text_of(error) == (
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
        "inplace must all be outputs of the Function."
    )


def test_marking_what_was_no_input_as_dirty_warns() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="was not an input") as caught:
        custom(forward=forward).apply(leaf(1.0) * 1)
    assert str(caught[0].message).startswith(
        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
        "ctx.mark_dirty()."
    )


def returns_a_view_of_a_result(ctx: Any, x: Any) -> Any:
    y = (x * 2).view(-1)
    ctx.mark_dirty(y)
    return y


def test_a_view_of_a_result_cannot_be_marked_as_dirty() -> None:
    with pytest.raises(RuntimeError) as error:
        custom(forward=returns_a_view_of_a_result).apply(leaf(1.0))
    assert text_of(error) == (
        "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
        "ctx.mark_dirty()."
    )


def test_before_2_8_a_dirty_view_of_a_result_only_warns_and_fails_as_a_view() -> None:
    warning = "Only input Tensors should be given to ctx.mark_dirty"
    with torch.profile("torch-1.13"), pytest.warns(UserWarning, match=warning), pytest.raises(RuntimeError) as error:
        custom(forward=returns_a_view_of_a_result).apply(leaf(1.0))
    assert text_of(error).startswith(
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled."
    )


def test_a_context_whose_marks_are_refused_lets_go_of_what_it_was_to_save() -> None:
    """PyTorch takes `to_save` away before it looks at `mark_dirty`."""
    kept = []

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        kept.extend([ctx, weakref.ref(y)])
        ctx.save_for_backward(y)
        ctx.mark_dirty(1)
        return x * 3

    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument "):
        custom(forward=forward).apply(leaf(1.0))
    assert kept[1]() is None


def test_a_function_without_forward_or_backward_says_what_is_missing() -> None:
    class Nothing(Function):
        pass

    with pytest.raises(NotImplementedError) as error:
        Nothing.apply(leaf(1.0))
    assert text_of(error) == "You must implement the forward function for custom autograd.Function."

    class OneWay(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    y = OneWay.apply(leaf(1.0))
    with pytest.raises(NotImplementedError) as error:
        y.backward()
    assert text_of(error) == (
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode "
        "AD."
    )


def test_vjp_serves_as_backward() -> None:
    class Named(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    x = leaf(1.0)
    Named.apply(x).backward()
    assert x.grad.item() == 2.0


def test_implementing_both_backward_and_vjp_is_refused() -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

        @staticmethod
        def vjp(ctx: Any, gradient: Any) -> Any:
            return gradient

    y = Both.apply(leaf(1.0))
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == (
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
    )


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_what_a_function_raises_arrives_as_itself_and_leaves_no_context(where: str) -> None:
    contexts: list[Any] = []

    def fail(ctx: Any, value: Any) -> Any:
        contexts.append(weakref.ref(ctx))
        raise LookupError(where)

    x = leaf(1.0)
    function = custom(forward=fail) if where == "forward" else custom(fail)
    with pytest.raises(LookupError, match=rf"^{where}$") as error:
        function.apply(x).backward()
    del error
    gc.collect()
    assert [context() for context in contexts] == [None]
    assert x.grad is None


def test_a_function_class_is_not_to_be_instantiated_and_its_instance_not_called() -> None:
    function = custom()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = function()
    with pytest.raises(RuntimeError) as error:
        instance(leaf(1.0))
    assert text_of(error).startswith(
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
        "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
    )
