"""A backward inside a backward, and backwards in several threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import grad, in_thread, leaf, text_of
from leftovers import run_in_child
from torch_texts import FREED


class Checkpoint(torch.autograd.Function):
    """Runs its function without recording, and again, recorded and differentiated, in backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, x: Any) -> Any:
        ctx.function = function
        ctx.save_for_backward(x)
        return function(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        again = x.detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.function(again)
        torch.autograd.backward(y, gradient)
        return None, again.grad


def test_a_backward_may_run_another_one_from_a_function() -> None:
    x = leaf(0.5)
    y = Checkpoint.apply(lambda value: value.sin().exp(), x)
    y.backward()
    plain = leaf(0.5)
    plain.sin().exp().backward()
    assert x.grad.tolist() == plain.grad.tolist()


def test_checkpoints_may_be_nested_deeply() -> None:
    def nested(value: Any, depth: int) -> Any:
        if depth == 0:
            return value * 2
        return Checkpoint.apply(lambda inner: nested(inner, depth - 1), value)

    x = leaf(1.0)
    nested(x, 50).backward()
    assert x.grad.tolist() == [2.0]


def nested_backwards(levels: int) -> float:
    class Deeper(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.level = int(x.item())
            return x - 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            if ctx.level > 0:
                with torch.enable_grad():
                    inner = torch.tensor([float(ctx.level - 1)], requires_grad=True)
                    Deeper.apply(inner).backward()
            return gradient

    x = torch.tensor([float(levels)], requires_grad=True)
    Deeper.apply(x).backward()
    return float(x.grad.item())


def test_a_backward_may_be_reentered_a_hundred_levels_deep() -> None:
    assert run_in_child(nested_backwards, 100) == 1.0


def test_a_backward_may_run_another_one_from_a_hook_and_keeps_its_own_state() -> None:
    order: list[str] = []
    other = leaf(3.0)

    def hook(gradient: Any) -> None:
        order.append("hook")
        with torch.enable_grad():
            inner = other * other
        inner.register_hook(lambda grad: order.append("inner"))
        inner.backward()

    x = leaf(2.0)
    y = x * 2
    y.register_hook(hook)
    x.register_hook(lambda grad: order.append("outer"))
    y.backward()
    assert order == ["hook", "inner", "outer"]
    assert (x.grad.item(), other.grad.item()) == (2.0, 6.0)


def test_an_inner_backward_may_add_to_the_same_leaf() -> None:
    x = leaf(2.0)

    def hook(gradient: Any) -> None:
        with torch.enable_grad():
            (x * 10).backward()

    y = x * 2
    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 12.0


def test_an_error_in_an_inner_backward_goes_through_the_outer_one() -> None:
    x = leaf(2.0)
    freed = x.sin()
    freed.backward()
    x.grad = None
    y = x * 2
    handle = y.register_hook(lambda gradient: freed.backward())
    with pytest.raises(RuntimeError) as error:
        y.backward(retain_graph=True)
    assert text_of(error) == FREED
    handle.remove()
    y.backward()
    assert x.grad.item() == 2.0  # nothing from the failed one


def test_the_grad_mode_of_a_backward_is_its_own_and_is_given_back() -> None:
    modes: list[bool] = []
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda gradient: modes.append(torch.is_grad_enabled()))
    y.backward(retain_graph=True)
    grad(y, x, create_graph=True)
    with torch.no_grad():
        grad(y, x)
        assert not torch.is_grad_enabled()
    assert modes == [False, True, False]
    assert torch.is_grad_enabled()


def test_the_grad_mode_is_given_back_when_a_backward_fails() -> None:
    x = leaf(2.0)
    y = x * 2
    handle = y.register_hook(lambda gradient: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    handle.remove()
    assert torch.is_grad_enabled()


def test_the_current_node_is_known_while_it_runs() -> None:
    seen: list[Any] = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            seen.append(torch._C._current_autograd_node() is ctx)
            seen.append(torch._C._current_graph_task_id() >= 0)
            return gradient * 2

    x = leaf(2.0)
    Looks.apply(x).backward()
    assert seen == [True, True]
    assert torch._C._current_autograd_node() is None
    assert torch._C._current_graph_task_id() == -1


# --- threads ---


def test_a_graph_may_be_run_in_another_thread_than_it_was_made_in() -> None:
    x = leaf(2.0)
    y = in_thread(lambda: x * x)
    in_thread(y.backward)
    assert x.grad.item() == 4.0


def test_an_error_in_a_threads_backward_is_raised_there() -> None:
    x = leaf(2.0)
    y = x.sin()
    y.backward()
    with pytest.raises(RuntimeError) as error:
        in_thread(y.backward)
    assert text_of(error) == FREED


def test_threads_accumulate_into_the_same_leaf_without_losing_any() -> None:
    x = leaf(1.0)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(200):
            (x * 1).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.item() == 800.0


def test_threads_with_graphs_of_their_own_do_not_disturb_each_other() -> None:
    wrong: list[float] = []
    start = threading.Barrier(4)

    def work(value: float) -> None:
        start.wait()
        for _ in range(100):
            x = torch.tensor([value], requires_grad=True)
            y = x
            for _ in range(5):
                y = y * x
            if grad(y, x)[0].item() != 6 * value**5:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(value),)) for value in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_retained_graph_may_be_run_by_two_threads_at_once() -> None:
    x = leaf(3.0)
    y = x * x
    found: list[float] = []
    start = threading.Barrier(2)

    def work() -> None:
        start.wait()
        for _ in range(100):
            found.append(grad(y, x, retain_graph=True)[0].item())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [6.0] * 200


def test_grad_mode_belongs_to_its_thread() -> None:
    with torch.no_grad():
        assert in_thread(torch.is_grad_enabled)
    assert in_thread(lambda: torch.set_grad_enabled(False)) is not None
    assert torch.is_grad_enabled()
