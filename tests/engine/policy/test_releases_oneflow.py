"""Differences between OneFlow 0.8 and 0.9 and any PyTorch: tensors without Python attributes, nodes of one type.

Measured on OneFlow 0.8.0 and 0.9.0.
"""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any

import pytest

import gradlife.engine as torch
from lifetimes import doubling, failure, leaf, save_input

each_oneflow = pytest.mark.parametrize("profile", ["oneflow-0.8", "oneflow-0.9"])
NODE = "'oneflow._oneflow_internal.FunctionNode' object"
TAKES_NOTHING = "(): incompatible function arguments. The following argument types are supported:\n    1. () -> None"


class Both(torch.autograd.Function):
    """Twice its first argument, whatever the second is."""

    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, None


def without_dict(text: str) -> str:
    """As Python says it up to 3.12."""
    return text.removesuffix(" and no __dict__ for setting new attributes")


@each_oneflow
@pytest.mark.parametrize(
    "make", [leaf, lambda: leaf() * 2, lambda: torch.nn.Parameter(torch.ones(2))], ids=["leaf", "result", "parameter"]
)
def test_tensor_has_no_attributes_no_weak_references_and_is_unknown_to_the_collector(profile: str, make: Any) -> None:
    with torch.profile(profile):
        x = make()
        name = type(x).__name__
        assert isinstance(x, torch.Tensor)
        assert not hasattr(x, "__dict__")
        assert (
            without_dict(failure(lambda: setattr(x, "tag", 1)))
            == f"AttributeError: '{name}' object has no attribute 'tag'"
        )
        assert failure(lambda: weakref.ref(x)) == f"TypeError: cannot create weak reference to '{name}' object"
        assert not gc.is_tracked(x)
        assert gc.get_referents(x) == []


@each_oneflow
def test_subclass_of_tensor_carries_what_python_gives_it(profile: str) -> None:
    class Tagged(torch.Tensor):
        tag: int

    with torch.profile(profile):
        x = Tagged([1.0, 2.0])
        x.tag = 2
        assert (type(x), x.tag, weakref.ref(x)() is x) == (Tagged, 2, True)


