"""``torch.ops``: the operations below autograd, as values.

``torch.ops.aten.sin`` is a packet, ``torch.ops.aten.sin.default`` one of its overloads, as passed to dispatch modes. An
overload can be called like the function or method of its name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradlife import _engine

#: Overloads of operations that have others than ``default``.
_OVERLOADS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge"), ("Tensor", "Scalar")),
    **dict.fromkeys(("add_", "sub_", "mul_", "div_"), ("Tensor", "Scalar")),
    "rsub": ("Tensor", "Scalar"),
    "pow": ("Tensor_Tensor", "Scalar", "Tensor_Scalar"),
    "sum": ("default", "dim_IntList"),
    "mean": ("default", "dim"),
    "var_mean": ("default", "dim", "correction"),
    "select": ("int",),
    "slice": ("Tensor",),
    "transpose": ("int",),
    "squeeze": ("default", "dim", "dims"),
    "empty": ("memory_format",),
    "fill_": ("Scalar", "Tensor"),
}


def _slice(tensor: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    places = [slice(None)] * (dim % tensor.dim())
    return tensor[(*places, slice(start, end, step))]


def _alias(tensor: Any) -> Any:
    return tensor.view_as(tensor)


#: Operations whose function or method has another name.
_OTHERWISE: dict[str, Callable[..., Any]] = {"slice": _slice, "alias": _alias}


class OpOverloadPacket:
    """All overloads of one operation."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._forms = _OVERLOADS.get(name, ("default",))

    def __getattr__(self, name: str) -> OpOverload:
        if name not in self._forms:
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'")
        made = OpOverload(self, name)
        self.__dict__[name] = made
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call(self.__name__, args, kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._forms)


class OpOverload:
    """One overload of an operation: always the same object, comparable, hashable and callable."""

    namespace = "aten"

    def __init__(self, packet: OpOverloadPacket, form: str) -> None:
        self.overloadpacket = packet
        self.__name__ = f"{packet.__name__}.{form}"
        self._overloadname = form

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _call(self.overloadpacket.__name__, args, kwargs)

    def name(self) -> str:
        """Its name in C++."""
        full = f"aten::{self.overloadpacket.__name__}"
        return full if self._overloadname == "default" else f"{full}.{self._overloadname}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kwargs.pop("pin_memory", None)
    return _implementation(name)(*args, **kwargs)


@functools.cache
def _implementation(name: str) -> Callable[..., Any]:
    """Return the function or method behind an operation. Raises AttributeError if there is none."""
    found = _OTHERWISE.get(name) or getattr(_engine, name, None) or getattr(_engine.TensorBase, name, None)
    if found is None or name.startswith("__"):
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
    return found


class _Namespace:
    """``torch.ops.aten``: its attributes are packets."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        _implementation(name)
        made = OpOverloadPacket(name)
        self.__dict__[name] = made
        return made


aten = _Namespace("aten")


def operation(name: str) -> OpOverload:
    """Return the overload with this name: ``sin.default``."""
    packet, _, form = name.partition(".")
    return getattr(getattr(aten, packet), form)  # type: ignore[no-any-return]
