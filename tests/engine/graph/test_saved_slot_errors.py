"""When a saved tensor cannot be given back: changed or detached in place since, or freed."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from engine_tools import leaf, text_of
from torch_texts import DETACHED_IN_PLACE, FREED, FREED_BEFORE_1_8, HOOKS_ON_FREED, modified


def test_an_input_changed_in_place_is_refused() -> None:
    x, weight = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    y = (x * weight).sum()
    weight.add_(1)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == modified("torch.FloatTensor [2]", "", 1, 0)
    assert x.grad is None


def test_a_changed_input_that_has_history_is_named_by_the_node_that_made_it() -> None:
    x = leaf(2.0, 3.0)
    middle = x * 2
    y = middle.sin().sum()
    middle.mul_(3)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == modified("torch.FloatTensor [2]", "output 0 of Mul", 1, 0)


def test_a_changed_output_is_named_by_its_own_node() -> None:
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = x.exp()
    total = y.sum()
    with torch.no_grad():
        y.zero_()
        y.add_(1)
    with pytest.raises(RuntimeError) as error:
        total.backward()
    assert text_of(error) == modified("torch.DoubleTensor [2, 3]", "output 0 of Exp", 2, 0)


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x[:2].clone(), x[2:].clone()

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return torch.cat((first, second))


def test_an_input_that_is_a_second_output_is_named_as_the_first_as_torch_does() -> None:
    # torch notes the number of an output only where it saves no original
    x = torch.ones(4, requires_grad=True)
    _, second = Halves.apply(x)
    y = second.sin().sum()
    second.detach().add_(1)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == modified("torch.FloatTensor [2]", "output 0 of Halves", 1, 0)


def test_a_change_through_another_view_counts() -> None:
    base = torch.ones(4)
    x = leaf(1.0, 1.0)
    y = (x * base[:2]).sum()
    base[2:].add_(1)
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == modified("torch.FloatTensor [2]", "", 1, 0)


def test_a_change_through_data_or_without_the_engine_is_not_seen() -> None:
    x, weight = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    y = (x * weight).sum()
    weight.data.mul_(0)
    assert weight._version == 0
    y.backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_change_before_the_save_is_no_error_and_reading_checks_too() -> None:
    x, weight = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    weight.add_(1)
    y = x * weight
    assert y.grad_fn._saved_other is weight
    weight.add_(1)
    with pytest.raises(RuntimeError) as error:
        _ = y.grad_fn._saved_other
    assert text_of(error) == modified("torch.FloatTensor [2]", "", 2, 1)
    assert y.grad_fn._raw_saved_other.data is weight


def test_counting_a_change_by_hand_is_seen() -> None:
    x, weight = leaf(2.0, 3.0), torch.tensor([5.0, 7.0])
    y = x * weight
    torch.autograd.graph.increment_version(weight)
    with pytest.raises(RuntimeError) as error:
        y.sum().backward()
    assert text_of(error) == modified("torch.FloatTensor [2]", "", 1, 0)


def test_a_saved_input_that_was_detached_in_place_is_refused() -> None:
    x = leaf(2.0, 3.0)
    middle = x * 2
    y = middle.sin().sum()
    middle.detach_()
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == DETACHED_IN_PLACE


def test_an_output_detached_in_place_comes_back_with_its_node() -> None:
    x = leaf(0.0, 0.0)
    y = x.exp()
    total = y.sum()
    node = y.grad_fn
    y.detach_()
    assert node._saved_result.grad_fn is node
    total.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_leaf_whose_requires_grad_is_switched_off_comes_back_so() -> None:
    x = leaf(2.0, 3.0)
    y = x.sin()
    x.requires_grad_(False)
    assert y.grad_fn._saved_self is x
    assert not y.grad_fn._saved_self.requires_grad


def test_a_second_backward_says_that_the_buffers_are_freed() -> None:
    y = leaf(2.0, 3.0).sin().sum()
    y.backward()
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == FREED


def test_reading_a_freed_slot_says_the_same_and_its_raw_data_is_none() -> None:
    x = leaf(2.0, 3.0)
    y = x.sin()
    raw = y.grad_fn._raw_saved_self
    y.sum().backward()
    for read in (lambda: y.grad_fn._saved_self, raw.unpack):
        with pytest.raises(RuntimeError) as error:
            read()
        assert text_of(error) == FREED
    assert raw.data is None
    with pytest.raises(RuntimeError) as error:
        raw.register_hooks(lambda t: t, lambda t: t)
    assert text_of(error) == HOOKS_ON_FREED


def test_freed_saved_tensors_of_a_function_say_the_same() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    y = Twice.apply(leaf(2.0, 3.0))
    y.sum().backward()
    for name in ("saved_tensors", "_raw_saved_tensors"):
        with pytest.raises(RuntimeError) as error:
            getattr(y.grad_fn, name)
        assert text_of(error) == FREED


def test_a_node_that_saved_nothing_runs_again_after_the_others_are_freed() -> None:
    x = leaf(2.0, 3.0)
    y = x + 1
    y.sum().backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_graph_keeps_the_slots() -> None:
    x = leaf(0.0, 0.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError) as error:
        y.backward()
    assert text_of(error) == FREED


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ("torch-1.1", FREED_BEFORE_1_8),
        ("torch-1.2", FREED_BEFORE_1_8),
        ("torch-1.10", FREED),
        ("torch-2.13", FREED),
        ("oneflow-0.9", FREED),
    ],
)
def test_each_release_has_its_own_words_for_freed(profile: str, text: str) -> None:
    with torch.profile(profile):
        y = leaf(2.0, 3.0).sin().sum()
        y.backward()
        with pytest.raises(RuntimeError) as error:
            y.backward()
    assert text_of(error) == text


def test_the_handles_type_cannot_be_instantiated() -> None:
    with pytest.raises(RuntimeError) as error:
        torch._C._autograd.SavedTensor()
    assert "Trying to create a SavedTensor object from Python is forbidden." in text_of(error)
