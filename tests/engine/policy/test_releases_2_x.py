"""Small facts in which the releases 2.9, 2.10 and 2.13 differ from those before and among themselves."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import leaves
from lifetimes import collector_off

SINCE_2_9 = ("torch-2.9", "torch-2.10")


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def hook_over_output() -> Any:
    """A hook on the node of a custom Function that holds the output; watched by the hook's closure."""
    y = Double.apply(leaf())

    def hook(*gradients: Any) -> None:
        _ = y

    y.grad_fn.register_hook(hook)
    return weakref.ref(hook)


@pytest.mark.parametrize("release", ["torch-1.10", "torch-1.13"])
def test_the_collector_saw_a_nodes_hooks_through_its_context_up_to_1_13(release: str) -> None:
    with torch.profile(release), collector_off():
        hook = hook_over_output()
        assert hook() is not None
        gc.collect()
        assert hook() is None


@pytest.mark.parametrize("release", [*SINCE_2_9, "torch-2.13"])
@leaves(tensor=2, storage=2, node=2, hook=1, context=1)
def test_it_does_not_in_2_x_where_an_output_owns_the_node(release: str) -> None:
    with torch.profile(release):
        hook = hook_over_output()
        gc.collect()
        assert hook() is not None


@pytest.mark.parametrize(("release", "hyphen"), [("torch-1.13", "-"), *((each, "\u2011") for each in SINCE_2_9)])
def test_the_error_of_a_shell_has_a_hyphen_that_does_not_break_since_2_9(release: str, hyphen: str) -> None:
    with torch.profile(release):
        y = Double.apply(leaf())
        shell = y.grad_fn
        del y
        with pytest.raises(RuntimeError) as error:
            _ = shell.next_functions
    assert f"examples on how to use new{hyphen}style autograd functions, see " in str(error.value)


@pytest.mark.parametrize("release", ["torch-1.10", *SINCE_2_9, "torch-2.13"])
def test_a_node_of_an_operation_shows_the_collector_no_type(release: str) -> None:
    with torch.profile(release):
        node = leaf().exp().grad_fn
        assert gc.get_referents(node) == []


@pytest.mark.parametrize(
    ("release", "referents"), [("torch-2.9", []), ("torch-2.10", [torch.Tensor]), ("torch-2.13", [torch.Tensor])]
)
def test_a_wrapper_that_would_be_resurrected_shows_the_collector_nothing(release: str, referents: list[type]) -> None:
    with torch.profile(release):
        x = leaf()
        y = x.exp()
        assert gc.get_referents(x) == referents
        assert y.grad_fn is not None


def test_an_emptied_tensor_of_2_9_has_no_device_to_print() -> None:
    with torch.profile("torch-2.9"):
        p = leaf()
        p.grad = torch.ones(3)
        watch = weakref.ref(p.grad)
        empty: Any = watch()  # a strong reference to a wrapper in the keeping of its impl
        p.grad = None
        for use in (lambda: empty.device, lambda: repr(empty)):
            with pytest.raises(RuntimeError, match=r"^tensor does not have a device$"):
                use()
        assert empty is not None
        assert list(empty.shape) == [0]


def test_hooks_pack_nothing_while_a_trace_is_recorded() -> None:
    private: Any = torch._C._autograd
    packed: list[int] = []

    def pack(tensor: Any) -> Any:
        packed.append(1)
        return tensor

    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        assert private._saved_tensors_hooks_set_tracing(True) is False
        _ = x.sin()
        assert packed == []
        assert private._top_saved_tensors_default_hooks(False) is None
        assert private._top_saved_tensors_default_hooks(True) is not None
        assert private._saved_tensors_hooks_set_tracing(False) is True
        _ = x.sin()
        assert packed == [1]


def test_an_unpacked_leaf_that_requires_grad_must_be_of_floating_point() -> None:
    x = leaf()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: None, lambda _: torch.ones(3, dtype=torch.int64)):
        y = x.sin()
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype can require gradients$"):
        y.sum().backward()
