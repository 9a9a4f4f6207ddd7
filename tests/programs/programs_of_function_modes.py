"""Small programs under function modes: the calls that modes see, their order, their results, and who dies when."""

from __future__ import annotations

import importlib
import weakref
from typing import Any

from programs_tools import attempt, programs_in, values, vector


def mode_class(framework: Any) -> Any:
    return importlib.import_module(f"{framework.__name__}.overrides").TorchFunctionMode


def recording(framework: Any, records: list[Any]) -> Any:
    own = framework.Tensor, framework.nn.Parameter  # torch names these for some functions only

    class Recording(mode_class(framework)):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            records.append((func.__name__, [each.__name__ for each in types if each not in own], len(args)))
            return func(*args, **(kwargs or {}))

    return Recording()


def functions_that_a_mode_sees(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    with recording(fw, seen):
        y = (x * 2 + 2 * x - x).exp()
        y = 2 ** y.sin() @ x.view(-1) + x[0] + fw.exp(x).sum(0)
        (-y).sum().backward()
        x.detach().add_(1)
        seen.append((tuple(x.shape), x.requires_grad, len(x)))
        x.grad = None
    x.cos()
    return seen


def factories_that_a_mode_sees(fw: Any) -> Any:
    seen: list[Any] = []
    with recording(fw, seen):
        ones, zeros = fw.ones(2), fw.zeros(2, 1)
        fw.zeros_like(ones), fw.stack([ones, ones]), fw.arange(3), fw.full((2,), 1.0)
        fw.rand(1), fw.randn(1), fw.empty(1)
    return seen, values(ones), zeros.tolist()


def function_modes_in_others(fw: Any) -> Any:
    outer: list[Any] = []
    inner: list[Any] = []
    x = vector(fw, 1.0)
    with recording(fw, outer):
        with recording(fw, inner):
            x.sin()
        x.cos()
    return outer, inner


def one_function_mode_twice(fw: Any) -> Any:
    seen: list[Any] = []
    mode = recording(fw, seen)
    with mode, mode:
        vector(fw, 1.0).sin()
    return [entry for entry in seen if entry[0] == "sin"]


def function_modes_beside_classes(fw: Any) -> Any:
    seen: list[Any] = []

    class Named(fw.Tensor):  # type: ignore[misc]
        pass

    class Asked(fw.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(("class", func.__name__, [each.__name__ for each in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    named, asked, leaf = (fw.ones(2).as_subclass(cls) for cls in (Named, Asked, fw.nn.Parameter))
    with recording(fw, seen):
        results = [named * 2, asked.exp(), fw.add(leaf, asked), leaf.neg()]
        seen.append("attributes")
        asked.grad, leaf.grad  # noqa: B018
    return seen, [type(each).__name__ for each in results]


def another_result_of_a_function(fw: Any) -> Any:
    class Answering(mode_class(fw)):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "answer" if func is fw.Tensor.sin else func(*args, **(kwargs or {}))

    x = vector(fw, 0.0)
    with Answering():
        return x.sin(), values(x.cos().detach())


def errors_of_a_function_mode(fw: Any) -> Any:
    class Failing(mode_class(fw)):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError(f"no {func.__name__}")

    x = vector(fw, 1.0)

    def run() -> Any:
        with Failing():
            return x * 2

    return attempt(run), values((x * 2).detach())


def function_modes_without_an_answer(fw: Any) -> Any:
    class Silent(mode_class(fw)):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

        def __repr__(self) -> str:
            return "<silent>"

    x = vector(fw, 1.0)

    def run(action: Any) -> Any:
        def silently() -> Any:
            with Silent():
                return action()

        return attempt(silently)

    return run(lambda: fw.ones(2)), run(lambda: fw.sum(x)), run(x.sum)


def the_bare_function_mode(fw: Any) -> Any:
    def run() -> Any:
        with mode_class(fw)():
            return fw.ones(2)

    return attempt(run)


def backward_inside_a_function_mode(fw: Any) -> Any:
    seen: list[Any] = []
    x = vector(fw, 1.0, 2.0)
    with recording(fw, seen):
        y = x * x
        y.register_hook(lambda grad: grad.mul(2))
        y.sum().backward()
    return seen, values(x.grad)


def custom_functions_inside_a_function_mode(fw: Any) -> Any:
    seen: list[Any] = []

    class Double(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.mul(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.mul(2)

    x = vector(fw, 1.0)
    with recording(fw, seen):
        y = Double.apply(x)
    y.sum().backward()
    return seen, values(x.grad)


def what_a_function_mode_keeps(fw: Any) -> Any:
    class Keeping(mode_class(fw)):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.kept: list[Any] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            self.kept.append(result)
            return result

    mode = Keeping()
    x = vector(fw, 1.0)
    with mode:
        y = x * 2
    dies = weakref.ref(y), weakref.ref(mode)
    del y
    kept = dies[0]() is not None
    del mode
    return kept, [each() is None for each in dies]


PROGRAMS = programs_in(globals())
