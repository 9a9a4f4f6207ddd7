"""Calls that no argument pool finds: Functions, hooks, and the parts of a backward, under every profile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gradlife.engine as torch
from benchmarks.hardening.material import leaf, matrix
from gradlife import _engine

Action = Callable[[], Any]
Story = Callable[[], Action]
PROFILES = (
    "torch-1.1",
    "torch-1.2",
    "torch-1.8",
    "torch-1.9",
    "torch-1.10",
    "torch-1.13",
    "torch-2.9",
    "torch-2.10",
    "torch-2.13",
    "torch-2.14",
    "oneflow-0.8",
    "oneflow-0.9",
    "micrograd",
)


class Doubled(torch.autograd.Function):
    """Saves its input, its output and a plain attribute."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x * 2
        ctx.save_for_backward(x, result)
        ctx.factor = 2
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, _ = ctx.saved_tensors
        return gradient * ctx.factor + x * 0


class Changing(torch.autograd.Function):
    """Change the input in place, and return a second result without a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(3)
        ctx.mark_dirty(x)
        other = x.detach() + 1
        ctx.mark_non_differentiable(other)
        ctx.set_materialize_grads(False)
        return x, other

    @staticmethod
    def backward(ctx: Any, gradient: Any, other: Any) -> Any:
        return gradient * 3 if ctx.needs_input_grad[0] else None


class Raising(torch.autograd.Function):
    """Fail in backward."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        raise KeyError("of the story")


def seen(*_: Any) -> None:
    """Do nothing: a hook."""


def function_applied() -> Action:
    return partial(Doubled.apply, matrix())


def function_backward() -> Action:
    total = Doubled.apply(matrix()).sum()
    return partial(total.backward)


def function_that_changes_its_input() -> Action:
    x = matrix()
    return lambda: Changing.apply(x)[0].sum().backward()


def backward_that_fails() -> Action:
    total = (Raising.apply(matrix()) * 2).sum()
    return partial(total.backward)


def context_read() -> Action:
    y = Doubled.apply(matrix())
    node = y.grad_fn
    return lambda: [node.saved_tensors, node.needs_input_grad, node.next_functions, node.name(), node.metadata]


def hooks_put_and_removed() -> Action:
    x, y = matrix(), leaf()

    def act() -> None:
        for handle in (x.register_hook(seen), y.register_hook(seen), x.grad_fn.register_hook(seen)):
            handle.remove()

    return act


def hooks_run() -> Action:
    y = leaf()
    x = y * 2
    x.register_hook(lambda gradient: gradient * 2)
    y.register_hook(seen)
    x.grad_fn.register_hook(seen)
    return partial(x.sum().backward)


def newer_hooks_run() -> Action:
    y = leaf()
    x = y.sin()
    if hasattr(y, "register_post_accumulate_grad_hook"):
        y.register_post_accumulate_grad_hook(seen)
    if hasattr(x.grad_fn, "register_prehook"):
        x.grad_fn.register_prehook(seen)
    x.retain_grad()
    return partial(x.sum().backward)


def forward_with_packing() -> Action:
    x = matrix()

    def act() -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: [tensor.detach()], lambda packed: packed[0]):
            return (x.sin() * x).sum()

    return act


def backward_with_unpacking() -> Action:
    return partial(forward_with_packing()().backward)


def slots_hooked() -> Action:
    node = matrix().sin().grad_fn
    slot = node._raw_saved_self
    return lambda: slot.register_hooks(lambda tensor: tensor.detach(), lambda packed: packed)


def backward_many_ways() -> Action:
    x = leaf()
    total = (x * x).sum()

    def act() -> None:
        total.backward(retain_graph=True)
        total.backward(inputs=[x], retain_graph=True)
        torch.autograd.grad(total, [x], create_graph=True)
        torch.autograd.backward([total], [torch.ones((), dtype=torch.float64)])

    return act


