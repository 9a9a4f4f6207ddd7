"""Saved slots: what a node keeps of the tensors that its backward needs, and what it unpacks."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import Mark, grad, leaf
from leftovers import leaves

pytestmark = pytest.mark.valgrind


def test_a_saved_leaf_comes_back_as_the_object_itself() -> None:
    x = leaf(2.0, 3.0)
    x.tag = "mine"
    y = x.sin()
    assert y.grad_fn._saved_self is x
    assert y.grad_fn._saved_self.tag == "mine"


@pytest.mark.parametrize(("profile", "is_itself"), [("torch-1.2", False), ("torch-1.10", True), ("torch-2.13", True)])
def test_releases_before_1_10_gave_an_input_back_as_another_object(profile: str, is_itself: bool) -> None:
    with torch.profile(profile):
        x = leaf(2.0)
        y = keep_input(x)
        (saved,) = y.grad_fn.saved_tensors
    assert (saved is x) == is_itself
    assert saved.data_ptr() == x.data_ptr()
    assert saved.requires_grad


def keep_input(x: Any) -> Any:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    return Keeps.apply(x)


def test_a_saved_non_leaf_input_comes_back_as_the_object_itself_with_its_history() -> None:
    x = leaf(2.0, 3.0)
    middle = x * 2
    y = middle.sin()
    assert y.grad_fn._saved_self is middle
    assert y.grad_fn._saved_self.grad_fn is middle.grad_fn


def test_a_saved_input_without_grad_comes_back_as_itself() -> None:
    x, weight = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    y = x * weight
    assert y.grad_fn._saved_other is weight
    assert y.grad_fn._saved_self is None


def test_one_tensor_saved_by_two_nodes_is_the_same_object_in_both() -> None:
    x = leaf(2.0, 3.0)
    a, b = x.sin(), x.cos()
    assert a.grad_fn._saved_self is b.grad_fn._saved_self is x


def test_a_slot_keeps_its_input_alive_until_the_node_dies() -> None:
    x = leaf(2.0, 3.0)
    middle = x * 2
    alive = weakref.ref(middle)
    y = middle.sin()
    del middle
    assert alive() is not None
    del y
    assert alive() is None


def test_a_slot_lets_its_input_go_when_backward_has_run() -> None:
    x = leaf(2.0, 3.0)
    middle = x * 2
    alive = weakref.ref(middle)
    y = middle.sin().sum()
    del middle
    y.backward()
    assert alive() is None
    assert x.grad.tolist() == (torch.cos(x.detach() * 2) * 2).tolist()


def test_an_input_saved_by_a_function_is_the_object_itself_in_backward() -> None:
    seen: list[Any] = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.extend(ctx.saved_tensors)
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(2.0, 3.0)
    Square.apply(x).sum().backward()
    assert seen[0] is x
    assert seen[1] is None
    assert x.grad.tolist() == [4.0, 6.0]


def test_a_saved_output_comes_back_as_another_object_with_the_same_node_and_memory() -> None:
    x = leaf(2.0, 3.0)
    y = x.exp()
    back = y.grad_fn._saved_result
    assert back is not y
    assert back is not y.grad_fn._saved_result
    assert back.grad_fn is y.grad_fn
    assert back.output_nr == y.output_nr == 0
    assert back.data_ptr() == y.data_ptr()
    assert back.requires_grad
    assert not hasattr(back, "tag")


def test_what_lies_in_the_slot_of_an_output_has_no_history() -> None:
    y = leaf(2.0, 3.0).exp()
    raw = y.grad_fn._raw_saved_result
    assert raw.data.grad_fn is None
    assert not raw.data.requires_grad
    assert raw.data.data_ptr() == y.data_ptr()
    assert raw.unpack_hook is None


def test_saving_an_output_does_not_keep_the_graph() -> None:
    x = leaf(2.0, 3.0)
    y = x.exp()
    output, node_mark = weakref.ref(y), Mark()
    node = weakref.ref(node_mark)
    y.grad_fn.metadata["mark"] = node_mark
    del y, node_mark
    assert output() is None
    assert node() is None


@leaves(tensor=2, storage=2, node=2, saved=1)  # the output and the leaf, with a node each
def test_owning_the_output_leaks_what_detached_data_frees() -> None:
    with torch.profile("torch-2.13", saved_slot="owning"):
        y = torch.ones(3, requires_grad=True).exp()
    output = weakref.ref(y)
    assert y.grad_fn._raw_saved_result.data is y
    del y
    gc.collect()
    assert output() is not None


def test_owning_the_output_frees_it_when_backward_runs() -> None:
    with torch.profile("torch-2.13", saved_slot="owning"):
        y = torch.ones(3, requires_grad=True).exp()
        total = y.sum()
    output = weakref.ref(y)
    del y
    total.backward()
    del total
    assert output() is None


@leaves(tensor=3, storage=2, node=2, saved=1, context=1)  # the view, its base, the leaf and its accumulator
def test_saving_a_view_of_the_output_leaks_since_the_view_keeps_its_base() -> None:
    class KeepsView(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.save_for_backward(y.view(-1))
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    y = KeepsView.apply(torch.ones(3, requires_grad=True))
    output = weakref.ref(y)
    del y
    gc.collect()
    assert output() is not None


def test_a_function_may_save_its_output_without_leaking_it() -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (y,) = ctx.saved_tensors
            assert y.grad_fn is ctx
            return grad * y

    x = leaf(0.0, 0.0)
    y = Exp.apply(x)
    output = weakref.ref(y)
    (gradient,) = grad(y.sum(), x)
    assert gradient.tolist() == [1.0, 1.0]
    del y
    assert output() is None
