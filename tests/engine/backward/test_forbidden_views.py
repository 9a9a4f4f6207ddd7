"""Views that may not be changed in place, because of how they were made: the texts of torch 2.13."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of

NO_GRAD = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside "
    "(if you want the inplace to be tracked)."
)
SEVERAL = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
CUSTOM = (
    " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
ITSELF, INDIRECTLY = "is being", "its base or another view of its base has been"


def base_of_four() -> Any:
    return leaf(1.0, 2.0, 3.0, 4.0) * 1


class AsView(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


class AsIs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


def test_a_view_made_without_recording() -> None:
    base = base_of_four()
    with torch.no_grad():
        view = base[:2]
    with pytest.raises(RuntimeError) as error:
        view.mul_(2)
    assert (
        text_of(error)
        == f"A view was created in no_grad mode and {ITSELF} modified inplace with grad mode enabled." + NO_GRAD
    )
    with torch.no_grad():
        view.mul_(2)
    assert base.tolist() == [2.0, 4.0, 3.0, 4.0]


def test_a_view_made_without_recording_whose_base_changes() -> None:
    base = base_of_four()
    with torch.no_grad():
        view = base[:2]
    base.mul_(2)
    with pytest.raises(RuntimeError) as error:
        _ = view.grad_fn
    head = f"A view was created in no_grad mode and {INDIRECTLY} modified inplace with grad mode enabled."
    assert text_of(error) == head + NO_GRAD


def test_a_view_of_a_view_made_without_recording() -> None:
    base = base_of_four()
    with torch.no_grad():
        view = base[:2]
    second = view.view(-1)
    with pytest.raises(RuntimeError) as error:
        second.mul_(2)
    assert text_of(error).endswith(NO_GRAD)
    assert f"{ITSELF} modified inplace with grad mode enabled." in text_of(error)


@pytest.mark.parametrize(("operation", "name"), [("unbind", "Unbind"), ("split", "Split"), ("chunk", "Split")])
def test_one_of_several_views_of_an_operation(operation: str, name: str) -> None:
    base = base_of_four()
    views = getattr(base, operation)(*([] if operation == "unbind" else [2]))
    with pytest.raises(RuntimeError) as error:
        views[1].mul_(2)
    assert text_of(error) == f"Output 1 of {name} is a view and {ITSELF} modified inplace." + SEVERAL
    base.mul_(2)
    with pytest.raises(RuntimeError) as error:
        _ = views[1].grad_fn
    assert text_of(error) == f"Output 1 of {name} is a view and {INDIRECTLY} modified inplace." + SEVERAL


@pytest.mark.parametrize("function", [AsView, AsIs])
def test_a_view_made_by_a_custom_function(function: Any) -> None:
    base = base_of_four()
    view = function.apply(base)
    with pytest.raises(RuntimeError) as error:
        view.mul_(2)
    assert text_of(error) == f"Output 0 of {function.__name__} is a view and {ITSELF} modified inplace." + CUSTOM
    base.mul_(2)
    with pytest.raises(RuntimeError) as error:
        _ = view.grad_fn
    assert text_of(error) == f"Output 0 of {function.__name__} is a view and {INDIRECTLY} modified inplace." + CUSTOM


def test_a_clone_of_such_a_view_may_be_changed() -> None:
    x = leaf(1.0, 2.0)
    y = AsView.apply(x * 1).clone()
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_overlapping_view_may_not_be_written_to() -> None:
    with pytest.raises(RuntimeError) as error:
        torch.ones(1).expand(3).mul_(2)
    assert text_of(error) == (
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
        "clone() the tensor before performing the operation."
    )