def views_changed() -> Action:
    x = matrix()

    def act() -> Any:
        y = x.view(4)
        y[1:3].mul_(2)
        z = x[0].add_(1)
        return z, x.grad_fn.name(), y.grad_fn.name(), (x.sum() + y.sum()).backward()

    return act


def results_written() -> Action:
    x = matrix().detach()

    def act() -> Any:
        out = torch.empty(0, dtype=x.dtype)
        return torch.mul(x, x, out=out), torch.sum(x, 0, out=torch.empty(0)), torch.cat((x, x), out=out[:0])

    return act


def wrappers_come_and_go() -> Action:
    y = leaf() * 2
    total = y.sum()

    def act() -> Any:
        node = total.grad_fn.next_functions[0][0]
        node.metadata["mark"] = 1
        storage = y.untyped_storage()
        return [total.grad_fn is node, storage.nbytes(), y._base, y.detach().data.requires_grad, str(y.device)]

    return act


def reentrant_backward() -> Action:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            x = leaf()
            (x * 2).sum().backward()
            return gradient * x.grad.sum()

    total = Inner.apply(leaf()).sum()
    return partial(total.backward)


def anomaly_mode() -> Action:
    x = leaf()

    def act() -> None:
        with torch.autograd.set_detect_anomaly(True):
            (x * 2).sin().sum().backward()

    return act


def error_in_forward() -> Action:
    x, y = matrix(), torch.ones(3)
    return lambda: x + y


def looked_at() -> Action:
    torch.clear_events()
    y = (leaf() * 2).sin()
    return lambda: [len(str(torch.owners(y))) > 0, repr(y), len(torch.events(clear=True)) > 0, torch.use_count(y)]


def default_hooks_pushed() -> Action:
    def act() -> Any:
        _engine._push_saved_tensors_default_hooks(seen, seen)
        _engine._top_saved_tensors_default_hooks(True)
        _engine._pop_saved_tensors_default_hooks()
        _engine._saved_tensors_hooks_disable("off")  # refused while there are any
        try:
            return _engine._saved_tensors_hooks_get_disabled_error_message()
        finally:
            _engine._saved_tensors_hooks_enable()

    return act


def graph_task_asked() -> Action:
    """Query state that exists only during a backward."""
    y = leaf()
    x = y * 2
    order: list[Any] = []

    def ask(gradient: Any) -> None:
        order.extend(_engine._current_graph_task_execution_order())
        order.append(_engine._will_engine_execute_node(x.grad_fn))
        order.append(_engine._get_current_graph_task_keep_graph())
        _engine._queue_callback(seen)

    handle = x.register_hook(ask)

    def act() -> None:
        x.sum().backward()
        handle.remove()  # it closes over its own tensor: a cycle that no collector sees

    return act


TOLD: tuple[Story, ...] = (
    function_applied,
    function_backward,
    function_that_changes_its_input,
    backward_that_fails,
    context_read,
    hooks_put_and_removed,
    hooks_run,
    newer_hooks_run,
    forward_with_packing,
    backward_with_unpacking,
    slots_hooked,
    backward_many_ways,
    views_changed,
    results_written,
    wrappers_come_and_go,
    reentrant_backward,
    anomaly_mode,
    error_in_forward,
    looked_at,
    default_hooks_pushed,
    graph_task_asked,
)
# Until 2.0 the tensors to be saved stay on the context if something fails once the outputs have their history: an output
# among them keeps its own context then. The profiles do as the releases did.
KEPT_BY_RELEASE = {(function_applied, profile) for profile in ("torch-1.1", "torch-1.2", "torch-1.8", "torch-1.9")}
STORIES: dict[str, tuple[Story, str]] = {
    f"{story.__name__} under {profile}": (story, profile)
    for story in TOLD
    for profile in PROFILES
    if (story, profile) not in KEPT_BY_RELEASE
}


def under(name: str) -> Story | None:
    """Return the story with its profile set for this process; None if that profile's release lacks a feature."""
    story, profile = STORIES[name]
    torch.set_default_profile(profile)
    try:
        story()
    except (AttributeError, RuntimeError, TypeError):
        return None
    return story
