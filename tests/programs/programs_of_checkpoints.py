"""Small programs of checkpoints: how often what runs, what is refused, and what they keep alive until when."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from typing import Any

from programs_tools import attempt, fates, programs_in, vector, watch


def tools(framework: Any) -> Any:
    return importlib.import_module(framework.__name__ + ".utils.checkpoint")


def checkpoint(fw: Any, *arguments: Any, **named: Any) -> Any:
    return tools(fw).checkpoint(*arguments, **{"use_reentrant": False, **named})


class Counted:
    """A function with a count of its calls; from the second on it may be another."""

    def __init__(self, first: Any, later: Any = None) -> None:
        self.first, self.later, self.calls = first, later or first, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return (self.first if self.calls == 1 else self.later)(x)


def errors_of(function: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(function)
    return [result, *(str(item.message) for item in caught)]


def gradients_are_those_of_the_plain_run(fw: Any) -> Any:
    seen = []
    for reentrant in (True, False):
        x = vector(fw, 0.5, 1.0)
        y = checkpoint(fw, lambda t: (t * t).exp().sin(), x, use_reentrant=reentrant)
        seen.append([type(y.grad_fn).__name__, [round(v, 5) for v in y.tolist()]])
        y.sum().backward()
        seen.append([round(v, 4) for v in x.grad.tolist()])
    return seen


def how_often_the_function_runs(fw: Any) -> Any:
    seen = []
    for reentrant in (True, False):
        function = Counted(lambda t: (t * t).exp())
        y = checkpoint(fw, function, vector(fw), use_reentrant=reentrant)
        counts = [function.calls]
        y.sum().backward(retain_graph=True)
        counts.append(function.calls)
        y.sum().backward()
        counts.append(function.calls)
        seen.append([counts, attempt(y.sum().backward)])
    return seen


def early_stop(fw: Any) -> Any:
    def run(stops: bool) -> list[int]:
        cloned = Counted(lambda t: t.clone())
        with tools(fw).set_checkpoint_early_stop(stops):
            y = checkpoint(fw, lambda t: cloned(t.sin().cos()), vector(fw))
        y.sum().backward()
        plain = Counted(lambda t: t.clone())
        with tools(fw).set_checkpoint_early_stop(stops):
            checkpoint(fw, plain, vector(fw)).sum().backward()
        return [cloned.calls, plain.calls]

    return [run(True), run(False)]


def recomputation_that_goes_another_way(fw: Any) -> Any:
    pairs = [
        (lambda t: t.sin().exp(), lambda t: t.sin()),
        (lambda t: t.sin(), lambda t: t.sin().exp()),
        (lambda t: t.sin(), lambda t: t[:1].sin()),
        (lambda t: t.sin().exp(), lambda t: t[:1].sin().exp()),
    ]

    def run(first: Any, later: Any, stops: bool) -> Any:
        with tools(fw).set_checkpoint_early_stop(stops):
            y = checkpoint(fw, Counted(first, later), vector(fw, 1.0, 2.0))
        return attempt(lambda: y.sum().backward())

    return [run(*pair, stops) for pair in pairs for stops in (True, False)]


def a_check_that_is_switched_off(fw: Any) -> Any:
    function = Counted(lambda t: t.sin(), lambda t: t[:1].sin())
    y = checkpoint(fw, function, vector(fw, 1.0, 2.0), determinism_check="none")
    return [attempt(lambda: y.sum().backward()), attempt(lambda: checkpoint(fw, function, 1, determinism_check="x"))]


def arguments_refused(fw: Any) -> Any:
    x, plain = vector(fw), vector(fw, requires_grad=False)
    run = tools(fw).checkpoint
    return [
        errors_of(lambda: run(fw.exp, x)),
        errors_of(lambda: run(fw.exp, x, use_reentrant=True, foo=1)),
        errors_of(lambda: run(fw.exp, x, use_reentrant=True, context_fn=dict)),
        errors_of(lambda: run(fw.exp, plain, use_reentrant=True)),
        errors_of(lambda: run(fw.exp, plain, use_reentrant=False)),
        errors_of(lambda: fw.autograd.grad(run(fw.exp, x, use_reentrant=True).sum(), x)),
        errors_of(lambda: run(fw.exp, x, use_reentrant=True).sum().backward(inputs=[x])),
        errors_of(lambda: run(fw.exp, x, use_reentrant=True).sum().backward()),
        errors_of(lambda: run(lambda t: t.detach(), x, use_reentrant=True).sum().backward()),
        errors_of(lambda: tools(fw).detach_variable([x])),
        errors_of(lambda: tools(fw).check_backward_validity([plain])),
        errors_of(lambda: tools(fw).checkpoint_sequential([fw.exp], 1, x)),
        errors_of(lambda: tools(fw).checkpoint_sequential([fw.exp], 1, x, use_reentrant=False, foo=1)),
    ]


def looking_at_what_is_saved(fw: Any) -> Any:
    function = Counted(lambda t: t.exp())
    y = checkpoint(fw, function, vector(fw))
    node = y.grad_fn
    seen: list[Any] = [type(node._raw_saved_result.data).__name__]
    for _ in range(2):
        seen.append([round(node._saved_result.item(), 4), function.calls])
    y.sum().backward()
    return [*seen, function.calls, attempt(lambda: node._saved_result)]


def a_saved_tensor_unpacked_twice(fw: Any) -> Any:
    class Square(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return ctx.saved_tensors[0] * ctx.saved_tensors[0] * grad

    return attempt(lambda: checkpoint(fw, Square.apply, vector(fw)).sum().backward())


def contexts_around_both_runs(fw: Any) -> Any:
    log: list[str] = []

    @contextlib.contextmanager
    def noting(name: str) -> Any:
        log.append(name)
        yield
        log.append(f"end of {name}")

    y = checkpoint(fw, fw.exp, vector(fw), context_fn=lambda: (noting("forward"), noting("recomputation")))
    log.append("between")
    y.sum().backward()
    return log


def nested_checkpoints(fw: Any) -> Any:
    inner, outer = Counted(lambda t: t.sin().exp()), Counted(lambda t: checkpoint(fw, inner, t.cos()).sin())
    x = vector(fw, 0.5)
    y = checkpoint(fw, outer, x)
    y.sum().backward()
    return [inner.calls, outer.calls, round(x.grad.item(), 4)]


def gradients_of_gradients(fw: Any) -> Any:
    x = vector(fw, 0.5)
    y = checkpoint(fw, lambda t: (t * t).exp(), x).sum()
    (first,) = fw.autograd.grad(y, x, create_graph=True)
    first.sum().backward()
    return [round(first.item(), 4), round(x.grad.item(), 4)]


def keyword_arguments_and_other_values(fw: Any) -> Any:
    y = checkpoint(fw, lambda t, k, *, by: {"y": (t * by).exp(), "k": k}, vector(fw), "name", by=2)
    y["y"].sum().backward()
    return [y["k"], round(y["y"].item(), 3)]


def sequences(fw: Any) -> Any:
    steps = [Counted(lambda t: t.exp()) for _ in range(5)]
    x = vector(fw, -1.0)
    y = tools(fw).checkpoint_sequential(steps, 2, x, use_reentrant=False)
    y.sum().backward()
    return [[step.calls for step in steps], round(x.grad.item(), 2)]


def random_numbers_are_drawn_again(fw: Any) -> Any:
    def run(**named: Any) -> bool:
        drawn: list[Any] = []

        def function(t: Any) -> Any:
            drawn.append(fw.rand(2))
            return t.exp()

        y = checkpoint(fw, function, vector(fw), **named)
        before = fw.get_rng_state().tolist()
        y.sum().backward()
        return bool((drawn[0] == drawn[1]).all()) and fw.get_rng_state().tolist() == before

    return [run(use_reentrant=True), run(use_reentrant=False)]


def _fates(fw: Any, reentrant: bool, runs_backward: bool, keeps_output: bool) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        x, inside = vector(fw), []

        def function(t: Any) -> Any:
            middle = t * t
            inside.extend(watch(middle))
            return middle.exp()

        z = x * 1
        y = checkpoint(fw, function, z, use_reentrant=reentrant)
        if runs_backward:
            y.sum().backward()
        kept.extend([y] if keeps_output else [])
        return [*watch(x, z, y, function), *inside]

    return fates(build)


def who_dies_when_checkpointed(fw: Any) -> Any:
    _fates(fw, True, False, False)  # the first call of torch's imports its compiler, which keeps frames for a while
    return [
        _fates(fw, reentrant, runs_backward, keeps_output)
        for reentrant in (True, False)
        for runs_backward in (False, True)
        for keeps_output in (False, True)
    ]


def a_function_that_holds_the_output(fw: Any) -> Any:
    def run(reentrant: bool) -> Any:
        def build() -> list[Any]:
            box: list[Any] = []

            def function(t: Any) -> Any:
                return t.exp() if box is not None else t

            box.append(checkpoint(fw, function, vector(fw), use_reentrant=reentrant))
            return watch(box[0], function)

        return fates(build)

    return [run(True), run(False)]


def recomputed_tensors_after_a_failed_backward(fw: Any) -> Any:
    def build() -> list[Any]:
        inside: list[Any] = []

        def function(t: Any) -> Any:
            middle = t.exp()
            inside.extend(watch(middle))
            return middle.sin()

        x = vector(fw)
        x.register_hook(lambda grad: 1 / 0)
        y = checkpoint(fw, function, x)
        with contextlib.suppress(ZeroDivisionError):
            y.sum().backward()
        return [*inside, *watch(x, y)]

    return fates(build)


def modules_of_a_checkpointed_sequence(fw: Any) -> Any:
    """Each segment keeps the whole sequence, and takes its steps from it when it runs."""
    seen: list[Any] = []
    run = tools(fw).checkpoint_sequential
    for reentrant in (True, False):
        layers = [fw.nn.Linear(2, 2) for _ in range(3)]
        steps = watch(*layers)
        x = fw.ones(1, 2, requires_grad=True)
        y = run(fw.nn.Sequential(*layers), 2, x, use_reentrant=reentrant)
        del layers
        seen.append([each() is not None for each in steps])
        y.sum().backward()
        del y
        seen.append([each() is not None for each in steps])
        chain = [fw.neg, fw.neg, fw.neg]
        y = run(chain, 2, x, use_reentrant=reentrant)
        x.grad, chain[0] = None, fw.exp
        y.sum().backward()
        seen.append([round(value, 4) for value in x.grad[0].tolist()])
        seen.append(attempt(lambda reentrant=reentrant: run(fw.nn.Identity(), 1, fw.ones(1), use_reentrant=reentrant)))  # type: ignore[misc]
    return seen


PROGRAMS = programs_in(globals())