@each_oneflow
def test_gradient_that_is_set_is_another_tensor_over_the_same_memory(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        gradient = torch.ones(2)
        x.grad = gradient
        assert x.grad is not gradient
        gradient.fill_(3.0)
        assert x.grad.tolist() == [3.0, 3.0]


@each_oneflow
def test_tensor_hook_gives_nothing_to_take_it_off_with(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        assert x.register_hook(lambda grad: grad * 3) is None
        (x * 2).sum().backward()
        assert x.grad.tolist() == [6.0, 6.0]


@each_oneflow
@pytest.mark.parametrize("name", ["detach_", "data_ptr", "_make_subclass", "untyped_storage"])
def test_names_that_oneflow_lacks(profile: str, name: str) -> None:
    with torch.profile(profile):
        assert not hasattr(leaf(), name)
        assert failure(lambda: getattr(leaf(), name)) == f"AttributeError: 'Tensor' object has no attribute '{name}'"


@each_oneflow
def test_context_cannot_mark_inputs_as_dirty(profile: str) -> None:
    with torch.profile(profile):
        function = doubling(lambda ctx, x, y: ctx.mark_dirty(x))
        assert failure(lambda: function.apply(leaf())) == "AttributeError: attribute mark_dirty not found"


# --- nodes ---


@each_oneflow
def test_grad_fn_is_a_node_of_one_type_and_never_the_context(profile: str) -> None:
    with torch.profile(profile):
        x = leaf()
        of_function = doubling().apply(x).grad_fn
        product = x * x
        assert type(of_function) is type(product.grad_fn)
        assert type(of_function).__name__ == "FunctionNode"
        assert (of_function.name(), product.grad_fn.name()) == ("F_backward", "broadcast_mul_backward")
        assert product.grad_fn is product.grad_fn
        assert not gc.is_tracked(of_function)
        assert weakref.ref(of_function)() is of_function


@each_oneflow
def test_next_functions_are_nodes_without_numbers(profile: str) -> None:
    with torch.profile(profile):
        y = leaf() * 2
        assert (y * 3).grad_fn.next_functions[0] is y.grad_fn
        assert failure(lambda: y.grad_fn.next_functions[0][0]) == f"TypeError: {NODE} is not subscriptable"


@each_oneflow
def test_node_refuses_what_was_never_finished_and_what_is_not_there(profile: str) -> None:
    with torch.profile(profile):
        node = doubling(save_input).apply(leaf()).grad_fn
        assert failure(lambda: node.metadata) == f"TypeError: {TAKES_NOTHING}"
        assert failure(lambda: node.requires_grad) == f"TypeError: {TAKES_NOTHING}"
        assert failure(lambda: node.register_hook(print)) == f"TypeError: register_hook{TAKES_NOTHING}"
        for name in ("saved_tensors", "needs_input_grad", "register_prehook", "__dict__"):
            assert failure(partial(getattr, node, name)) == f"AttributeError: {NODE} has no attribute '{name}'"
        assert (
            without_dict(failure(lambda: setattr(node, "tag", 1))) == f"AttributeError: {NODE} has no attribute 'tag'"
        )
        assert failure(lambda: node(torch.ones(2))) == f"TypeError: {NODE} is not callable"


@each_oneflow
def test_node_that_saved_something_runs_once(profile: str) -> None:
    with torch.profile(profile):
        for make, name in ((lambda x: doubling(save_input).apply(x), "F_backward"), (torch.exp, "exp_backward")):
            y = make(leaf()).sum()
            y.backward()
            text = failure(y.backward)
            assert text.startswith(f"Exception: This FunctionNode with name `{name}` has been released.\nMaybe you try")


@each_oneflow
def test_node_that_saved_nothing_runs_again_and_keeps_its_context(profile: str) -> None:
    function = doubling()
    with torch.profile(profile):
        x = leaf()
        y = function.apply(x).sum()
        y.backward()
        y.backward()
        assert x.grad.tolist() == [4.0, 4.0]
        assert function.context() is not None


@each_oneflow
def test_calling_an_instance_of_a_function_applies_its_class(profile: str) -> None:
    class Identity(torch.autograd.Function):
        def forward(self, x: Any) -> Any:  # type: ignore[override]
            self.save_for_backward(x)
            return x * 1

        def backward(self, grad: Any) -> Any:  # type: ignore[override]
            return grad * self.saved_tensors[0]

    with torch.profile(profile):
        f = Identity()
        x, z = leaf(3.0), leaf(5.0)
        first, second = f(x), f(z)
        first.backward()
        assert (x.grad.tolist(), z.grad) == ([9.0 / 3], None)
        assert first.grad_fn is not second.grad_fn
        for name in ("next_functions", "saved_tensors", "_do_backward"):
            assert failure(partial(getattr, f, name)) == (
                f"AttributeError: 'Identity' object has no attribute '{name}'"
            )
        assert failure(lambda: f.register_hook(print)).startswith("AttributeError: 'Identity' object has no attribute")


def test_a_class_stays_until_the_memory_of_its_last_tensor_comes_back() -> None:
    with torch.profile("oneflow-0.8"):

        class Own(torch.Tensor):
            """Found freed while the memory of its tensor, which is given back one death late, was asked for its layout."""

        tensor = Own([1.0])
        alive = weakref.ref(Own)
        del Own, tensor
        gc.collect()
        assert alive() is not None
        torch.ones(1)
        gc.collect()
        assert alive() is None


@pytest.mark.parametrize("argument", [5, "a", [1.0], print], ids=["number", "text", "list", "function"])
def test_a_function_takes_tensors_only(argument: Any) -> None:
    """Measured: refused before forward runs; the colours are in 0.9's text."""
    kind = repr(type(argument))
    for profile, text in (
        ("oneflow-0.8", f"expected Tensor as element 1, but got {kind}"),
        (
            "oneflow-0.9",
            f"\x1b[1m\x1b[38;2;255;000;000mError\x1b[0m: expected Tensor or None as element 1, but got {kind}\n",
        ),
    ):
        with torch.profile(profile):
            assert failure(lambda: Both.apply(leaf(), argument)) == f"RuntimeError: {text}"


def test_a_function_takes_none_for_a_tensor_since_0_9() -> None:
    with torch.profile("oneflow-0.8"):
        assert failure(lambda: Both.apply(leaf(), None)) == (
            "RuntimeError: expected Tensor as element 1, but got <class 'NoneType'>"
        )
    with torch.profile("oneflow-0.9"):
        assert Both.apply(leaf(3.0), None).tolist() == [6.0]
