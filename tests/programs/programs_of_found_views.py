"""Programs of the fuzzers with views: what a view keeps alive, and what happens to its base and its hooks."""

from __future__ import annotations

import warnings
from typing import Any

from programs_tools import attempt, function, programs_in, vector, watch


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


PROGRAMS = programs_in(globals())
