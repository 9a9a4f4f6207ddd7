"""Running a graph backwards: depth, retained and differentiable graphs, chosen inputs, unused ones."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import grad, leaf, text_of
from leftovers import leaves, run_in_child, run_script
from torch_texts import FREED, UNUSED

CYCLE_WARNING = "ignore:Using backward.. with create_graph=True will create a reference cycle:UserWarning"


def chain(length: int) -> tuple[Any, Any]:
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(length):
        y = y + x
    return x, y


def run_deep_chain(length: int) -> tuple[float, dict[str, int]]:
    torch.log_events(False)
    x, y = chain(length)
    y.backward()
    result = x.grad.item()
    x.grad = None
    del x, y
    return result, torch.live_counts()


def test_a_million_chained_nodes_run_and_are_freed_on_a_default_stack() -> None:
    result, counts = run_in_child(run_deep_chain, 1_000_000, timeout=900)
    assert result == 1_000_001.0
    assert (counts["node"], counts["saved"]) == (0, 0)


def drop_deep_chain_of_saved(length: int) -> dict[str, int]:
    torch.log_events(False)
    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = y.sin()
    del y
    return torch.live_counts()


def test_a_deep_chain_of_nodes_that_save_their_inputs_is_freed_without_a_backward() -> None:
    counts = run_in_child(drop_deep_chain_of_saved, 200_000)
    assert (counts["tensor"], counts["node"], counts["saved"]) == (0, 0, 0)


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


def drop_deep_chain_of_functions(length: int, run: bool) -> dict[str, int]:
    torch.log_events(False)
    y = torch.ones(1, requires_grad=True)
    for _ in range(length):
        y = Identity.apply(y)
    if run:
        y.backward()
    del y
    return torch.live_counts()


@pytest.mark.parametrize("run", [False, True])
def test_a_deep_chain_of_custom_functions_is_freed_too(run: bool) -> None:
    counts = run_in_child(drop_deep_chain_of_functions, 50_000, run)
    assert (counts["tensor"], counts["node"], counts["context"]) == (0, 0, 0)


def test_a_wide_graph_counts_its_dependencies() -> None:
    x = leaf(2.0)
    parts = [x * float(factor) for factor in range(100)]
    y = parts[0]
    for part in parts[1:]:
        y = y + part
    y.backward()
    assert x.grad.tolist() == [4950.0]


def test_a_diamond_adds_its_two_paths_before_the_shared_node_runs() -> None:
    calls: list[float] = []
    x = leaf(3.0)
    middle = x * 2
    middle.register_hook(lambda gradient: calls.append(gradient.item()))
    (middle * middle + middle).backward()
    assert calls == [13.0]
    assert x.grad.tolist() == [26.0]


def test_gradients_add_up_over_calls_and_none_starts_anew() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_accumulation_is_in_place_and_keeps_the_gradient_object() -> None:
    x = leaf(1.0)
    (x * 2).backward()
    first = x.grad
    (x * 2).backward()
    assert x.grad is first
    assert first.tolist() == [4.0]
    assert not first.requires_grad


def test_a_leaf_does_not_take_the_gradient_that_backward_was_given_for_its_own() -> None:
    """Cast to the dtype of the result or not, the caller of backward has it until the end."""
    for dtype in (torch.float32, torch.float64):
        x = torch.ones(2, requires_grad=True)
        seen: list[int] = []
        x.register_hook(lambda gradient, seen=seen: seen.append(gradient.data_ptr()))
        (x - 2).backward(torch.ones(2, dtype=dtype))
        assert x.grad.tolist() == [1.0, 1.0]
        assert [x.grad.data_ptr()] != seen


@pytest.mark.filterwarnings(CYCLE_WARNING)
def test_with_create_graph_accumulation_makes_a_new_gradient() -> None:
    x = leaf(1.0)
    (x * 2).backward()
    first = x.grad
    (x * x).backward(create_graph=True)
    assert x.grad is not first
    assert (first.tolist(), x.grad.tolist()) == ([2.0], [4.0])
    assert x.grad.requires_grad
    x.grad = None


@pytest.mark.filterwarnings(CYCLE_WARNING)
@leaves(tensor=3, storage=3, node=5, saved=2)  # the leaf, its gradient and the gradient that both of its terms saved
def test_create_graph_with_backward_leaks_a_cycle_through_the_gradient() -> None:
    x = leaf(1.0)
    (x * x).backward(create_graph=True)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None


def test_the_gradient_argument_scales_and_may_need_broadcasting_down() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).backward(torch.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [3.0, 30.0]
    bias = torch.zeros(1, requires_grad=True)
    (torch.ones(2, 3) + bias).sum().backward()
    assert bias.grad.tolist() == [6.0]


def test_a_graph_may_be_retained_as_often_as_wanted() -> None:
    x = leaf(2.0)
    y = x * x
    for _ in range(3):
        assert grad(y, x, retain_graph=True)[0].item() == 4.0
    assert grad(y, x)[0].item() == 4.0
    with pytest.raises(RuntimeError) as error:
        grad(y, x)
    assert text_of(error) == FREED


def test_create_graph_retains_by_default() -> None:
    x = leaf(2.0)
    y = x * x
    (first,) = grad(y, x, create_graph=True)
    assert first.requires_grad
    assert grad(y, x, retain_graph=False, create_graph=True)[0].item() == 4.0
    with pytest.raises(RuntimeError) as error:
        grad(y, x)
    assert text_of(error) == FREED
    del first


def test_higher_derivatives() -> None:
    x = leaf(2.0)
    value, found = x * x * x * x, []
    for _ in range(4):
        (value,) = grad(value, x, create_graph=True)
        found.append(value.item())
    assert found == [32.0, 48.0, 48.0, 24.0]


def test_a_hessian_vector_product() -> None:
    x = leaf(1.0, 2.0, 3.0)
    (gradient,) = grad((x**3).sum(), x, create_graph=True)
    (product,) = grad(gradient, x, torch.tensor([1.0, 0.0, 2.0]))
    assert product.tolist() == [6.0, 0.0, 36.0]


def test_without_create_graph_the_gradient_has_no_history() -> None:
    x = leaf(2.0)
    (gradient,) = grad(x * x, x)
    assert (gradient.requires_grad, gradient.grad_fn, gradient.is_leaf) == (False, None, True)


def test_a_gradient_penalty() -> None:
    weight = leaf(3.0)
    x = leaf(2.0)
    (gradient,) = grad(weight * x * x, x, create_graph=True)
    (gradient * gradient).sum().backward()
    assert weight.grad.tolist() == [96.0]  # d/dw (2 w x)^2 = 8 w x^2
    assert x.grad.tolist() == [144.0]  # d/dx (2 w x)^2 = 8 w^2 x


WARNS_TWICE = """
import warnings
import gradlife.engine as torch
warnings.simplefilter("always")
for _ in range(2):
    x = torch.ones(1, requires_grad=True)
    (x * x).backward(create_graph=True)
    x.grad = None
