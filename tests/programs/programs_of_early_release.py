"""Small programs of custom Functions that let go of what they saved, and of the gradients they got, while backward runs."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from programs_tools import attempt, programs_in, vector

counts: list[int] = []


def reading_once(fw: Any, flag: Any = True, backward: Any = None, **more: Any) -> Any:
    """A Function that saves its input and a tensor of its own."""

    def forward(ctx: Any, x: Any) -> Any:
        between = x * 2
        ctx.save_for_backward(x, between)
        return between + 1

    def plain(ctx: Any, gradient: Any) -> Any:
        return gradient * 2

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward or plain)}
    return type("Once", (fw.autograd.Function,), {"clear_saved_tensors_on_access": flag, **methods, **more})


def count_of(node: Any) -> Any:
    refusal = attempt(lambda: counts.append(len(node.saved_tensors)))
    return refusal if refusal != "ok" else counts.pop()


def raw_count_of(node: Any) -> Any:
    refusal = attempt(lambda: counts.append(len(node._raw_saved_tensors)))
    return refusal if refusal != "ok" else counts.pop()


def saved_tensors_are_whose_has_read_them(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        _, between = ctx.saved_tensors
        life = weakref.ref(between)
        seen.append(life() is None)
        del between, _
        seen.append(life() is None)
        seen.extend([count_of(ctx), raw_count_of(ctx)])
        return gradient * 2

    x = vector(fw)
    y = reading_once(fw, backward=backward).apply(x)
    y.sum().backward(retain_graph=True)
    return [seen, x.grad.tolist(), count_of(y.grad_fn), raw_count_of(y.grad_fn)]


def a_second_reading_is_refused_outside_of_backward_too(fw: Any) -> Any:
    node = reading_once(fw).apply(vector(fw)).grad_fn
    return [count_of(node), count_of(node), raw_count_of(node)]


def it_stays_refused_after_backward(fw: Any) -> Any:
    seen = []
    for keeps in (False, True):
        y = reading_once(fw, backward=lambda ctx, g: (ctx.saved_tensors, g)[1]).apply(vector(fw))
        y.sum().backward(retain_graph=keeps)
        seen.append([count_of(y.grad_fn), raw_count_of(y.grad_fn), attempt(y.sum().backward)])
    return seen


def a_reading_that_fails_does_not_count(fw: Any) -> Any:
    x = vector(fw) * 1
    node = reading_once(fw).apply(x).grad_fn
    with fw.no_grad():
        x.add_(1)
    return [count_of(node), count_of(node)]


def a_reading_in_forward_counts(fw: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        seen.extend([count_of(ctx), count_of(ctx)])
        return x * 2

    y = reading_once(fw, forward=staticmethod(forward)).apply(vector(fw))
    return [*seen, count_of(y.grad_fn)]


def the_flag_counts_as_it_is_when_the_class_is_applied(fw: Any) -> Any:
    seen: list[Any] = []
    for before, after in ((False, True), (True, False)):
        function = reading_once(fw, before)
        node = function.apply(vector(fw)).grad_fn
        function.clear_saved_tensors_on_access = after
        seen.append([count_of(node), count_of(node)])
    return seen


def flags_are_bools(fw: Any) -> Any:
    flags: list[dict[str, Any]] = [{"flag": "x"}, {"flag": 1}, {"boxed_grads_call": None}, {"boxed_grads_call": 1}]
    functions = [reading_once(fw, **each) for each in flags]
    return [attempt(partial(function.apply, vector(fw))) for function in functions]


def buffers_are_freed_within_backward_unless_the_graph_is_kept(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, gradient: Any) -> Any:
        seen.append([ctx.maybe_clear_saved_tensors(), count_of(ctx), raw_count_of(ctx)])
        return gradient

    function = reading_once(fw, False, backward)
    y = function.apply(vector(fw))
    seen.append([y.grad_fn.maybe_clear_saved_tensors(), count_of(y.grad_fn)])
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    x = vector(fw)
    fw.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    return seen


def boxed(fw: Any, backward: Any, **more: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Boxed", (fw.autograd.Function,), {"boxed_grads_call": True, **methods, **more})


def gradients_come_in_one_list(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(
            [len(gradients), type(gradients[0]).__name__, [g if g is None else g.tolist() for g in gradients[0]]]
        )
        return gradients[0][0]

    def without_zeros(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    for more in ({}, {"forward": staticmethod(without_zeros)}):
        x = vector(fw)
        boxed(fw, backward, **more).apply(x)[0].sum().backward()
        seen.append(x.grad.tolist())
    ones = fw.ones(2)
    seen.append(boxed(fw, backward).apply(vector(fw))[0].grad_fn.apply(ones, ones * 2).tolist())
    return seen


def a_gradient_dies_where_backward_lets_go_of_it(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, gradients: Any) -> Any:
        lives = [weakref.ref(gradient) for gradient in gradients]
        last = gradients.pop()
        seen.append([life() is None for life in lives])
        gradients.clear()
        seen.append([life() is None for life in lives])
        return last

    x = vector(fw)
    a, b = boxed(fw, backward).apply(x)
    ((a * 2).sum() + (b * 3).sum()).backward()
    return [seen, x.grad.tolist()]


def gradients_without_a_box_live_as_long_as_the_call(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        life = weakref.ref(first)
        del first
        seen.append(life() is None)
        return second

    a, b = boxed(fw, backward, boxed_grads_call=False).apply(vector(fw))
    ((a * 2).sum() + (b * 3).sum()).backward()
    return seen


def a_flag_that_is_set_later_boxes_too(fw: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *gradients: Any) -> Any:
        seen.append(type(gradients[0]).__name__)
        return None

    for before, after in ((False, True), (True, False), (False, False)):
        function = boxed(fw, backward, boxed_grads_call=before)
        y = function.apply(vector(fw))[0]
        function.boxed_grads_call = after
        y.sum().backward()
    return seen


def what_a_function_says_of_batches(fw: Any) -> Any:
    function = fw.autograd.Function
    return [function.generate_vmap_rule, attempt(lambda: function.vmap(None, None))]


PROGRAMS = programs_in(globals())
