"""Hooks on gradients and nodes: their order, what they may change, their handles, and what they may not return."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import grad, leaf, text_of
from leftovers import leaves

pytestmark = pytest.mark.valgrind


class Watched:
    """A callable that can be watched with a weak reference."""

    def __init__(self, function: Callable[..., Any] = lambda *values: None) -> None:
        self.function = function

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)


def doubled(gradient: Any) -> Any:
    return gradient * 2


def test_the_order_of_all_kinds_of_hooks_at_one_node_and_at_the_leaf() -> None:
    log: list[str] = []
    x = leaf(2.0)
    y = x * 3
    node = y.grad_fn
    accumulator = node.next_functions[0][0]
    # registered the other way round
    accumulator.register_hook(lambda outputs, grads: log.append("post hook of the accumulator"))
    accumulator.register_prehook(lambda grads: log.append("pre hook of the accumulator"))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append("post-accumulate hook"))
    x.register_hook(lambda grad: log.append("tensor hook of the leaf"))
    node.register_hook(lambda outputs, grads: log.append("post hook"))
    node.register_prehook(lambda grads: log.append("pre hook"))
    y.retain_grad()
    weak: Any = weakref.ref(y)  # a hook that held y would keep it for ever
    y.register_hook(lambda grad: log.append(f"tensor hook, retained {weak().grad is not None}"))
    y.backward()
    assert log == [
        "tensor hook, retained False",
        "pre hook",
        "post hook",
        "tensor hook of the leaf",
        "pre hook of the accumulator",
        "post-accumulate hook",
        "post hook of the accumulator",
    ]
    assert y.grad.item() == 1.0


def test_hooks_of_one_kind_run_in_the_order_of_their_registration() -> None:
    log: list[int] = []
    x = leaf(2.0)
    for number in range(3):
        x.register_hook(lambda grad, number=number: log.append(number))
    (x * 1).backward()
    assert log == [0, 1, 2]


def test_a_tensor_hook_runs_when_the_gradient_is_complete() -> None:
    seen: list[float] = []
    x = leaf(2.0)
    x.register_hook(lambda grad: seen.append(grad.item()))
    (x * 2 + x * 3).backward()
    assert seen == [5.0]


def test_each_tensor_hook_gets_what_the_one_before_returned() -> None:
    x = leaf(2.0)
    y = x * 3
    y.register_hook(doubled)
    y.register_hook(lambda grad: None)
    y.register_hook(lambda grad: grad + 1)
    y.backward()
    assert x.grad.item() == 9.0


def test_retain_grad_keeps_the_gradient_that_the_tensor_hooks_made() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(doubled)
    assert (y.retains_grad, x.retains_grad) == (True, False)
    y.backward()
    assert (y.grad.item(), x.grad.item()) == (2.0, 6.0)


def test_retain_grad_on_a_leaf_does_nothing_and_without_grad_is_an_error() -> None:
    x = leaf(2.0)
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError) as error:
        torch.ones(1).retain_grad()
    assert text_of(error) == "can't retain_grad on Tensor that has requires_grad=False"


def test_retained_gradients_add_up() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    y.backward(retain_graph=True)
    y.backward()
    assert y.grad.item() == 2.0


def test_a_pre_hook_replaces_the_gradients_of_a_node_and_a_post_hook_its_outputs() -> None:
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    y.grad_fn.register_hook(lambda outputs, grads: (outputs[0] + grads[0], *outputs[1:]))
    y.backward()
    assert x.grad.item() == 40.0


def test_a_post_hook_sees_the_outputs_and_the_gradients_that_came() -> None:
    seen: list[Any] = []
    x, w = leaf(2.0), torch.tensor([5.0])
    y = x * w
    y.grad_fn.register_hook(lambda outputs, grads: seen.append((outputs[0].item(), outputs[1], grads[0].item())))
    y.backward(torch.tensor([7.0]))
    assert seen == [(35.0, None, 7.0)]


def test_a_post_accumulate_hook_sees_the_leaf_with_its_gradient_and_may_take_it() -> None:
    seen: list[float] = []

    def take(variable: Any) -> None:
        seen.append(variable.grad.item())
        variable.grad = None

    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(take)
    (x * 3).backward()
    (x * 4).backward()
    assert seen == [3.0, 4.0]
    assert x.grad is None


def test_hooks_on_a_leaf_registered_after_the_graph_was_built_run() -> None:
    log: list[str] = []
    x = leaf(2.0)
    y = x * 3
    x.register_hook(lambda grad: log.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda variable: log.append("post-accumulate"))
    y.backward()
    assert log == ["tensor", "post-accumulate"]


def test_grad_runs_tensor_hooks_of_what_it_captures_but_no_accumulation() -> None:
    log: list[str] = []
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda variable: log.append("post-accumulate"))
    x.register_hook(lambda grad: log.append("tensor"))
    x.register_hook(doubled)
    y = x * 3
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: log.append("pre hook of the accumulator"))
    assert grad(y, x)[0].item() == 6.0
    assert log == ["tensor"]
    assert x.grad is None


def test_hooks_stay_with_the_history_that_an_in_place_operation_leaves_behind() -> None:
    log: list[str] = []
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda grad: log.append(f"before {grad.item()}"))
    y.retain_grad()
    y.mul_(5)
    y.register_hook(lambda grad: log.append(f"after {grad.item()}"))
    y.backward()
    assert log == ["after 1.0", "before 5.0"]
    assert y.grad.item() == 1.0


def test_a_handle_removes_its_hook_once_and_for_all() -> None:
    x = leaf(2.0)
    handle = x.register_hook(doubled)
    (x * 1).backward()
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert x.grad.item() == 3.0


@pytest.mark.parametrize("kind", ["tensor", "post-accumulate", "pre", "post"])
def test_a_handle_is_a_context_that_removes_at_the_end(kind: str) -> None:
    calls: list[int] = []
    x = leaf(2.0)
    y = x * 3

    def hook(*values: Any) -> None:
        calls.append(len(values))

    register = {
        "tensor": x.register_hook,
        "post-accumulate": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind]
    with register(hook):
        y.backward(retain_graph=True)
    y.backward()
    assert calls == [2 if kind == "post" else 1]


def test_a_handle_keeps_neither_hook_nor_tensor() -> None:
    x = leaf(2.0)
    hook = Watched()
    handle = x.register_hook(hook)
    tensor, function = weakref.ref(x), weakref.ref(hook)
    del x, hook
    assert (tensor(), function()) == (None, None)
    handle.remove()


def test_removing_a_hook_frees_it_at_once() -> None:
    x = leaf(2.0)
    y = x * 3
    for register in (y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook):
        hook = Watched()
        alive = weakref.ref(hook)
        handle = register(hook)
        del hook
        assert alive() is not None
        handle.remove()
        assert alive() is None


def test_a_hook_may_remove_itself_while_it_runs() -> None:
    calls: list[str] = []
    x = leaf(2.0)

    def once(grad: Any) -> None:
        calls.append("once")
        first.remove()

    first = x.register_hook(once)
    x.register_hook(lambda grad: calls.append("always"))
    for _ in range(2):
        (x * 1).backward()
    assert calls == ["once", "always", "always"]


def test_a_hook_on_a_leaf_that_closes_over_it_is_collected() -> None:
    x = leaf(2.0)
    hook = Watched(lambda grad, x=x: None)
    x.register_hook(hook)
    alive = weakref.ref(hook)
    del x, hook
    assert alive() is not None
    gc.collect()
    assert alive() is None


@leaves(tensor=3, storage=3, node=2, saved=1, hook=2)  # the tensor, the leaf and the saved factor
def test_a_hook_on_a_non_leaf_that_closes_over_it_is_never_collected() -> None:
    y = leaf(2.0) * 3
    hook = Watched(lambda grad, y=y: None)
    y.register_hook(hook)
    alive = weakref.ref(hook)
    del y, hook
    gc.collect()
    assert alive() is not None


@leaves(tensor=1, storage=1, hook=1)
def test_a_post_accumulate_hook_that_closes_over_its_leaf_is_never_collected() -> None:
    x = leaf(2.0)
    hook = Watched(lambda variable, x=x: None)
    x.register_post_accumulate_grad_hook(hook)
    alive = weakref.ref(hook)
    del x, hook
    gc.collect()
    assert alive() is not None
