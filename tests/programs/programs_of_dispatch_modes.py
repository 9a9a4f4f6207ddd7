"""Small programs under dispatch modes: the calls that modes see, their order, their results, and who dies when."""

from __future__ import annotations

import functools
import importlib
import weakref
from typing import Any

from programs_tools import attempt, programs_in, values, vector


def dispatch(framework: Any) -> Any:
    return importlib.import_module(f"{framework.__name__}.utils._python_dispatch")


def recording(framework: Any, records: list[Any]) -> Any:
    class Telling(dispatch(framework).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            node = framework._C._current_autograd_node()
            records.append(
                (str(func), [each.__name__ for each in types], type(node).__name__, framework.is_grad_enabled())
            )
            result = func(*args, **(kwargs or {}))
            if isinstance(result, framework.Tensor):
                records.append((result.requires_grad, result.grad_fn is None, result._version, result._base is None))
            return result

    return Telling()


def forward_and_backward(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0, 3.0)
    with recording(fw, seen):
        y = (x.exp() * 2 + x.sin()).div(3)
        y.view(-1, 1).t().sum().backward()
        (x * x).mean().backward()
    return seen, values(x.grad)


def products_and_views(fw: Any) -> Any:
    seen: list[Any] = []
    a, b = fw.ones(3, 2, requires_grad=True), fw.ones(2, 3, requires_grad=True)
    with recording(fw, seen):
        c = (a @ b)[1:, 0]
        c.unsqueeze(0).expand(2, 2).transpose(0, 1).squeeze().sum(0).sum().backward()
    return [entry for entry in seen if "select" not in str(entry[0]) and "slice" not in str(entry[0])][:20]


def changes_in_place(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    with recording(fw, seen):
        y = x.clone()
        y.mul_(3).add_(x).zero_()
        y.copy_(x)
        versions = [y._version]
        view = y.view(-1)
        view.mul_(2)
        versions += [y._version, view._version]
    y.sum().backward()
    return seen, versions, type(y.grad_fn).__name__, view._base is y, values(x.grad)


def modes_inside_modes(fw: Any) -> Any:
    outer: list[Any] = []
    inner: list[Any] = []
    x = vector(fw, 1.0)
    with recording(fw, outer):
        with recording(fw, inner):
            x.sin()
        x.cos()
        stack = len(dispatch(fw)._get_current_dispatch_mode_stack())
    return outer, inner, stack, dispatch(fw)._get_current_dispatch_mode()


def another_result(fw: Any) -> Any:
    answer = fw.ones(2) * 5

    class Answering(dispatch(fw).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return answer if func is fw.ops.aten.sin.default else func(*args, **(kwargs or {}))

    x = vector(fw, 0.0, 0.0)
    with Answering():
        y = x.sin()
    y.sum().backward()
    return y is answer, type(answer.grad_fn).__name__, values(y.detach()), values(x.grad)


def errors_inside(fw: Any) -> Any:
    class Failing(dispatch(fw).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError(f"no {func}")

    x = vector(fw, 1.0)

    def run(action: Any) -> Any:
        with Failing():
            return action()

    seen = [attempt(lambda: run(lambda: x.sin())), attempt(lambda: run(lambda: x * 2))]
    return seen, type(x.sin().grad_fn).__name__


def inputs_die_as_before(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0)
    with recording(fw, seen):
        hidden = x * 2
        reference = weakref.ref(hidden)
        y = hidden.exp()
        del hidden
        fates = [reference() is None]
        hidden = x * 2
        reference = weakref.ref(hidden)
        z = hidden.sin()
        del hidden
        fates.append(reference() is None)
        del z
        fates.append(reference() is None)
    return fates, values(y.detach())


def names_of_operations(fw: Any) -> Any:
    sin, add = fw.ops.aten.sin, fw.ops.aten.add
    return (
        [str(sin), repr(sin), sin.__name__, str(sin.default), repr(sin.default), sin.default.__name__],
        [sin.default.name(), add.Tensor.name(), add.Tensor.__name__, sin.default.overloadpacket is sin],
        [sin.default is fw.ops.aten.sin.default, sin.default == fw.ops.aten.cos.default, {sin.default: 1}[sin.default]],
        values(sin.default(fw.zeros(2))),
        [hasattr(sin, "Tensor"), hasattr(fw.ops.aten, "no_such_operation")],
    )


def selective(fw: Any, policy: Any, body: Any, **options: Any) -> Any:
    module = importlib.import_module(f"{fw.__name__}.utils.checkpoint")
    contexts = functools.partial(module.create_selective_checkpoint_contexts, policy, **options)
    x = vector(fw, 1.0, 2.0)
    return x, module.checkpoint(body, x, use_reentrant=False, context_fn=contexts)


def what_is_kept_is_not_computed_again(fw: Any) -> Any:
    asked: list[str] = []

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
        asked.append(f"{op} {context.is_recompute} {context.op_output.requires_grad}")
        return op is fw.ops.aten.exp.default

    seen: list[Any] = []
    x, out = selective(fw, policy, lambda x: x.sin().exp().cos().sum())
    with recording(fw, seen):
        out.backward()
    return (
        asked,
        [entry[0] for entry in seen if isinstance(entry[0], str)],
        [round(each, 4) for each in x.grad.tolist()],
    )


def kept_entries_die(fw: Any) -> Any:
    kept: list[Any] = []

    def body(x: Any) -> Any:
        y = x.sin().exp()
        mode = dispatch(fw)._get_current_dispatch_mode()
        entry = getattr(mode, "storage", {}).get(fw.ops.aten.exp.default, {}).get(0)
        if hasattr(entry, "val"):
            kept.append(weakref.ref(entry.val))
        return y.cos()

    ops = [fw.ops.aten.exp.default]
    fates = []
    _, out = selective(fw, ops, body)
    fates.append(kept[-1]() is None)
    del out
    fates.append(kept[-1]() is None)
    _, out = selective(fw, ops, body)
    out.sum().backward(retain_graph=True)
    fates.append(kept[-1]() is None)
    return fates, attempt(lambda: out.sum().backward())


def kept_entries_changed_since(fw: Any) -> Any:
    ops = [fw.ops.aten.sin.default]
    _, refused = selective(fw, ops, lambda x: x.sin().mul_(2).cos().exp())
    _, allowed = selective(fw, ops, lambda x: x.sin().mul_(2).cos().exp(), allow_cache_entry_mutation=True)
    allowed.sum().backward()
    return attempt(lambda: refused.sum().backward())


def other_operations_in_the_second_run(fw: Any) -> Any:
    runs: list[int] = []

    def body(x: Any) -> Any:
        runs.append(1)
        return (x.cos() if len(runs) > 1 else x.sin()).exp().tanh()

    _, out = selective(fw, [fw.ops.aten.sin.default], body)
    return attempt(lambda: out.sum().backward())


def wrong_policies(fw: Any) -> Any:
    make = importlib.import_module(f"{fw.__name__}.utils.checkpoint").create_selective_checkpoint_contexts
    return [attempt(lambda: make([2])), attempt(lambda: make(2))]


PROGRAMS = programs_in(globals())
