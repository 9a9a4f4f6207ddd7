"""Programs that the fuzzer found the engine to differ in from PyTorch, each shrunk to what the difference was."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from programs_tools import attempt, function, programs_in, vector, watch


def in_place_operations_named_in_refusals(fw: Any) -> Any:
    x = vector(fw, requires_grad=False)
    return [attempt(partial(getattr(x, name), None)) for name in ("add_", "sub_", "mul_", "div_", "copy_")]


def gradient_of_another_dtype_and_size(fw: Any) -> Any:
    x = fw.tensor([[1.0, 2.0]], dtype=fw.float64, requires_grad=True)
    return attempt(lambda: setattr(x, "grad", vector(fw, 1.0, 2.0)))


def any_of_several_hooks_skips_what_needs_no_gradient(fw: Any) -> Any:
    x, constant, calls = vector(fw), vector(fw, requires_grad=False), []
    fw.autograd.graph.register_multi_grad_hook((x, constant), lambda grad: calls.append(grad.tolist()), mode="any")
    (x * 2 + constant).sum().backward()
    return calls


def after_accumulation(fw: Any, answer: Any) -> Any:
    x = vector(fw)
    x.register_post_accumulate_grad_hook(answer)
    return attempt((x * 2).sum().backward)


def leaf_returned_after_accumulation(fw: Any) -> Any:
    return after_accumulation(fw, lambda leaf: leaf)


def another_tensor_returned_after_accumulation(fw: Any) -> Any:
    answers = (vector(fw, 1.0), vector(fw, 1.0, 2.0), fw.tensor([1.0], dtype=fw.float64), "text")
    return [after_accumulation(fw, lambda leaf, answer=answer: answer) for answer in answers]


def node_prehook_that_returns_a_tensor(fw: Any) -> Any:
    y = vector(fw) * 2
    y.grad_fn.register_prehook(lambda grads: grads[0])
    return attempt(y.sum().backward)


def node_hook_that_returns_a_tensor(fw: Any) -> Any:
    x = vector(fw)
    y = x.neg()
    y.grad_fn.register_hook(lambda grads, arrived: grads[0] * 3)
    return [attempt(y.sum().backward), x.grad is None]


def node_hook_where_no_further_gradient_is_wanted(fw: Any) -> Any:
    given: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    middle = x.select(0, 0)
    middle.grad_fn.register_hook(lambda grads, arrived: given.append([grad is None for grad in grads]))
    (middle * 2).backward(inputs=[middle], retain_graph=True)
    (middle * 2).backward()
    return given


def freed_node_reached_by_no_gradient(fw: Any) -> Any:
    def nothing_back(ctx: Any, grad: Any) -> Any:
        return None

    x = vector(fw)
    middle = x * 2
    middle.sum().backward()
    y = function(fw, lambda ctx, item: item * 2, nothing_back).apply(middle.neg())
    return attempt(y.sum().backward)


def gradient_of_a_tensor_changed_by_a_function(fw: Any) -> Any:
    def doubled(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        return item

    y = vector(fw) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    before = y.grad.tolist()
    function(fw, doubled, lambda ctx, grad: grad * 2).apply(y)
    return [before, y.grad is None, y.retains_grad]


def view_of_a_function_after_a_change_of_its_base(fw: Any) -> Any:
    view = function(fw, lambda ctx, item: item.view_as(item), lambda ctx, grad: grad)
    base = vector(fw) * 2
    y = view.apply(base)
    base.mul_(2)
    return [attempt(lambda: y.is_leaf), attempt(lambda: y.grad_fn), y.requires_grad]


def number_assigned_to_an_expanded_tensor(fw: Any) -> Any:
    x = fw.ones(1).expand(2)
    return [attempt(partial(x.__setitem__, index, 3.0)) for index in (..., slice(None), 0)]


def leaf_that_needs_no_gradient_any_more(fw: Any) -> Any:
    x = vector(fw)
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    return x.grad is None


def function_that_changes_a_view_of_a_leaf(fw: Any) -> Any:
    def doubled(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        return item

    return attempt(lambda: function(fw, doubled, lambda ctx, grad: grad * 2).apply(vector(fw).view(-1)))


def what_a_node_expects(fw: Any) -> Any:
    return (vector(fw) * 2).grad_fn._input_metadata[0].shape


def node_hook_that_returns_a_tensor_for_two(fw: Any) -> Any:
    y = vector(fw) * vector(fw)
    y.grad_fn.register_hook(lambda grads, arrived: grads[0])
    return attempt(y.sum().backward)


def unpacking_where_no_gradient_arrives(fw: Any) -> Any:
    calls: list[str] = []

    def unpack(packed: Any) -> Any:
        calls.append("unpacked")
        return packed

    with fw.autograd.graph.saved_tensors_hooks(lambda item: item, unpack):
        middle = vector(fw) ** 2
    function(fw, lambda ctx, item: item * 2, lambda ctx, grad: None).apply(middle).sum().backward()
    return calls


def changed_by_what_the_change_overwrites(fw: Any) -> Any:
    seen = []
    names = ("add_", "sub_", "mul_", "div_", "copy_")
    for name in names:
        for place in (0, 1, 3):
            x = fw.tensor([2.0, 0.25, 3.0, 1.5, 0.5], dtype=fw.float64)
            getattr(x, name)(x[place].expand(5))
            seen.append((name, [str(round(item, 9)) for item in x.tolist()]))
    return seen


def rows_and_columns_changed_by_what_the_change_overwrites(fw: Any) -> Any:
    windows: tuple[Callable[[Any], Any], ...] = (
        lambda x: x[0].expand(2, 2),
        lambda x: x[:, 1:].expand(2, 2),
        lambda x: x[1, 0].expand(2, 2),
        lambda x: x.t(),
    )
    seen = []
    for is_turned in (False, True):
        for window in windows:
            for change in (lambda x, other: x.mul_(other), lambda x, other: x.sub_(other, alpha=0.5)):
                x = fw.tensor([[-2.0, 0.25], [3.0, -1.5]], dtype=fw.float64)
                x = x.t() if is_turned else x
                said = attempt(partial(change, x, window(x)))
                seen.append((said, [round(item, 9) for item in x.reshape(-1).tolist()]))
    return seen


def all_dimensions_of_a_number_turned(fw: Any) -> Any:
    x = vector(fw, 3.0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.T.tolist(), list(x.T.shape)


def forbidden_view(fw: Any, *shape: int) -> Any:
    base = fw.ones(2, requires_grad=True) * 1
    with fw.no_grad():
        view = base.view_as(base)
    view = view.view(*shape)
    base.add_(1)
    return view


def forbidden_views_are_refused_before_what_is_asked_of_them(fw: Any) -> Any:
    calls = (
        lambda x: x.expand(2),
        lambda x: x.sum(7),
        lambda x: x.mean(7),
        lambda x: x.transpose(0, 7),
        lambda x: x.permute(0),
        lambda x: x.squeeze(7),
        lambda x: x.unsqueeze(7),
        lambda x: x.mm(fw.ones(3, 3)),
        lambda x: x.softmax(7),
        lambda x: x.repeat(2),
    )
    return [attempt(partial(call, forbidden_view(fw, -1, 1))) for call in calls]


def view_changed_by_a_function_and_saved_is_an_output_of_the_function(fw: Any) -> Any:
    def forward(ctx: Any, item: Any) -> Any:
        item.mul_(2)
        ctx.mark_dirty(item)
        ctx.save_for_backward(item)
        return item

    seen: list[str] = []

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.saved_tensors[0].grad_fn.name())
        return grad

    y = function(fw, forward, backward).apply(vector(fw, 1.0, 2.0).neg().squeeze())
    kept = y.neg()
    kept.sum().backward(retain_graph=True)
    y.sin_()
    return seen, y.grad_fn.name(), attempt(kept.sum().backward)


def gradient_that_is_made_first(fw: Any) -> Any:
    seen = []
    for combine in (fw.mul, fw.div):
        x, y = vector(fw, 1.5), vector(fw, 2.5)
        grads = fw.autograd.grad(combine(x, y).sum(), [x, y], create_graph=True)
        seen.append(grads[0].grad_fn._sequence_nr() < grads[1].grad_fn._sequence_nr())
    return seen


def life_of_the_source(take_source: Any, take_view: Any, base: Any) -> list[bool]:
    """Whether the source of a view is alive beside the view, and after it."""
    source = take_source(base)
    (reference,) = watch(source)
    view = take_view(source)
    del source
    alive = [reference() is not None]
    del view
    return [*alive, reference() is not None]


def view_of_a_view_that_reads_parts_or_conjugates_owns_its_source(fw: Any) -> Any:
    base = fw.tensor([1.0, 2.0], dtype=fw.complex128)
    sources = (lambda x: x[:], lambda x: x.view(-1), lambda x: x.conj(), lambda x: x.real)
    views = (lambda x: x.real, lambda x: x.conj(), lambda x: x.real[:1], lambda x: x[:1])
    return [[life_of_the_source(source, view, base) for view in views] for source in sources]


def view_of_a_view_with_recorded_steps_owns_its_source(fw: Any) -> Any:
    seen = []
    for is_recorded in (True, False):
        with fw.autograd._force_original_view_tracking(is_recorded):
            for requires_grad in (True, False):
                base = vector(fw, 1.0, 2.0, requires_grad=requires_grad).clone()
                views = (lambda x: x.t(), lambda x: x[:1], lambda x: x.unbind()[0], lambda x: x.split(1)[1])
                seen.append([life_of_the_source(lambda x: x[...], view, base) for view in views])
    return seen


def owners_of_a_base_and_of_its_views(fw: Any) -> Any:
    base = fw.tensor([1.0, 2.0], dtype=fw.complex128)
    views = (base, base.real, base.conj(), base.conj().real, base[:].real, base.conj()[:])
    return [base._use_count(), *(view._use_count() for view in views)]


def hooks_of_a_base_stay_where_a_view_without_gradient_is_changed(fw: Any) -> Any:
    seen = []
    for change in ("view", "base"):
        x = vector(fw, 1.0, 2.0)
        x.register_hook(lambda grad: None)
        x.requires_grad = False
        changed = x.view_as(x) if change == "view" else x
        changed.mul_(vector(fw, 1.5))
        seen.append((x._backward_hooks is None, x.grad_fn is not None))
    return seen


def view_whose_base_needs_no_gradient_counts_as_a_leaf_of_the_graph(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0, requires_grad=False).as_subclass(type("Sub", (fw.Tensor,), {})).requires_grad_()
    part = x.narrow(0, 0, 1)
    x.detach().add_(1)
    fw.autograd.graph.register_multi_grad_hook((x, part), lambda grads: None)
    return attempt(lambda: fw.autograd.grad(part.sum(), [part]))


def view_changed_in_place_after_its_data_got_another_dtype(fw: Any) -> Any:
    x = fw.tensor([1.0, 2.0], dtype=fw.float64, requires_grad=True)
    middle = fw.tensor([0.5, 2.0], requires_grad=True).neg()
    view = middle.view_as(middle)
    view.data = x.detach()
    view.fill_(0.5)
    return attempt(middle.sum().backward)


def product_of_a_vector_and_a_matrix_is_squeezed_in_place(fw: Any) -> Any:
    row, matrix = fw.ones(2, requires_grad=True), fw.ones(2, 2)
    return [each._version for each in (row @ matrix, matrix @ row, row @ row, matrix @ matrix)]


def leaf_is_refused_before_the_value_that_fills_it(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    return attempt(lambda: x.fill_(x)), attempt(lambda: x.detach().fill_(x))


def warning_of_a_cycle_comes_when_the_backward_has_ended(fw: Any) -> Any:
    def noted(framework: Any) -> list[str]:
        x = vector(framework, 1.0, 2.0)
        said: list[str] = []
        x.register_hook(lambda grad: said.append("hook"))
        warnings.showwarning = lambda message, *_: said.append(str(message)[:16])
        said.append(attempt(lambda: (x * 2).sum().backward(create_graph=True)))
        said.append(attempt(lambda: (x * 2).backward(create_graph=True)))
        said.append(attempt(lambda: x.detach().sum().backward(create_graph=True)))
        failing = function(framework, lambda ctx, item: item * 2, lambda ctx, grad: 1 / 0)
        said.append(attempt(lambda: failing.apply(x).sum().backward(create_graph=True)))
        x.grad = None
        return said

    fw.set_warn_always(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            return noted(fw)
    finally:
        fw.set_warn_always(False)


def checkpoint_packs_its_inputs_and_nothing_else(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    packed: list[Any] = []
    with fw.autograd.graph.saved_tensors_hooks(packed.append, lambda item: item):
        fw.utils.checkpoint.checkpoint(lambda item: item.sin(), x, use_reentrant=False)
    return [item.tolist() for item in packed]


def changed_variable_is_hinted_at_by_anomaly_mode(fw: Any) -> Any:
    middle = vector(fw, 1.0, 2.0) * 3
    middle.mul_(middle)
    texts = []
    for is_enabled in (True, False):
        with fw.autograd.set_detect_anomaly(is_enabled):
            texts.append(attempt(middle.sum().backward))
    return texts


PROGRAMS = programs_in(globals())
