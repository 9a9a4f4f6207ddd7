"""Hooks that return the wrong thing, raise, or are put where they do not belong."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of

NO_GRAD = "cannot register a hook on a tensor that doesn't require gradient"


def doubled(gradient: Any) -> Any:
    return gradient * 2


def test_hooks_need_a_gradient_and_the_right_kind_of_tensor() -> None:
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError) as error:
            getattr(torch.ones(1), name)(doubled)
        assert text_of(error) == NO_GRAD
    with pytest.raises(RuntimeError) as error:
        (leaf(2.0) * 2).register_post_accumulate_grad_hook(doubled)
    assert text_of(error) == "post accumulate grad hooks cannot be registered on non-leaf tensors"


def run_with(kind: str, result: Any) -> None:
    x = leaf(2.0)
    y = x * 3
    register = {
        "tensor": y.register_hook,
        "post-accumulate": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind]

    def hook(*values: Any) -> Any:
        return result

    register(hook)
    try:
        y.backward()
    finally:
        assert x.grad is None or kind == "post-accumulate"


@pytest.mark.parametrize(
    ("kind", "result", "error", "text"),
    [
        ("tensor", 3, TypeError, "expected Variable, but hook returned 'int'"),
        ("post-accumulate", 3, TypeError, "expected Variable, but hook returned 'int'"),
        ("pre", (), RuntimeError, "hook 'hook' has returned an incorrect number of values (got 0, but expected 1)"),
        ("pre", 3, TypeError, "expected tuple, but hook returned 'int'"),
        ("post", 3, TypeError, "expected tuple, but hook returned 'int'"),
        ("post", (), RuntimeError, "hook 'hook' has returned an incorrect number of values (got 0, but expected 2)"),
        ("pre", (3,), TypeError, "expected Variable, but hook returned 'int'"),
    ],
)
def test_a_hook_that_returns_the_wrong_thing_stops_the_backward(
    kind: str, result: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as outcome:
        run_with(kind, result)
    assert text_of(outcome) == text


def test_a_post_accumulate_hook_may_return_nothing() -> None:
    with pytest.raises(RuntimeError) as error:
        run_with("post-accumulate", torch.ones(1))
    assert text_of(error) == "Tensor post accumulate grad hooks should return None."


def test_a_hook_may_not_change_shape_or_dtype_of_a_gradient() -> None:
    x = leaf(2.0, 3.0)
    x.register_hook(lambda grad: torch.ones(3))
    with pytest.raises(RuntimeError) as error:
        (x * 2).sum().backward()
    assert text_of(error) == "hook '<lambda>' has changed the size of value"
    x = leaf(2.0)
    x.register_hook(lambda grad: grad.double())
    with pytest.raises(RuntimeError) as error:
        (x * 2).backward()
    assert text_of(error).startswith("hook '<lambda>' has changed the type of value (was torch.")


def test_node_hooks_may_not_change_the_shape_either() -> None:
    x = leaf(2.0, 3.0)
    y = x * 2
    handle = y.grad_fn.register_prehook(lambda grads: (torch.ones(3),))
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert text_of(error) == "hook '<lambda>' has changed the size of value"
    handle.remove()
    y = x * 2
    y.grad_fn.register_hook(lambda outputs, grads: (torch.ones(3), None))
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert text_of(error) == "hook '<lambda>' has changed the size of value"


@pytest.mark.parametrize("kind", ["tensor", "post-accumulate", "pre", "post"])
def test_what_a_hook_raises_arrives_as_itself(kind: str) -> None:
    class Stop(Exception):
        pass

    def stop(*values: Any) -> None:
        raise Stop(kind)

    x = leaf(2.0)
    y = x * 3
    handle = {
        "tensor": x.register_hook,
        "post-accumulate": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind](stop)
    with pytest.raises(Stop, match=rf"^{kind}$"):
        y.backward(retain_graph=True)
    handle.remove()
    x.grad = None
    y.backward()
    assert x.grad.item() == 3.0
