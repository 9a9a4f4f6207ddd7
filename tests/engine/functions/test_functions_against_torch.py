"""The same small programs on the engine's torch-2.13 and on the real PyTorch: both must answer the same."""

from __future__ import annotations

import functools
import gc
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as engine

pytestmark = [pytest.mark.torch, pytest.mark.faithful]


def function(fw: Any, keep: Callable[[Any, Any, Any], None] | None = None) -> Any:
    """A Function that doubles, of this framework."""

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        if keep is not None:
            keep(ctx, x, y)
        return y

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("F", (fw.autograd.Function,), body)


def leaf(fw: Any) -> Any:
    return fw.tensor([1.0, 1.0], requires_grad=True)


def answer(touch: Callable[[], Any]) -> Any:
    """A value that can be compared, or the error's type and first line."""
    try:
        value = touch()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return value if isinstance(value, (bool, int, float, str, dict, list, tuple, type(None))) else type(value).__name__


def fate(kept: list[Any], ref: Callable[[], object]) -> str:
    kept.clear()
    if ref() is None:
        return "del"
    gc.collect()
    return "gc" if ref() is None else "never"


def save_input(ctx: Any, x: Any, y: Any) -> None:
    ctx.save_for_backward(x)


def save_output(ctx: Any, x: Any, y: Any) -> None:
    ctx.save_for_backward(y)


TOUCHES: list[Callable[[Any], Any]] = [
    lambda fn: fn.metadata,
    lambda fn: fn.name(),
    lambda fn: fn.needs_input_grad,
    lambda fn: [type(after).__name__ for after, _ in fn.next_functions],
    lambda fn: fn.register_hook(print),
    lambda fn: fn.register_prehook(print),
    lambda fn: fn.requires_grad,
    lambda fn: len(fn.saved_tensors),
    lambda fn: len(fn.saved_variables),
    lambda fn: len(fn._raw_saved_tensors),
    lambda fn: fn(1),
    lambda fn: fn.apply(1),
    lambda fn: fn.materialize_grads,
    lambda fn: fn.to_save,
    lambda fn: fn.dirty_tensors,
    lambda fn: fn.non_differentiable,
    lambda fn: fn._do_backward(1),
    lambda fn: fn._sequence_nr() >= 0,
]


def touches_of_a_held_grad_fn(fw: Any) -> list[Any]:
    """Every attribute: while the node lives, after backward, and once the outputs are gone."""
    found: list[Any] = []
    for runs_backward, drops in ((False, False), (True, False), (False, True), (True, True)):
        y = function(fw, save_input).apply(leaf(fw))
        fn = y.grad_fn
        if runs_backward:
            y.sum().backward()
        if drops:
            del y
        found += [answer(lambda touch=touch, fn=fn: touch(fn)) for touch in TOUCHES]  # type: ignore[misc]
    return found


def context_never_applied(fw: Any) -> list[Any]:
    """Read the attributes of a context that was constructed and never applied."""
    context = function(fw)._backward_cls()
    return [answer(lambda touch=touch: touch(context)) for touch in TOUCHES]  # type: ignore[misc]


def fates_of_contexts(fw: Any) -> dict[str, str]:
    """When the context goes, by what forward keeps; those that are lost are cut open afterwards."""
    found = {}
    kinds: dict[str, Callable[[Any, Any, Any], None]] = {
        "nothing": lambda ctx, x, y: None,
        "input saved": save_input,
        "output saved": save_output,
        "output as attribute": lambda ctx, x, y: setattr(ctx, "y", y),
        "detached output": lambda ctx, x, y: setattr(ctx, "y", y.detach()),
        "itself": lambda ctx, x, y: setattr(ctx, "itself", ctx),
    }
    for name, keep in kinds.items():
        for runs_backward in (False, True):
            y = function(fw, keep).apply(leaf(fw))
            ref = weakref.ref(y.grad_fn)
            if runs_backward:
                y.sum().backward()
            kept = [y]
            del y
            found[f"{name}, backward {runs_backward}"] = fate(kept, ref)
    return found


