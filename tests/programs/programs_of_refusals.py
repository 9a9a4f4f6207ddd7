"""Small programs that tell what refused calls say, and that nothing has changed then; and what PyTorch warns of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from programs_tools import attempt, function, hooks, programs_in, vector


def hooks_that_misbehave(fw: Any) -> Any:
    def change(tensor: Any) -> Any:
        return tensor.mul_(2)

    def fail(value: Any) -> Any:
        raise LookupError("gone")

    seen = []
    for pack, unpack in ((change, change), (fail, fail), (lambda t: t, lambda t: 3), (lambda t: t, fail)):

        def run(pack: Any = pack, unpack: Any = unpack) -> None:
            x, w = vector(fw), vector(fw, requires_grad=False)
            with hooks(fw, pack, unpack):
                y = x * w
            y.backward()

        seen.append(attempt(run))
    return seen


def setting_hooks_by_hand(fw: Any) -> Any:
    y = vector(fw).sin()
    raw = y.grad_fn._raw_saved_self
    seen = [attempt(lambda: raw.register_hooks(lambda t: t * 1, lambda t: t)) for _ in range(2)]
    y.backward()
    return [*seen, attempt(lambda: raw.register_hooks(id, id)), attempt(raw.unpack), raw.data]


def disabled_hooks(fw: Any) -> Any:
    with fw.autograd.graph.disable_saved_tensors_hooks("not here"):
        result = attempt(lambda: hooks(fw, id, id).__enter__())
    return [result, attempt(fw._C._autograd._pop_saved_tensors_default_hooks)[:60]]


def changed_in_place(fw: Any) -> Any:
    x, w = vector(fw, 1.0, 2.0), vector(fw, 3.0, 4.0, requires_grad=False)
    y = (x * w).sum()
    w.add_(1)
    middle = x * 2
    z = middle.sin().sum()
    middle.mul_(2)
    e = x.exp()
    e_sum = e.sum()
    e.detach().zero_()
    return [attempt(y.backward), attempt(z.backward), attempt(e_sum.backward)]


def freed_and_refused(fw: Any) -> Any:
    x = vector(fw)
    y = x.sin()
    y.backward()
    return [
        attempt(y.backward),
        attempt(lambda: y.grad_fn._saved_self),
        attempt(vector(fw, requires_grad=False).backward),
        attempt(vector(fw, 1.0, 2.0).backward),
        attempt(lambda: fw.autograd.grad(x * 2, vector(fw))),
        attempt(lambda: fw.autograd.grad(x * 2, vector(fw, requires_grad=False))),
    ]


def leaf_changed_in_place(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)

    def set_item() -> None:
        x[0] = 1.0

    return [attempt(lambda: x.add_(1)), attempt(lambda: x[:1].mul_(2)), attempt(set_item), x._version]


def forbidden_views(fw: Any) -> Any:
    base = vector(fw, 1.0, 2.0) * 1
    with fw.no_grad():
        unrecorded = base[:1]
    several = (vector(fw, 1.0, 2.0) * 1).unbind()
    as_is = function(fw, lambda ctx, x: x, lambda ctx, gradient: gradient).apply(base)
    seen = [attempt(lambda view=view: view.mul_(2)) for view in (unrecorded, several[1], as_is)]  # type: ignore[misc]
    base.mul_(2)
    return [*seen, attempt(lambda: unrecorded.grad_fn), attempt(lambda: as_is.grad_fn)]


def attributes_refused(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x * 2

    def assign(tensor: Any, name: str, value: Any) -> str:
        return attempt(lambda: setattr(tensor, name, value))

    return [
        assign(x, "grad", 3),
        assign(x, "grad", x),
        assign(x, "grad", fw.ones(3)),
        assign(y, "requires_grad", False),
        assign(x, "requires_grad", 1),
        assign(x, "data", 3),
    ]


def methods_refused(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    y = x * 2
    return [
        attempt(y.numpy),
        attempt(y.item),
        attempt(lambda: bool(y)),
        attempt(lambda: fw.ones(1).register_hook(id)),
        attempt(lambda: y.register_post_accumulate_grad_hook(id)),
        attempt(lambda: fw.ones(1).retain_grad()),
        attempt(lambda: y[:1].detach_()),
        attempt(lambda: x.t().view(3)),
    ]


def shapes_refused(fw: Any) -> Any:
    a, b = fw.ones(2, 3), fw.ones(4)
    return [
        attempt(lambda: a + b),
        attempt(lambda: a @ b),
        attempt(lambda: a.view(5)),
        attempt(lambda: a.expand(3, 3)),
        attempt(lambda: a[5]),
        attempt(lambda: fw.cat((a, fw.ones(2, 4)))),
        attempt(lambda: fw.ones(1).expand(3).mul_(2)),
    ]


def wrong_numbers_of_gradients(fw: Any) -> Any:
    seen = []
    for result in (lambda g: (g, g), lambda g: (), lambda g: fw.ones(5), lambda g: None):
        custom = function(fw, lambda ctx, x: x * 2, lambda ctx, gradient, result=result: result(gradient))
        x = vector(fw, 1.0, 2.0)
        seen.append([attempt(custom.apply(x).sum().backward), x.grad])
    return seen


def once_differentiable(fw: Any) -> Any:
    backward = fw.autograd.function.once_differentiable(lambda ctx, gradient: gradient * 2)
    custom = function(fw, lambda ctx, x: x * 2, backward)
    x, w = vector(fw), vector(fw)
    (first,) = fw.autograd.grad(custom.apply(x) * w, x, create_graph=True)
    return [first.tolist(), first.requires_grad, attempt(first.backward)]


def hook_results(fw: Any) -> Any:
    seen = []
    for result in (lambda g: g * 2, lambda g: 3, lambda g: fw.ones(5), lambda g: g.double()):
        x = vector(fw, 1.0, 2.0)
        x.register_hook(result)
        seen.append([attempt((x * 1).sum().backward), None if x.grad is None else x.grad.tolist()])
    return seen


def warnings_of(call: Callable[[], Any]) -> list[str]:
    """Return the result of a call and its warnings, without the place in PyTorch's source."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = attempt(call)
    return [said, *(str(item.message).split(" (Triggered")[0] for item in caught)]


