"""Small programs under a mode: grad mode, inference mode, anomaly mode, and mutation of what is saved."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from programs_tools import attempt, fates, function, programs_in, values, vector, watch


def modes_as_decorators(fw: Any) -> Any:
    seen: list[Any] = []

    def ask() -> bool:
        enabled: bool = fw.is_grad_enabled()
        return enabled

    seen += [fw.no_grad()(ask)(), fw.no_grad(ask)(), fw.set_grad_enabled(False)(ask)(), ask()]
    with fw.no_grad():
        seen += [fw.enable_grad()(ask)(), fw.enable_grad(ask)(), fw.inference_mode()(ask)(), ask()]
    return seen


def modes_around_generators(fw: Any) -> Any:
    seen: list[Any] = []

    @fw.no_grad()  # type: ignore[untyped-decorator]
    def steps() -> Any:
        try:
            for i in range(3):
                seen.append(("inside", fw.is_grad_enabled()))
                answer = yield i
                seen.append(answer)
        except LookupError:
            seen.append(("caught", fw.is_grad_enabled()))
            yield "last"
        finally:
            seen.append(("closing", fw.is_grad_enabled()))
        return "end"

    generator = steps()
    seen.append([next(generator), fw.is_grad_enabled(), generator.send("sent"), generator.throw(LookupError())])
    generator.close()
    seen.append(list(steps()))
    return seen


def classes_as_modes_take_them(fw: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @fw.no_grad()
        class Told:
            def __init__(self) -> None:
                self.enabled = fw.is_grad_enabled()

    return [[(item.category.__name__, str(item.message)) for item in caught], Told().enabled]


def nested_inference_modes(fw: Any) -> Any:
    def state() -> tuple[Any, Any]:
        return fw.is_inference_mode_enabled(), fw.is_grad_enabled()

    seen = [state()]
    with fw.inference_mode():
        seen.append(state())
        with fw.inference_mode(False):
            seen.append(state())
        with fw.enable_grad():
            seen.append(state())
            seen.append((vector(fw) * 2).requires_grad)
        seen.append(state())
    return [*seen, state(), fw.inference_mode(mode=False)(state)(), fw.inference_mode(state)()]


def inference_tensors(fw: Any) -> Any:
    with fw.inference_mode():
        plain, required = fw.ones(3), fw.ones(3, requires_grad=True)
        inside = [
            plain.is_inference(),
            (plain + 1).is_inference(),
            required.requires_grad,
            (required * 2).requires_grad,
        ]
        plain.add_(1)
    s = fw.ones(3, requires_grad=True)
    calls: list[Any] = [
        lambda: plain._version,
        lambda: plain * s,
        lambda: plain.add_(1),
        lambda: required.add_(1),
        lambda: plain.requires_grad_(),
        lambda: s.clone().mul_(plain),
    ]
    kinds = [
        item.is_inference() for item in (plain.detach(), plain.data, plain.clone(), plain.view(3), plain[0], plain * 2)
    ]
    views = [plain[0]._is_view(), (required * required).requires_grad, required.view(3).requires_grad]
    (required + s).sum().backward()
    return [inside, [attempt(call) for call in calls], kinds, views, required.grad.tolist(), fw.is_inference(plain)]


def normal_tensors_in_inference_mode(fw: Any) -> Any:
    s = fw.ones(3, requires_grad=True)
    a = s.clone()
    with fw.inference_mode():
        view = a.view(-1)
        again = view.view(-1)
        kinds = [item.is_inference() for item in (view, again, s.detach(), s.data)]
        facts = [view.requires_grad, view._is_view(), again.is_leaf, view._version]
        s.add_(1)
        a.mul_(2)
    return [kinds, facts, s.tolist(), a._version, again._version, attempt(lambda: view.grad_fn)]


def views_made_in_other_modes(fw: Any) -> Any:
    seen: list[Any] = []
    for mode in (fw.no_grad, fw.inference_mode):
        base = fw.ones(2, requires_grad=True).clone()
        with mode():
            view, indirect = base.view(2), base.view(2)
        seen.append(attempt(partial(view.mul_, 2)))
        base.mul_(2)
        seen.append(attempt(partial(getattr, indirect, "grad_fn")))
        zeros = fw.zeros(2)
        with mode():
            leaf_view = zeros.view(2)
        leaf_view.requires_grad_()
        of_view = leaf_view.view(2)
        seen.append(attempt(partial(of_view.div_, 2)))
    return seen


def views_from_custom_functions(fw: Any) -> Any:
    view_as = function(fw, lambda ctx, x: x.view_as(x), lambda ctx, g: g)
    two_views = function(fw, lambda ctx, x: (x.view_as(x), x.view_as(x)), lambda ctx, g, h: g + h)
    as_is = function(fw, lambda ctx, x: x, lambda ctx, g: g)
    seen: list[Any] = []
    for custom in (view_as, as_is):
        plain, recorded = fw.ones(2), fw.ones(2, requires_grad=True).clone()
        for x in (plain, recorded):
            seen.append(attempt(partial(custom.apply(x).add_, vector(fw, 1.0, 1.0))))
            seen.append(attempt(partial(custom.apply(x).copy_, vector(fw, 1.0, 1.0))))
    seen.append(attempt(lambda: two_views.apply(fw.ones(2, requires_grad=True).clone())[0].add_(1)))
    seen.append(attempt(lambda: fw.ones(1, 2).unbind()[0].copy_(vector(fw, 1.0, 1.0))))
    return seen


def hooks_on_views_whose_base_changed(fw: Any) -> Any:
    said: list[Any] = []
    base = vector(fw, 1.0).clone()
    view, other = base[:], base[:]
    view.register_hook(lambda gradient: said.append("on the view"))
    other.register_hook(lambda gradient: said.append("on the other"))
    view.mul_(2)
    type(other.grad_fn)
    other.register_hook(lambda gradient: said.append("registered since"))
    (view + other).sum().backward()
    return said


def undefined_gradients(fw: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        one, two = x.clone(), x.clone()
        ctx.mark_non_differentiable(two)
        ctx._materialize_non_diff_grads = seen != []
        return one, two

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(h if h is None else h.tolist())
        return g

    custom = function(fw, forward, backward)
    for _ in range(2):
        custom.apply(vector(fw))[0].backward()
    return seen


def anomaly_mode_as_a_switch(fw: Any) -> Any:
    def state() -> tuple[Any, Any]:
        return fw.is_anomaly_enabled(), fw.is_anomaly_check_nan_enabled()

    seen = [state()]
    with fw.autograd.set_detect_anomaly(True, False):
        seen.append(state())
        with fw.autograd.detect_anomaly(check_nan=True):
            seen.append(state())
        seen.append(state())
    return [*seen, state()]


def not_a_number(framework: Any) -> Any:
    return function(framework, lambda ctx, x: x.clone(), lambda ctx, g: g * float("nan"), "Nan")


def nan_in_anomaly_mode(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    seen = [attempt(not_a_number(fw).apply(x).sum().backward)]
    with fw.autograd.set_detect_anomaly(True):
        y = not_a_number(fw).apply(x)
        seen.append(attempt(y.sum().backward))
    with fw.autograd.set_detect_anomaly(True, check_nan=False):
        seen.append(attempt(not_a_number(fw).apply(x).sum().backward))
    return [*seen, values([x.grad])[0][0] != 0]


def what_anomaly_mode_writes(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)
    with fw.autograd.set_detect_anomaly(True):
        y = x.pow(3)
        s = y.sum()
        (gradient,) = fw.autograd.grad(s, x, create_graph=True)
    nodes = [y.grad_fn, s.grad_fn, y.grad_fn.next_functions[0][0], gradient.grad_fn]
    stack = y.grad_fn.metadata["traceback_"]
    return [
        [sorted(node.metadata) for node in nodes],
        gradient.grad_fn.metadata["parent_"] is y.grad_fn,
        [type(stack).__name__, "y = x.pow(3)" in stack[-1]],
        (x * 2).grad_fn.metadata,
    ]


def warnings_of_anomaly_mode(fw: Any) -> Any:
    def broken(ctx: Any, gradient: Any) -> Any:
        raise ValueError("broken")

    inner = function(fw, lambda ctx, x: x * 2, broken, "Inner")
    outer = function(fw, lambda ctx, x: x.clone(), lambda ctx, g: inner.apply(g), "Outer")

    def run() -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x, seed = vector(fw), vector(fw)
            (gradient,) = fw.autograd.grad(outer.apply(x), x, seed, create_graph=True)
            gradient.register_hook(lambda g: g)
            error = attempt(gradient.backward)
        return [error, *(str(item.message).lstrip("\n").split(":")[0].split(" (Trig")[0] for item in caught)]

    with fw.autograd.set_detect_anomaly(True):
        inside = run()
    forward = function(fw, lambda ctx, x: x * 2, broken, "Late")
    y = forward.apply(vector(fw))
    with fw.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        late = attempt(y.backward)
    return [inside, run(), late, [str(item.message).split(" (Trig")[0] for item in caught]]


def lifetimes_in_anomaly_mode(fw: Any) -> Any:
    def chained() -> list[Any]:
        x = vector(fw)
        with fw.autograd.set_detect_anomaly(True):
            y = x.pow(5)
            for _ in range(3):
                (y,) = fw.autograd.grad(y, x, create_graph=True)
        return watch(x, y)

    def parent_stays() -> list[Any]:
        x = vector(fw)
        with fw.autograd.set_detect_anomaly(True):
            y = x.pow(3)
            (gradient,) = fw.autograd.grad(y, x, create_graph=True)
        x.keep = gradient  # the chain of parents leads back to the leaf, unseen by the collector
        return watch(x)

    return [fates(chained), fates(parent_stays)]


def mutated_where_it_is_allowed(fw: Any) -> Any:
    seen: list[Any] = []
    with fw.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = vector(fw, 1.0, 2.0)
        b = a.clone()
        first = (b**2).sum()
        b.sin_()
        seen.append([len(context.cloned), len(context.original), len(context.tid_to_weakhandle)])
        second = (b**2).sum()
        b.view(2).zero_()
        seen.append(len(context.cloned))
        first.backward()
        seen.append([len(context.cloned), a.grad.tolist()])
        del second
        seen.append(len(context.cloned))
        b.add_(1)
        seen.append(len(context.cloned))
        late = (a.clone() ** 2).sum()
        seen.append(attempt(lambda: fw.autograd.graph.allow_mutation_on_saved_tensors().__enter__()))
    return [*seen, attempt(late.backward), len(context.original)]


PROGRAMS = programs_in(globals())
