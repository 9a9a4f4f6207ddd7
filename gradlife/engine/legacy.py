"""Constructors from before there were dtypes: ``torch.FloatTensor(2, 3)``, ``tensor.new(...)``, and types by their names."""

from __future__ import annotations

from typing import Any, NoReturn

from gradlife import _engine
from gradlife._engine import TensorBase, UntypedStorage, dtype
from gradlife.engine.attributes import Size
from gradlife.engine.storage import TypedStorage

__all__ = ["BoolTensor", "DoubleTensor", "FloatTensor", "IntTensor", "LongTensor", "as_dtype", "made"]


def made(kind: dtype, *given: Any, size: Any = None, device: Any = None) -> Any:
    """A tensor of this dtype: of given sizes, with given values, on the memory of a tensor or a storage, or empty."""
    if size is not None:
        return _engine.empty(tuple(size), dtype=kind, device=device)
    if not given:
        return _engine.empty((0,), dtype=kind, device=device)
    data = given[0]
    if isinstance(data, TensorBase):
        return _same_memory(kind, data)
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return made(kind).set_(*given)
    if isinstance(data, (int, Size)):
        return _engine.empty(data if isinstance(data, tuple) else given, dtype=kind, device=device)
    return _with_values(kind, data)


def _same_memory(kind: dtype, tensor: Any) -> Any:
    if tensor.dtype is not kind:
        raise TypeError(f"expected a tensor of {kind} (got one of {tensor.dtype})")
    return tensor.view_as(tensor) if tensor.requires_grad else tensor.detach()


def _with_values(kind: dtype, data: Any) -> Any:
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return _engine.tensor(data, dtype=kind)


class _TensorType(type):
    """A name of a dtype: its instances are the tensors that have it."""

    dtype: dtype
    is_cuda = False

    def __new__(mcs, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> Any:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, names)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase) and instance.dtype is cls.dtype

    def __call__(cls, *given: Any, **options: Any) -> Any:
        return made(cls.dtype, *given, **options)


def _named(name: str, kind: dtype) -> Any:
    return _TensorType(name, (), {"dtype": kind, "__module__": "torch"})


FloatTensor = _named("FloatTensor", _engine.float32)
DoubleTensor = _named("DoubleTensor", _engine.float64)
LongTensor = _named("LongTensor", _engine.int64)
IntTensor = _named("IntTensor", _engine.int32)
BoolTensor = _named("BoolTensor", _engine.bool)

_BY_NAME: dict[str, dtype] = {
    f"torch.{kind.__name__}": kind.dtype for kind in (FloatTensor, DoubleTensor, LongTensor, IntTensor, BoolTensor)
}


def as_dtype(kind: Any) -> dtype:
    """The dtype that ``Tensor.type`` is asked for: itself, the name of a tensor type, or such a type."""
    if isinstance(kind, dtype):
        return kind
    if isinstance(kind, str):
        return _BY_NAME.get(kind) or _refuse(kind)
    if isinstance(kind, _TensorType):
        return kind.dtype
    if isinstance(kind, type) and issubclass(kind, TensorBase):
        return _engine.float32
    raise TypeError("dtype must be a type, str, or dtype object")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"invalid type: '{name}'")