def fates_of_hooks(fw: Any) -> dict[str, str]:
    """When the context goes, by what a hook on its node holds."""
    found = {}
    for name in ("grad_fn", "output, removed"):
        y = function(fw).apply(leaf(fw))
        fn = y.grad_fn
        ref = weakref.ref(fn)
        held = fn if name == "grad_fn" else y
        handle = fn.register_hook(lambda *ignored, held=held: None)
        if name == "output, removed":
            handle.remove()
        kept = [y]
        del y, fn, held
        found[name] = fate(kept, ref)
    return found


def reference_counts(fw: Any) -> list[int]:
    """Counts of a context, a node, a tensor and a gradient while C++ holds them too, and alone."""
    x = leaf(fw)
    y = function(fw, save_input).apply(x)
    fn = y.grad_fn
    found = [sys.getrefcount(x), sys.getrefcount(fn), sys.getrefcount(y)]
    y.sum().backward()
    grad = x.grad
    found += [sys.getrefcount(grad), x._use_count(), grad._use_count()]
    x.grad = None
    del y
    return [*found, sys.getrefcount(grad), sys.getrefcount(fn), sys.getrefcount(x)]


def what_the_collector_sees(fw: Any) -> list[list[str]]:
    """The types of referents of tensors and contexts, alone and in a graph."""

    def seen(obj: object) -> list[str]:
        return sorted(type(referent).__name__ for referent in gc.get_referents(obj))

    x = leaf(fw)
    y = function(fw, save_input).apply(x)
    found = [seen(x), seen(y), seen(y.grad_fn)]
    y.grad_fn.note, x.note = 1, 1
    y.register_hook(print)
    y.grad_fn.register_hook(print)
    found += [seen(x), seen(y), seen(y.grad_fn)]
    z = y * 2
    found += [seen(y), seen(z)]
    fn = y.grad_fn
    del y, z
    return [*found, seen(fn), seen(function(fw)._backward_cls())]


def second_derivatives(fw: Any) -> list[list[float]]:
    """Issue 18619: a Function that is differentiated by way of its saved output, twice."""

    class Exp(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0]

    x = fw.tensor([0.0, 1.0], requires_grad=True)
    y = Exp.apply(x)
    found = []
    for _ in range(3):
        (first,) = fw.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = fw.autograd.grad(first.sum(), x, retain_graph=True)
        found.append([round(value, 5) for value in second.tolist()])
    return found


def thread_of_death(fw: Any) -> list[bool]:
    """Return whether a context's attribute dies in the thread that drops the graph."""
    deaths: list[int] = []

    class Dies:
        def __del__(self) -> None:
            deaths.append(threading.get_ident())

    graphs = [function(fw, lambda ctx, x, y: setattr(ctx, "it", Dies())).apply(leaf(fw))]
    thread = threading.Thread(target=graphs.clear)
    thread.start()
    thread.join()
    return [ident == thread.ident for ident in deaths]


def wrapper_identities(fw: Any) -> list[Any]:
    """Ids, attributes, types and weak references of gradients, storages, nodes and accumulators."""

    class Sub(fw.Tensor):  # type: ignore[misc]
        __slots__ = ("slot",)

    x = leaf(fw)
    g = fw.ones(2).as_subclass(Sub)
    g.slot, g.note = 7, 8
    x.grad = g
    ref = weakref.ref(g)
    del g
    others = [fw.ones(1) for _ in range(8)]
    found = [len({id(x.grad) for _ in others}), type(x.grad).__name__, x.grad.slot, x.grad.note, ref() is x.grad]
    x.untyped_storage().note = 1
    found += [x.untyped_storage().note, x.view(-1).untyped_storage() is x.untyped_storage()]
    y = x.exp()
    found += [len({id(y.grad_fn) for _ in others}), answer(lambda: setattr(y.grad_fn, "note", 1))]
    found += [answer(lambda: weakref.ref(y.grad_fn)), y.grad_fn.next_functions[0][0].variable is x]
    x.grad = None
    return [*found, ref() is None, y._base, x.view(-1)._base is x]


