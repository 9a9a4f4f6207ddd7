"""Programs about details that PyTorch's sources show: arguments of autograd, hooks of modules, and blocks that are entered
twice.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import OrderedDict
from typing import Any

from programs_tools import attempt, programs_in, values, vector, watch


def as_any(made: Any) -> Any:
    return made


def inputs_of_a_dict(fw: Any) -> Any:
    x, z = vector(fw, 1.0, 2.0), vector(fw, 3.0, 4.0)
    found = fw.autograd.grad((x * 2).sum(), {"x": x, "z": z}, allow_unused=True)
    (x * 2).sum().backward(inputs={"x": x})
    refused = [
        attempt(lambda: fw.autograd.grad((x * 2).sum(), OrderedDict(x=x))),
        attempt(lambda: (x * 2).sum().backward(inputs=OrderedDict(x=x))),
        attempt(lambda: (x * 2).sum().backward(inputs={})),
    ]
    return list(found), values(found.values()), x.grad.tolist(), refused


def full_backward_hook_beside_an_output_without_gradient(fw: Any) -> Any:
    a, b = vector(fw, 2.0), vector(fw, 3.0)

    class Two(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * a, x * b

    module = Two()
    module.register_full_backward_hook(lambda *given: None)
    module(vector(fw, 1.0))[0].sum().backward()
    return a.grad.tolist(), b.grad


def copies_to_be_pinned(fw: Any) -> Any:
    x, alive = vector(fw, 1.0), []
    for pin in (False, True):
        with fw.autograd.graph.save_on_cpu(pin_memory=pin):
            y = x.exp()
        [reference] = watch(y)
        del y
        alive.append(reference() is not None)
    return alive


def backward_hook_that_returns_no_tuple(fw: Any) -> Any:
    said = []
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        for changed in (list, lambda gradients: gradients[0]):
            for rows in (1, 4):
                module = fw.nn.Linear(3, 2)
                getattr(module, register)(lambda module, gradients, *rest, changed=changed: changed(gradients))
                x = fw.ones(rows, 3, requires_grad=True)
                said.append(attempt(lambda module=module, x=x: module(x).sum().backward()))  # type: ignore[misc]
    return said


def warning_of_a_pre_hook_where_no_input_requires_grad(fw: Any) -> Any:
    module = fw.nn.Linear(3, 2)
    module.register_full_backward_pre_hook(lambda module, gradients: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module(fw.ones(1, 3)).sum().backward()
    return [str(one.message)[:60] for one in seen]


def grad_mode_of_callbacks(fw: Any) -> Any:
    x, seen = vector(fw, 1.0), []
    queue = fw.autograd.Variable._execution_engine.queue_callback
    x.register_hook(lambda g: queue(lambda: seen.append((fw.is_grad_enabled(), (x * 2).requires_grad))))
    (x * 2).backward()
    with fw.no_grad():
        x.grad = None
        (y,) = [fw.enable_grad()(lambda: x * 2)()]
        y.backward()
    return seen


def change_of_a_view_s_base_under_mutation(fw: Any) -> Any:
    x = vector(fw, 1.0, 1.0, 1.0)
    with fw.autograd.graph.allow_mutation_on_saved_tensors():
        base = x.clone()
        view = base[1:]
        out = (view**2).sum()
        base.mul_(3)
        out.backward()
    return x.grad.tolist()


def refused_block_within_another(fw: Any) -> Any:
    block = fw.autograd.graph.allow_mutation_on_saved_tensors
    x = vector(fw, 1.0, 1.0)
    with block():
        out = (x.clone() ** 2).sum()

        def enter() -> None:
            with block():
                pass

        return attempt(enter), attempt(out.backward)


def early_stop_of_a_block_and_of_a_call(fw: Any) -> Any:
    from importlib import import_module

    checkpoints = import_module(f"{fw.__name__}.utils.checkpoint")
    x, seen = vector(fw, 1.0), []

    def body(t: Any) -> Any:
        t = t.sin()
        count.append(1)
        return t.clone()

    for of_block in (None, True, False):
        for of_call in (True, False):
            count: list[int] = []
            block = contextlib.nullcontext() if of_block is None else checkpoints.set_checkpoint_early_stop(of_block)
            with block:
                y = checkpoints.checkpoint(body, x, use_reentrant=False, early_stop=of_call)
            y.sum().backward()
            seen.append(len(count))
    return seen


def forward_context_that_swallows_an_error(fw: Any) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{fw.__name__}.utils.checkpoint").checkpoint

    def fails(t: Any) -> Any:
        raise ValueError("no")

    def contexts() -> Any:
        return contextlib.suppress(ValueError), contextlib.nullcontext()

    return attempt(lambda: checkpoint(fails, vector(fw, 1.0), use_reentrant=False, context_fn=contexts))


def block_that_is_entered_twice(fw: Any) -> Any:
    seen = []
    for block, outer in ((fw.no_grad(), fw.enable_grad()), (fw.enable_grad(), fw.no_grad())):
        with outer:
            with block, block:
                pass
            seen.append(fw.is_grad_enabled())
    return seen


def switches_as_decorators(fw: Any) -> Any:
    seen = []
    try:
        fw.autograd.set_multithreading_enabled(False)(lambda: None)
        seen.append(fw.autograd.is_multithreading_enabled())
    finally:
        fw.autograd.set_multithreading_enabled(True)
    decorated = fw.autograd._force_original_view_tracking(True)(fw.autograd.is_view_replay_enabled)
    return [*seen, fw.autograd.is_view_replay_enabled(), decorated(), fw.autograd.is_view_replay_enabled()]


def strides_of_a_retained_gradient(fw: Any) -> Any:
    x = fw.ones(2, 3, requires_grad=True)
    y = x * 1
    y.retain_grad()
    (y.t() * fw.ones(3, 2)).sum().backward()
    return y.grad.stride()


def metadata_of_an_output_that_is_not_differentiable(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        marked = fw.arange(3)
        ctx.mark_non_differentiable(marked)
        return x * 2, marked

    def backward(ctx: Any, g: Any, other: Any) -> Any:
        seen.append(other.tolist())
        return g * 2

    seen: list[Any] = []
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    y, _ = as_any(type("F", (fw.autograd.Function,), body)).apply(fw.ones(3, requires_grad=True))
    y.sum().backward()
    rows = [(list(one.shape), str(one.dtype).rpartition(".")[2]) for one in y.grad_fn._input_metadata]
    return rows, seen


def persistent_hook_after_a_failure(fw: Any) -> Any:
    module, seen = fw.nn.Identity(), []

    def fails(module: Any, args: Any, output: Any) -> None:
        raise ValueError("no")

    module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    module.register_forward_hook(fails)
    for changed in (9, None):

        def persistent(module: Any, args: Any, output: Any, changed: Any = changed) -> Any:
            seen.append((args, output))
            return changed

        module.register_forward_hook(persistent, always_call=True)
    return attempt(lambda: module(5)), seen


def order_of_load_hooks(fw: Any) -> Any:
    module, seen = fw.nn.Sequential(fw.nn.Linear(1, 1), fw.nn.Sequential(fw.nn.Linear(1, 1))), []
    for name, one in module.named_modules():
        one.register_load_state_dict_post_hook(lambda module, keys, name=name: seen.append(name))
    module.load_state_dict(module.state_dict())
    module.register_load_state_dict_post_hook(lambda module, keys: 3)
    return seen, attempt(lambda: module.load_state_dict(module.state_dict()))


def results_of_state_dict_hooks(fw: Any) -> Any:
    private, public = fw.nn.Linear(1, 1), fw.nn.Linear(1, 1)
    private._register_state_dict_hook(lambda *given: {})
    public.register_state_dict_post_hook(lambda *given: {})
    return private.state_dict(), attempt(public.state_dict)


def parameter_that_is_assigned_takes_the_setting_of_the_one_before(fw: Any) -> Any:
    frozen, given = fw.nn.Linear(1, 1), fw.nn.Linear(1, 1)
    frozen.weight.requires_grad_(False)
    frozen.load_state_dict(given.state_dict(keep_vars=True), assign=True)
    return frozen.weight.requires_grad, frozen.weight is given.weight, frozen.bias.requires_grad


def warnings_of_regular_hooks_beside_constants(fw: Any) -> Any:
    class Product(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, c: Any) -> Any:
            return x * c

    class Pair(fw.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2, fw.ones(1)

    seen = []
    for module, rest in ((Product(), (fw.ones(1),)), (Pair(), ())):
        module.register_backward_hook(lambda *given: None)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module(vector(fw, 1.0).clone(), *rest)
        seen.append([str(one.message)[:90] for one in said])
    return seen


def name_of_a_node_with_nan(fw: Any) -> Any:
    x = vector(fw, 1.0, 2.0)

    def in_place() -> None:
        y = x.clone()
        y[:1].mul_(float("nan"))
        y.sum().backward()

    with warnings.catch_warnings(record=True) as said, fw.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        refused = attempt(in_place)
    return refused, [str(one.message).partition(". Traceback")[0] for one in said if "Error" in str(one.message)]


def arguments_of_the_wrong_type(fw: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        said.append(attempt(lambda: ctx.set_materialize_grads(1)))
        return x * 2

    said: list[str] = []
    as_any(type("F", (fw.autograd.Function,), {"forward": staticmethod(forward)})).apply(vector(fw, 1.0))
    return said


PROGRAMS = programs_in(globals())