def expanded(framework: Any) -> Any:
    return framework.tensor([1.0]).expand(6)


def places_by_number_in_expanded_tensors(fw: Any) -> Any:
    index = fw.tensor([0, 1])
    return [
        warnings_of(lambda: expanded(fw).__setitem__(index, 3.0)),
    ]


def masks_over_expanded_tensors(fw: Any) -> Any:
    mask = fw.tensor([True] * 6)
    return [
        warnings_of(lambda: expanded(fw).masked_fill(mask, 3.0)),
    ]


def written_memory_that_is_read_too(fw: Any) -> Any:
    values, mask = fw.arange(6.0), fw.tensor([True] * 3)
    return [
        values.tolist(),
        mask.tolist(),
    ]


def a_history_is_lost_to_a_number(fw: Any) -> Any:
    x = fw.tensor(2.0, requires_grad=True)
    fw.set_warn_always(True)
    try:
        said = [warnings_of(call) for call in (x.__float__, x.__int__, x.item, x.tolist, x.detach().__float__)]
        with fw.no_grad():
            said.append(warnings_of(x.__float__))
        return [fw.is_warn_always_enabled(), said]
    finally:
        fw.set_warn_always(False)


def that_is_told_once(fw: Any) -> Any:
    x = fw.tensor(2.0, requires_grad=True)
    warnings_of(x.__float__)
    return [warnings_of(x.__float__), fw.is_warn_always_enabled(), attempt(lambda: fw.set_warn_always(1))]


PROGRAMS = programs_in(globals())
