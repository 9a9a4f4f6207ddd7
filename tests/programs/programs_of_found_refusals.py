"""Programs of the fuzzer in which something is refused or fails: what is looked at first, and what stays behind."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any

from programs_tools import Mark, attempt, fates, function, programs_in, vector, watch


def failed(fw: Any, seen: list[Any]) -> None:
    """A backward of two roots, of which the one that runs first fails."""
    older, younger = vector(fw), vector(fw)
    first, second = older * older, younger * 2
    second.register_hook(lambda gradient: 1 / 0)
    seen.extend(watch(older, first, younger, second))
    attempt(lambda: fw.autograd.backward([first.sum(), second.sum()]))


def are_dead(seen: list[Any]) -> list[bool]:
    gc.collect()
    return [reference() is None for reference in seen]


def graph_that_a_failed_backward_leaves_queued(fw: Any) -> Any:
    seen: list[Any] = []
    failed(fw, seen)
    before = are_dead(seen)
    vector(fw).backward()
    return before, are_dead(seen)


def queued_graph_after_another_failure(fw: Any) -> Any:
    seen: list[Any] = []
    failed(fw, seen)
    failed(fw, [])
    return are_dead(seen)


def queued_graph_after_a_gradient_that_leads_nowhere(fw: Any) -> Any:
    seen: list[Any] = []
    failed(fw, seen)
    said = attempt(lambda: fw.autograd.grad((vector(fw) * 2).sum(), [vector(fw)]))
    return said, are_dead(seen)


def gradient_of_a_view_made_inside_forward(fw: Any) -> Any:
    kept: list[Any] = []

    def forward(ctx: Any, item: Any) -> Any:
        result = item * 2
        kept.append(result.view_as(result))
        return result

    output = function(fw, forward, lambda ctx, grad: grad * kept[0]).apply(vector(fw))
    product = vector(fw, requires_grad=False) * kept[0]
    return [edge[0] is None for edge in product.grad_fn.next_functions], product.grad_fn._saved_self, output.tolist()


def hooks_of_a_view_whose_base_changed(fw: Any) -> Any:
    base = vector(fw) * 2
    view = base[:]
    mark = Mark()
    view.register_hook(lambda gradient, held=mark: None)
    seen = weakref.ref(mark)
    del mark
    base.mul_(2)
    node = view.grad_fn
    return view._backward_hooks, seen() is None, node is not None


def hook_on_a_view_that_may_be_used_no_more(fw: Any) -> Any:
    base = vector(fw) * 2
    view = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad).apply(base)
    base.exp_()
    said = [attempt(lambda: view.register_hook(print)) for _ in range(2)]
    return said, len(view._backward_hooks)


def retain_grad_twice_on_such_a_view(fw: Any) -> Any:
    base = vector(fw) * 2
    view = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad).apply(base)
    view.retain_grad()
    base.exp_()
    return attempt(view.retain_grad)


def such_views_are_refused_before_sizes_are(fw: Any) -> Any:
    base = vector(fw, 1.0, 2.0) * 2
    part = base.unbind()[1]
    base.mul_(2)
    wider = vector(fw, 1.0, 2.0, 3.0)
    calls = (lambda: part[1:], lambda: part[7], lambda: fw.stack([wider, part]), lambda: fw.cat([wider, part]))
    return [attempt(call) for call in calls]


def hooks_on_what_comes_before_what_is_no_tensor(fw: Any) -> Any:
    x = vector(fw)
    said = [
        attempt(partial(fw.autograd.graph.register_multi_grad_hook, tensors, print, mode="any"))
        for tensors in ((x, None), (None, x), (x, x, 3))
    ]
    return said, len(x._backward_hooks)


def roots_are_looked_at_before_inputs(fw: Any) -> Any:
    constant, x = vector(fw, requires_grad=False), vector(fw)
    calls = (
        lambda: fw.autograd.grad(constant.sum(), [None]),
        lambda: fw.autograd.grad(x.sum(), [None]),
        lambda: fw.autograd.grad(x.sum(), [(True,)]),
        lambda: fw.autograd.backward(x.sum(), inputs=[(x, 0)]),
        lambda: fw.autograd.grad([x.sum(), 3], [x]),
    )
    return [attempt(call) for call in calls]


def what_was_saved_is_unpacked_inputs_first(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x.prod()
    y.detach().add_(1)
    x.detach().add_(1)
    return attempt(y.backward)


def the_same_where_no_gradient_arrives(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x.prod()
    z = function(fw, lambda ctx, item: item * 2, lambda ctx, grad: None).apply(y)
    y.detach().add_(1)
    x.detach().add_(1)
    return attempt(z.backward)


def changed_part_twice_where_no_gradient_arrives(fw: Any) -> Any:
    y = vector(fw, 1.0, 2.0).neg()
    y[0] = -1.5
    z = function(fw, lambda ctx, item: item * 2, lambda ctx, grad: None).apply(y)
    return [attempt(lambda: z.backward(fw.ones_like(z))) for _ in range(2)]


def saved_what_can_not_be_saved_and_changed_its_input(fw: Any) -> Any:
    def forward(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        ctx.save_for_backward(3)
        return item

    x = vector(fw) * 2
    node = x.grad_fn
    said = attempt(lambda: function(fw, forward, lambda ctx, grad: grad).apply(x))
    return said, x._version, x.grad_fn is node


def what_a_refused_change_leaves_on_ctx(fw: Any) -> Any:
    def build() -> list[Any]:
        def forward(ctx: Any, item: Any) -> Any:
            ctx.kept = ctx
            ctx.save_for_backward(item)
            item.mul_(2)
            ctx.mark_dirty(item)
            return item

        view = vector(fw).narrow(0, 0, 1)
        attempt(lambda: function(fw, forward, lambda ctx, grad: grad).apply(view))
        return watch(view)

    return fates(build)


def division_of_what_is_no_number(fw: Any) -> Any:
    packed = []
    x = vector(fw)
    with fw.autograd.graph.saved_tensors_hooks(lambda item: packed.append(item.tolist()), lambda item: item):
        said = attempt(lambda: None / x)
    return said, packed


def hook_of_another_size_and_dtype(fw: Any) -> Any:
    y = vector(fw) * 2
    y.register_hook(lambda gradient: fw.ones(2, dtype=fw.float64))
    return attempt(y.sum().backward)


def gradient_of_another_dtype_is_not_kept(fw: Any) -> Any:
    y = vector(fw).cos()
    gradient = fw.tensor([1.0], dtype=fw.float64)
    seen = weakref.ref(gradient)
    y.backward(gradient, create_graph=True)
    del gradient
    return seen() is None


def gradient_of_another_dtype_as_the_first_hook_sees_it(fw: Any) -> Any:
    y = vector(fw) * 2
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda gradients: seen.append(gradients[0].requires_grad))
    y.backward(fw.tensor([1.0], dtype=fw.float64, requires_grad=True))
    return seen


def joined_parts_that_need_no_gradient_get_one(fw: Any) -> Any:
    seen: list[Any] = []
    for join in (fw.stack, fw.cat):
        y = join([vector(fw, requires_grad=False), vector(fw)])
        y.grad_fn.register_hook(lambda gradients, _: seen.append([item.tolist() for item in gradients]))
        y.sum().backward()
    return seen


def nothing_is_written_to_where_there_is_nothing(fw: Any) -> Any:
    empty = fw.ones(1).expand(1, 2)[1:]
    return [attempt(partial(empty.fill_, 3.0)), attempt(partial(empty.mul_, 2)), list(empty.shape)]


def view_of_what_may_be_used_no_more(fw: Any) -> Any:
    x = fw.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1
    turned = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad).apply(x).t()
    x.mul_(2)
    return attempt(partial(turned.view, -1))


def made_in_inference_mode(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, requires_grad=False)
    with fw.inference_mode():
        made = [x.clone(), fw.zeros_like(x), x.to(fw.float64), x.neg()]
    return [(item.is_inference(), attempt(partial(item.mul_, 2)), item.tolist()) for item in made]


def detached_from_an_inference_tensor(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, 1.0, 2.0, requires_grad=False).neg()
    seen = []
    for item in (made.detach(), made.data, made.view(-1)):
        said = attempt(partial(item.mul_, 2))
        seen.append((item.is_inference(), said, attempt(partial(getattr, item, "_version")), made.tolist()))
    return seen


def change_told_of_an_inference_tensor(fw: Any) -> Any:
    with fw.inference_mode():
        made = vector(fw, requires_grad=False).neg()
    return [attempt(partial(fw.autograd.graph.increment_version, item)) for item in (made, made.view(-1))]


def view_of_a_leaf_made_in_inference_mode(fw: Any) -> Any:
    x = vector(fw)
    with fw.inference_mode():
        view = x.view_as(x)
    graph = fw.autograd.graph
    return [
        attempt(lambda: graph.get_gradient_edge(view)),
        attempt(lambda: graph.register_multi_grad_hook((x, view), print)),
    ]


def dimensions_named_twice_before_one_that_is_not_there(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    return [attempt(partial(getattr(x, name), [0, 0, 5])) for name in ("sum", "mean")]


def leaf_that_moved_into_the_graph_accumulates_nothing(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x.neg()
    x.requires_grad_(False)
    x.view_as(x).copy_(y)
    return attempt(y.sum().backward), x.is_leaf


def detaching_in_place_does_nothing_in_inference_mode(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    for tensor in (x * 2, (x * 2)[:1], vector(fw)):
        with fw.inference_mode():
            seen.append((attempt(tensor.detach_), tensor.requires_grad, tensor.grad_fn is None))
    with fw.inference_mode():
        made = fw.ones(2)
    largest = x.max()
    largest.data = made
    seen.append((attempt(largest.detach_), largest.requires_grad, attempt(made[:1].detach_)))
    return seen


def forbidden_view_is_refused_before_its_sizes(fw: Any) -> Any:
    def stale() -> Any:
        x = fw.ones(1, 2, 3, requires_grad=True) * 1
        y = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad).apply(x)
        x.mul_(2)
        return y

    return [attempt(lambda: stale().t()), attempt(lambda: stale().as_strided((9, 9), (9, 9)))]


def a_bool_is_subtracted_from_a_forbidden_view(fw: Any) -> Any:
    view = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad).apply(vector(fw))
    return attempt(lambda: view.sub_(True))


def methods_without_parameters_refuse_arguments(fw: Any) -> Any:
    x = fw.ones(2, 2)
    names = ["sin", "neg", "abs", "relu", "square", "zero_", "sin_", "t", "conj", "is_complex", "detach", "item", "dim"]
    names += ["clone", "contiguous"]
    return [attempt(partial(getattr(fw.Tensor, name), x, 1)) for name in names] + [
        attempt(lambda: x.sin(foo=1)),
        x.tolist(),
    ]


PROGRAMS = programs_in(globals())