def needs_of_applied(cls: Any, given: Any, named: Any) -> Any:
    return cls.apply(*given, **named).grad_fn.needs_input_grad


def arguments_by_name(fw: Any) -> list[Any]:
    """Named arguments come in the order of forward's parameters; defaults only with a setup_context."""

    def combined(ctx: Any, a: Any, b: Any = None, c: Any = 5) -> Any:
        return a * 2

    def alone(a: Any, b: Any = None, c: Any = 5) -> Any:
        return a * 2

    def only_by_name(ctx: Any, a: Any, *, k: int = 3) -> Any:
        return a * 2

    x, found = leaf(fw), []
    body = {
        "backward": staticmethod(lambda ctx, grad: grad),
        "setup_context": staticmethod(lambda ctx, inputs, output: None),
    }
    for forward in (combined, alone, only_by_name):
        methods = {**body, "forward": staticmethod(forward)}
        if forward is not alone:
            del methods["setup_context"]
        cls: Any = type("F", (fw.autograd.Function,), methods)
        calls = [
            ((x,), {"b": x}),
            ((x,), {"c": x}),
            ((x,), {"a": x}),
            ((x,), {"z": 1}),
            ((x,), {"k": 4}),
            ((), {"a": x}),
        ]
        for given, named in calls:
            found.append(answer(functools.partial(needs_of_applied, cls, given, named)))
    return found


def saved_tensors_by_hand(fw: Any) -> list[Any]:
    """A saved output cannot be unpacked without its node; handles can be weakly referenced."""
    x = leaf(fw)
    y, z = x.exp(), x * x
    saved = [y.grad_fn._raw_saved_result, z.grad_fn._raw_saved_self]
    ref = weakref.ref(saved[0])
    found = [answer(saved[0].unpack), saved[1].unpack() is x, ref() is saved[0]]
    saved.clear()
    return [*found, ref() is None]


def handles_pickled(fw: Any) -> list[Any]:
    x = leaf(fw)
    handles = [x.register_hook(print), fw.autograd.graph.register_multi_grad_hook([x], print)]
    handles[1].remove()
    one, several = (pickle.loads(pickle.dumps(handle)) for handle in handles)
    several.remove()
    one.remove()
    found = [one.id == handles[0].id, one.hooks_dict_ref(), len(several.handles), len(x._backward_hooks)]
    return [*found, x.register_hook(print).id > several.handles[0].id]


def saved_for_forward_mode(fw: Any) -> list[Any]:
    found: list[Any] = []

    def keep(ctx: Any, x: Any, y: Any) -> None:
        ctx.save_for_forward(x)
        ctx.save_for_backward(y)
        found.append([len(ctx.saved_tensors), ctx.saved_tensors[0] is x])
        found.append(answer(lambda: ctx.save_for_forward(3)))

    node = function(fw, keep).apply(leaf(fw)).grad_fn
    return [*found, node.saved_for_forward, len(node.saved_tensors)]


def classes_of_data(fw: Any) -> list[Any]:
    """torch.tensor asks no class; a sequence among a function's tensors is no operand."""
    sub = type("Sub", (fw.Tensor,), {})
    x = fw.tensor([1.0, 2.0]).as_subclass(sub)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copied = type(fw.tensor(x)).__name__
    return [copied, answer(lambda: fw.cat([x, [x]])), answer(lambda: fw.cat([x, (x, x)]))]


PROGRAMS = [
    saved_for_forward_mode,
    classes_of_data,
    arguments_by_name,
    saved_tensors_by_hand,
    handles_pickled,
    touches_of_a_held_grad_fn,
    context_never_applied,
    fates_of_contexts,
    fates_of_hooks,
    reference_counts,
    what_the_collector_sees,
    second_derivatives,
    thread_of_death,
    wrapper_identities,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_engine_answers_as_torch_does(program: Callable[[Any], Any]) -> None:
    import torch

    assert program(engine) == program(torch)