"""


def test_backward_with_create_graph_warns_once_a_process() -> None:
    result = run_script(WARNS_TWICE).stderr
    warning = (
        "UserWarning: Using backward() with create_graph=True will create a reference cycle between the parameter and"
    )
    assert result.count(warning) == 1


def test_grad_leaves_dot_grad_alone() -> None:
    x = leaf(2.0)
    assert [item.item() for item in grad(x * x, (x,))] == [4.0]
    assert x.grad is None


def test_grad_of_a_non_leaf_and_of_the_output_itself() -> None:
    x = leaf(2.0)
    middle = x * 3
    y = middle * middle
    of_middle, of_x, of_y = grad(y, (middle, x, y))
    assert [of_middle.item(), of_x.item(), of_y.item()] == [12.0, 36.0, 1.0]


def test_several_outputs_add_their_gradients() -> None:
    x = leaf(2.0)
    (gradient,) = grad([x * 2, x * x], [x], grad_outputs=[torch.tensor([10.0]), None])
    assert gradient.item() == 24.0
    torch.autograd.backward([x * 2, x * x], [torch.tensor([10.0]), torch.tensor([1.0])])
    assert x.grad.item() == 24.0


def test_backward_with_inputs_fills_only_their_gradients() -> None:
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert (a.grad.item(), b.grad) == (3.0, None)
    middle = a * 2
    (middle * b).backward(inputs=[middle])
    assert (middle.grad.item(), a.grad.item(), b.grad) == (3.0, 3.0, None)


def test_an_unused_input_is_an_error_unless_allowed() -> None:
    x, other = leaf(2.0), leaf(3.0)
    y = x * x
    with pytest.raises(RuntimeError) as error:
        grad(y, (x, other), retain_graph=True)
    assert text_of(error) == UNUSED.format(1)
    used, unused = grad(y, (x, other), allow_unused=True, retain_graph=True)
    assert (used.item(), unused) == (4.0, None)
    used, unused = grad(y, (x, other), materialize_grads=True)
    assert (used.item(), unused.tolist()) == (4.0, [0.0])
