"""Classes with a ``__torch_function__`` of their own, against PyTorch: who is asked, of what, and what comes of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Call = Callable[[Any], Any]


def wrapping(fw: Any) -> Any:
    """A class whose tensors only carry another one."""

    class Wrapping(fw.Tensor):  # type: ignore[misc]
        def __init__(self, data: Any) -> None:
            super().__init__()
            self._data = data

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            plain = tuple(each._data if isinstance(each, cls) else each for each in args)
            result = func(*plain, **(kwargs or {}))
            return cls(result) if isinstance(result, fw.Tensor) else result

    return Wrapping


def logging(fw: Any, base: Any = None) -> Any:
    """A class that writes down what it is asked, and computes as its base does."""

    class Logging(base or fw.Tensor):  # type: ignore[misc]
        seen: list[Any] = []

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.seen.append((func.__name__, tuple(each.__name__ for each in types), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


def made(fw: Any, cls: Any) -> Any:
    return fw.tensor([1.0, 2.0]).as_subclass(cls)


def of_functions(fw: Any) -> Any:
    cls = logging(fw)
    x, plain = made(fw, cls), fw.ones(2)
    results = [
        fw.sin(x),
        fw.add(plain, x),
        fw.add(plain, other=x, alpha=2),
        fw.cat([plain, x]),
        fw.where(fw.tensor([True, False]), plain, x),
        fw.sum(x, dim=0, keepdim=True),
    ]
    return [(type(each).__name__, each.tolist()) for each in results], cls.seen[: len(results)]


def of_methods(fw: Any) -> Any:
    cls = logging(fw)
    x, plain = made(fw, cls), fw.ones(2)
    results = [x.mul(3), x.add_(1), x.view(2, 1), x.detach(), x[0], x.clone()]
    names = [each[0] for each in cls.seen]
    results += [x + 1, 2 * x, plain - x, -x, x**2]
    return [(type(each).__name__, each.tolist()) for each in results], names


def of_attributes(fw: Any) -> Any:
    cls = logging(fw)
    x = made(fw, cls).view(1, 2).requires_grad_()
    seen = [tuple(x.shape), str(x.dtype), x.requires_grad, x.grad, x.is_leaf, type(x.T).__name__, type(x.data).__name__]
    x.requires_grad = False
    return seen, x.requires_grad, {"__get__", "__set__"} <= {each[0] for each in cls.seen}


def of_backward(fw: Any) -> Any:
    x = made(fw, logging(fw)).requires_grad_()
    y = (x * 3).sum()
    y.backward()
    return type(y).__name__, y.grad_fn.name(), type(x.grad).__name__, x.grad.tolist()


def of_a_function(fw: Any) -> Any:
    class Same(fw.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    cls = wrapping(fw)
    y = Same.apply(cls(fw.tensor([1.0, 2.0])))
    x = cls(fw.tensor([1.0, 2.0])).requires_grad_()
    return isinstance(y, cls), y._data.tolist(), type(Same.apply(x)).__name__


def of_two_classes(fw: Any) -> Any:
    upper = logging(fw)
    lower = logging(fw, upper)
    lower.seen = []
    lower.__name__ = "Lower"
    result = fw.add(made(fw, upper), made(fw, lower))
    return type(result).__name__, lower.seen, upper.seen[:1]


def refusing(fw: Any) -> Any:
    class Refusing(fw.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    return fw.sin(made(fw, Refusing))


def raising(fw: Any) -> Any:
    class Raising(fw.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyError("no")

    with pytest.raises(KeyError):
        fw.sin(made(fw, Raising))
    with pytest.raises(KeyError):
        made(fw, Raising).sin()
    return "both"


def switched_off(fw: Any) -> Any:
    class Silent(logging(fw)):  # type: ignore[misc]
        __torch_function__ = fw._C._disabled_torch_function_impl

    cls = logging(fw)
    with fw._C.DisableTorchFunctionSubclass():
        results = [type(fw.sin(made(fw, cls))).__name__, type(made(fw, cls).sin()).__name__]
    quiet = list(cls.seen)
    results += [type(fw.sin(made(fw, Silent))).__name__, type(made(fw, Silent) * 2).__name__]
    return results, quiet, Silent.seen


def own_methods(fw: Any) -> Any:
    class Own(logging(fw)):  # type: ignore[misc]
        def sin(self) -> str:
            return "own"

    return made(fw, Own).sin(), type(made(fw, Own).cos()).__name__, [each[0] for each in Own.seen]


def parameters(fw: Any) -> Any:
    p = fw.nn.Parameter(fw.ones(2))
    return type(p * 2).__name__, type(p.detach()).__name__, type(fw.sin(p)).__name__


CALLS: dict[str, Call] = {
    "methods": of_methods,
    "attributes": of_attributes,
    "backward": of_backward,
    "a custom Function": of_a_function,
    "two classes": of_two_classes,
    "an error": raising,
    "switched off": switched_off,
    "methods of its own": own_methods,
    "parameters": parameters,
    "a wrapped one": lambda fw: [
        x := wrapping(fw)(fw.ones(2)),
        type(x * 2).__name__,
        (fw.sin(x) + x)._data.sum().item(),
    ][1:],
    "asking": lambda fw: [
        fw.overrides.has_torch_function((each,))
        for each in (fw.ones(1), made(fw, logging(fw)), fw.nn.Parameter(fw.ones(1)), 1)
    ],
    "likeness": lambda fw: [fw.overrides.is_tensor_like(each) for each in (fw.ones(1), made(fw, wrapping(fw)), 1)],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_class_is_asked_as_pytorch_asks_it(name: str) -> None:
    assert CALLS[name](mini) == CALLS[name](real)


def test_releases_before_1_7_ask_nobody() -> None:
    cls = logging(mini)
    with mini.profile("torch-1.2"):
        x = mini.ones(2)
        wrapped = cls([1.0, 2.0])
        assert [mini.sin(wrapped).tolist(), (wrapped * x).tolist()] == [
            mini.tensor([1.0, 2.0]).sin().tolist(),
            [1.0, 2.0],
        ]
    assert cls.seen == []


def test_classes_that_all_decline_are_a_type_error() -> None:
    for fw in (mini, real):
        with pytest.raises(TypeError, match="__torch_function__"):
            refusing(fw)


def test_a_class_and_its_tensors_die_when_nobody_has_them() -> None:
    for fw in (mini, real):
        cls = logging(fw)
        x = made(fw, cls)
        y = fw.sin(x) + x
        dead = [weakref.ref(each) for each in (x, y, cls)]
        del x, y
        assert [each() is None for each in dead[:2]] == [True, True]
        del cls
        gc.collect()
        assert dead[2]() is None
