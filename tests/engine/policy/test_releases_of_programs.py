"""Differences of releases that random programs found; each was measured on PyTorch 1.10.2, 1.13.1, 2.9.1 and 2.10.0."""

from __future__ import annotations

import gc
import operator
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from leftovers import leaves
from lifetimes import collector_off

RELEASES = ("torch-1.10", "torch-1.13", "torch-2.9", "torch-2.13")


class Sub(torch.Tensor):
    pass


class Nothing(torch.autograd.Function):
    """Gives its input no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


class Custom(torch.autograd.Function):
    """Keeps what `save` makes of its input, or returns that itself."""

    @staticmethod
    def forward(ctx: Any, x: Any, save: Callable[[Any, Any], Any]) -> Any:
        return save(ctx, x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


class Keep(torch.autograd.Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def leaf(*numbers: float) -> Any:
    return torch.tensor(numbers or [1.0, 2.0], requires_grad=True)


def by_release(of: Callable[[], Any]) -> list[Any]:
    """The answers of the releases."""
    answers = []
    for name in RELEASES:
        with torch.profile(name):
            answers.append(of())
    return answers


def packed_by(operation: Callable[[Any, Any], Any], one: Any, other: Any) -> str:
    """The order in which an operation packs its operands."""
    seen: list[str] = []

    def pack(tensor: Any) -> Any:
        seen.append("a" if bool((tensor == one).all()) else "b")
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        operation(one, other)
    return "".join(seen)


@pytest.mark.parametrize(
    ("operation", "a", "b", "before", "since"),
    [
        (lambda a, b: a * b, [1.0, 1.0], [2.0, 2.0], "ab", "ba"),
        (lambda a, b: a / b, [1.0, 1.0], [2.0, 2.0], "ab", "ba"),
        (lambda a, b: a @ b, [1.0, 1.0], [2.0, 2.0], "ba", "ab"),
        (lambda a, b: a @ b, [[1.0, 1.0], [1.0, 1.0]], [2.0, 2.0], "ba", "ab"),
        (lambda a, b: a @ b, [[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]], "ab", "ba"),
    ],
)
def test_releases_before_2_pack_in_the_other_order(operation: Any, a: Any, b: Any, before: str, since: str) -> None:
    def order() -> str:
        return packed_by(operation, *(torch.tensor(numbers, requires_grad=True) for numbers in (a, b)))

    assert by_release(order) == [before, before, since, since]


def test_a_hook_of_a_wanted_input_is_called_since_2() -> None:
    def calls() -> int:
        seen: list[Any] = []
        x = leaf()
        x.register_hook(seen.append)
        torch.autograd.grad((x * 2).sum(), [x])
        return len(seen)

    assert by_release(calls) == [0, 0, 1, 1]


def test_a_hook_of_a_leaf_gets_no_missing_gradient_before_2() -> None:
    def calls() -> int:
        seen: list[Any] = []
        x = leaf()
        x.register_hook(seen.append)
        Nothing.apply(x).sum().backward()
        return len(seen)

    assert by_release(calls) == [0, 0, 1, 1]


def test_a_node_hook_has_to_return_a_tuple_from_1_10_on() -> None:
    def refused() -> str:
        y = leaf() * 2
        y.grad_fn.register_hook(lambda gradients, _: gradients[0])
        with pytest.raises(TypeError) as caught:
            y.sum().backward()
        return str(caught.value)

    assert by_release(refused) == ["expected tuple, but hook returned 'Tensor'"] * 4


def test_stack_keeps_its_tensors_until_backward_in_1_10() -> None:
    def is_alive() -> bool:
        x = leaf()
        part = x * 2
        kept = weakref.ref(part)
        joined = torch.stack([part, x])
        del part
        assert joined.grad_fn is not None
        return kept() is not None

    assert by_release(is_alive) == [True, False, False, False]


def test_an_input_without_gradient_that_is_returned_is_a_view_since_1_13() -> None:
    def facts(change: bool) -> tuple[bool, bool]:
        def save(ctx: Any, x: Any) -> Any:
            if change:
                x.mul_(2)
                ctx.mark_dirty(x)
            return x

        x = torch.ones(2)
        y = Custom.apply(x, save)
        return y is x, y._base is x

    assert by_release(lambda: facts(False)) == [(True, False), (False, True), (False, True), (False, True)]
    assert by_release(lambda: facts(True)) == [(True, False), (False, True), (True, False), (True, False)]


@leaves(context=3, node=9, saved=4, storage=9, tensor=12)  # in the context that could not save
def test_a_changed_view_that_is_saved_is_refused_up_to_2_9() -> None:
    def save(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.view_as(x))
        return x

    def is_refused() -> bool:
        try:
            Custom.apply(leaf() * 2, save)
        except RuntimeError as error:
            return str(error).startswith("A view was created in no_grad mode and its base")
        return False

    assert by_release(is_refused) == [True, True, True, False]


@collector_off()
def test_a_failed_save_leaves_its_tensors_to_the_collector_before_2() -> None:
    def fail(tensor: Any) -> Any:
        raise ValueError

    def lives() -> bool:
        kept = []

        def save(ctx: Any, x: Any) -> Any:
            y = x * 2
            kept.append(weakref.ref(y))
            ctx.save_for_backward(y)
            return y

        x = leaf()
        with torch.autograd.graph.saved_tensors_hooks(fail, fail), pytest.raises((ValueError, RuntimeError)):
            Custom.apply(x, save)
        return kept[0]() is not None

    assert by_release(lives) == [True, True, False, False]


@leaves(hook=1, node=2, saved=1, storage=2, tensor=2)
@collector_off()
def test_the_collector_sees_prehooks_since_2() -> None:
    def is_collected() -> bool:
        y = leaf() * 2
        node = y.grad_fn

        def hook(*_: Any, held: Any = node) -> None:
            pass

        seen = weakref.ref(hook)
        node.register_prehook(hook)
        del y, node, hook
        gc.collect()
        return seen() is None

    answers = []
    for name in RELEASES[1:]:
        with torch.profile(name):
            answers.append(is_collected())
    assert answers == [False, True, True]


def test_a_retained_gradient_stays_behind_a_change_in_1_10() -> None:
    def gradient() -> list[float]:
        y = leaf() * 2
        y.retain_grad()
        y.neg_()
        y.sum().backward()
        return [float(number) for number in y.grad]

    assert by_release(gradient) == [[-1.0, -1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]


def test_names_of_nodes() -> None:
    def names() -> list[str]:
        filled, row, zero = leaf() * 2, leaf() * 2, leaf() * 2
        filled.fill_(0.5)
        row[:] = torch.ones(2)
        zero[...] = torch.tensor(0.5)
        return [type(each.grad_fn).__name__ for each in (filled, row, zero, leaf().reshape(1, 2))]

    assert by_release(names) == [
        ["FillBackward0", "CopySlices", "FillBackward0", "ReshapeAliasBackward0"],
        ["FillBackward2", "CopySlices", "FillBackward3", "ReshapeAliasBackward0"],
        ["FillBackward2", "CopyBackwards", "FillBackward3", "ViewBackward0"],
        ["FillBackward2", "CopyBackwards", "FillBackward3", "ViewBackward0"],
    ]


def test_texts_since_2_13() -> None:
    def text() -> str:
        with pytest.raises(RuntimeError) as caught:
            torch.autograd.grad(leaf().sum(), [leaf()])
        return str(caught.value).split(" appears")[0]

    numbered = "The differentiated Tensor at index 0"
    assert by_release(text) == ["One of the differentiated Tensors"] * 3 + [numbered]


def test_up_to_1_9_what_is_of_the_subclass_is_converted_again() -> None:
    """Measured on 1.9.1: also what an in-place change returns, and what `.grad` reads."""

    def is_itself() -> bool:
        x = torch.ones(1).as_subclass(Sub)
        return x.add_(1) is x

    def class_of_grad() -> str:
        x = torch.ones(1).as_subclass(Sub).requires_grad_()
        x.retain_grad()
        (x * 2).sum().backward()
        return type(x.grad).__name__

    releases = ("torch-1.9", "torch-1.10", "torch-2.13")
    for question, answers in ((is_itself, [False, True, True]), (class_of_grad, ["Sub", "Tensor", "Tensor"])):
        read = []
        for release in releases:
            with torch.profile(release):
                read.append(question())
        assert read == answers


def test_the_text_of_a_subclass_has_its_name_since_1_13() -> None:
    assert by_release(lambda: str(torch.ones(1).as_subclass(Sub)).split("(")[0]) == ["tensor", "Sub", "Sub", "Sub"]


def test_gradients_made_of_zeros_require_grad_up_to_2_9() -> None:
    def requires() -> bool:
        zeros = torch.autograd.grad(leaf().sum(), [leaf()], materialize_grads=True)[0]
        assert zeros is not None
        return bool(zeros.requires_grad)

    answers = []
    for name in ("torch-2.9", "torch-2.10", "torch-2.13"):
        with torch.profile(name):
            answers.append(requires())
    assert answers == [True, False, False]


def test_a_changed_tensor_shows_its_hooks_before_2() -> None:
    def shows() -> bool:
        y = leaf() * 2
        y.register_hook(print)
        y.exp_()
        return y._backward_hooks is not None

    assert by_release(shows) == [True, True, False, False]


def test_a_scalar_is_assigned_to_shared_elements_before_2() -> None:
    def is_refused() -> bool:
        try:
            torch.ones(1).expand(3)[...] = torch.tensor(0.5)
        except RuntimeError as error:
            return str(error).startswith("unsupported operation: more than one element")
        return False

    assert by_release(is_refused) == [False, False, True, True]


def test_hooks_before_a_node_run_in_the_order_of_their_registration_before_2() -> None:
    def order() -> list[str]:
        seen: list[str] = []
        y = leaf() * 2
        y.grad_fn.register_prehook(lambda _: seen.append("node"))
        y.register_hook(lambda _: seen.append("tensor"))
        y.sum().backward()
        return seen

    answers = []
    for name in RELEASES[1:]:  # 1.10 has no prehooks
        with torch.profile(name):
            answers.append(order())
    assert answers == [["node", "tensor"], ["tensor", "node"], ["tensor", "node"]]


def test_a_retained_gradient_has_a_place_among_the_hooks_before_2() -> None:
    def retained() -> list[float]:
        y = leaf() * 2
        y.retain_grad()
        y.register_hook(lambda gradient: gradient * 3)
        y.sum().backward()
        return [float(number) for number in y.grad]

    assert by_release(retained) == [[1.0, 1.0], [1.0, 1.0], [3.0, 3.0], [3.0, 3.0]]


@pytest.mark.parametrize("operation", [operator.mul, operator.truediv, operator.pow])
def test_operands_are_unpacked_in_the_order_in_which_they_were_packed(operation: Any) -> None:
    def order() -> str:
        packed: list[int] = []
        unpacked: list[int] = []

        def pack(tensor: Any) -> Any:
            packed.append(len(packed))
            return packed[-1], tensor

        def unpack(kept: Any) -> Any:
            unpacked.append(kept[0])
            return kept[1]

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = operation(leaf(), leaf())
        y.sum().backward()
        return "in order" if unpacked == packed else f"{unpacked}"

    assert by_release(order) == ["in order"] * 4


def test_the_number_of_a_squeezed_product_before_2() -> None:
    def name() -> str:
        product = leaf() @ leaf().expand(2, 2)
        return type(product.grad_fn).__name__

    assert by_release(name) == ["SqueezeBackward3", "SqueezeBackward3", "SqueezeBackward4", "SqueezeBackward4"]


def test_a_dying_copy_of_a_leaf_takes_the_hooks_of_the_leaf_in_2_0_to_2_9() -> None:
    def calls() -> list[int]:
        seen: list[Any] = []
        x = leaf()
        x.register_hook(seen.append)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            y = Keep.apply(x)
        assert y.grad_fn.saved_tensors[0] is not x
        y.sum().backward()
        return [len(seen), len(x._backward_hooks)]

    assert by_release(calls) == [[1, 1], [1, 1], [0, 1], [1, 1]]


def test_a_backward_whose_gradient_does_not_fit_leaves_the_queue_of_a_failed_one() -> None:
    def alive() -> list[bool]:
        x, y = leaf(), leaf()
        kept = weakref.ref(x)
        z = y * 1
        z.data = torch.tensor(1.0)
        with pytest.raises(RuntimeError, match="invalid gradient"):
            torch.autograd.backward([x.sum(), z.sum()])
        del x
        lives = [kept() is not None]
        with pytest.raises(RuntimeError, match="invalid gradient"):
            torch.autograd.backward([z], [torch.tensor(1.0)])
        lives.append(kept() is not None)
        leaf().sum().backward()
        return [*lives, kept() is not None]

    assert by_release(alive) == [[True, True, False]] * 4


def test_a_dying_copy_of_a_leaf_takes_the_hooks_before_its_accumulator_up_to_2_9() -> None:
    def calls() -> list[str]:
        seen: list[str] = []
        x = leaf()
        accumulator = x.view_as(x).grad_fn.next_functions[0][0]
        accumulator.register_hook(lambda *_: seen.append("after"))
        accumulator.register_prehook(lambda *_: seen.append("before"))
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            y = Keep.apply(x)
        assert y.grad_fn.saved_tensors[0] is not x
        y.sum().backward()
        return seen

    answers = []
    for name in ("torch-1.13", "torch-2.9", "torch-2.10", "torch-2.13"):
        with torch.profile(name):
            answers.append(calls())
    assert answers == [["after"], ["after"], ["before", "after"], ["before", "after"]]


def test_a_retained_gradient_cannot_be_missing_before_2() -> None:
    def error(times: int) -> str:
        y = leaf() * 2
        y.retain_grad()
        if times > 1:
            y.sum().backward(retain_graph=True)
        try:
            Nothing.apply(y).sum().backward()
        except RuntimeError as error:
            return str(error)
        return ""

    older = "Expected a Tensor of type Variable but found an undefined Tensor for argument "
    newer = "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument "
    assert by_release(lambda: error(1)) == [f"{older}#0 'self'", f"{newer}#0 'self'", "", ""]
    assert by_release(lambda: error(2)) == [f"{older}#1 'other'", f"{newer}#1 'other'", "", ""]


def test_a_leaf_that_moved_into_the_graph_calls_no_hooks_before_2() -> None:
    def calls() -> int:
        seen: list[Any] = []
        x = leaf()
        y = x * 1
        x.requires_grad_(False)
        x.copy_(leaf() * 1)
        x.register_hook(seen.append)
        with pytest.raises(RuntimeError, match="moved into the graph interior"):
            y.sum().backward()
        return len(seen)

    assert by_release(calls) == [0, 0, 1, 1]


def test_the_gradient_of_a_product_with_several_zeros_has_no_history_before_2() -> None:
    def has_history() -> bool:
        x = leaf(7.0, 0.0, 0.0)
        (gradient,) = torch.autograd.grad(x.prod(), [x], create_graph=True)
        return gradient is not None and gradient.requires_grad

    assert by_release(has_history) == [False, False, True, True]


@leaves(hook=4, node=16, saved=12, storage=20, tensor=20)  # a tensor divided by itself in place
def test_saved_tensors_are_unpacked_in_that_order_also_where_no_gradient_arrives() -> None:
    def first() -> list[str]:
        seen: list[str] = []
        y = leaf() * 1
        y.div_(y)
        slot = y.grad_fn._raw_saved_self

        def unpack(tensor: Any) -> Any:
            seen.append("self")
            return tensor

        slot.register_hooks(lambda tensor: tensor, unpack)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward(inputs=[y])
        return seen

    assert by_release(first) == [["self"], ["self"], [], []]


def test_the_error_about_a_matrix_and_a_vector_names_all_types_since_2_13() -> None:
    def text() -> str:
        with pytest.raises(RuntimeError) as caught:
            torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2)
        return str(caught.value)

    answers = []
    for name in ("torch-2.9", "torch-2.10", "torch-2.13"):
        with torch.profile(name):
            answers.append(text())
    one = "expected scalar type Double but found Float"
    assert answers == [one, one, "addmv input tensors must have the same dtype, but got Float, Double, and Float"]
