"""Storages: the bytes that tensors share, and the typed view that PyTorch keeps for old programs.

Within one ``memo`` of a deep copy a storage is copied once, reached directly or through a tensor.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from gradlife import _engine
from gradlife._engine import UntypedStorage, dtype
from gradlife.engine.grad_mode import no_grad

__all__ = ["TypedStorage", "UntypedStorage"]

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
    "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


class TypedStorage:
    """A storage as elements of one dtype: a new object each time. Only the untyped storage has an identity."""

    _type_name = "torch.storage.TypedStorage"

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: dtype, _internal: bool = False) -> None:
        if not _internal:
            warn_of_typed_storage()
        self.dtype = dtype
        self._untyped_storage = wrap_storage

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self._untyped_storage

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def data_ptr(self) -> int:
        """Return the address of the bytes."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """The size of one element in bytes."""
        return self.dtype.itemsize

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        values: list[Any] = self._untyped_storage._window(self.dtype).tolist()
        return values

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element, and so every tensor on this storage."""
        self._untyped_storage._window(self.dtype).fill_(value)
        return self

    def clone(self) -> TypedStorage:
        """Make a storage with a copy of the elements."""
        return typed(_clone(self._untyped_storage), self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return typed(_deepcopy(self._untyped_storage, memo), self.dtype)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __getitem__(self, index: int) -> Any:
        return self._untyped_storage._window(self.dtype)[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._untyped_storage._window(self.dtype)[index] = value

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{self._type_name}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self.tolist()]
        return "\n".join([*lines, f"[{self._type_name}(dtype={self.dtype}, device=cpu) of size {len(self)}]"])


# up to 1.10 there was a class for each dtype
_CLASSES: dict[dtype, type[TypedStorage]] = {
    kind: type(name, (TypedStorage,), {"_type_name": f"torch.{name}"})
    for kind, name in (
        (_engine.float32, "FloatStorage"),
        (_engine.float64, "DoubleStorage"),
        (_engine.int32, "IntStorage"),
        (_engine.int64, "LongStorage"),
        (_engine.bool, "BoolStorage"),
        (_engine.complex64, "ComplexFloatStorage"),
        (_engine.complex128, "ComplexDoubleStorage"),
    )
}


def typed(storage: UntypedStorage, dtype: dtype) -> TypedStorage:
    """Return a storage as elements of one dtype, in the release's class for it."""
    cls = _CLASSES[dtype] if _engine._current_release()[1] <= 110 else TypedStorage
    return cls(wrap_storage=storage, dtype=dtype, _internal=True)


def untyped_for(storage: TypedStorage, dtype: dtype) -> UntypedStorage:
    """Return the storage behind, for a tensor of ``dtype``. RuntimeError: it has another dtype."""
    if storage.dtype is not dtype:
        wanted, given = (_CLASSES[kind].__name__.removesuffix("Storage") for kind in (dtype, storage.dtype))
        raise RuntimeError(
            f"Expected a Storage of type {wanted.lower()} or an UntypedStorage, but got type {given} for argument 1 'storage'"
        )
    return storage.untyped()


def converted(values: Any, dtype: dtype) -> TypedStorage:
    """Make a storage of these numbers as elements of ``dtype``."""
    return typed(_engine.tensor(values, dtype=dtype).untyped_storage(), dtype)


def _clone(self: UntypedStorage) -> UntypedStorage:
    """Make a storage of the same class with a copy of the bytes."""
    if type(self) is not UntypedStorage:
        return type(self)(self)
    with no_grad():
        return self._window(_engine.bool).clone().untyped_storage()


def _deepcopy(self: UntypedStorage, memo: dict[Any, Any]) -> Any:
    copies = memo.setdefault("torch", {})
    if self._cdata not in copies:
        copies[self._cdata] = _clone(self)
    return copies[self._cdata]


def _sizeof(self: UntypedStorage) -> int:
    return object.__sizeof__(self) + self.nbytes()


def _tolist(self: UntypedStorage) -> list[int]:
    """The bytes as numbers."""
    return [self[i] for i in range(len(self))]


def _element_size(self: UntypedStorage) -> int:
    """Return the size of a byte: 1."""
    return 1


def _cast(dtype: dtype) -> Any:
    def cast(self: Any) -> TypedStorage:
        return converted(list(self), dtype)

    cast.__doc__ = f"A copy of the elements (of an untyped storage its bytes) as {dtype}."
    return cast


for _name, _method in {
    "clone": _clone,
    "__copy__": _clone,
    "__deepcopy__": _deepcopy,
    "__sizeof__": _sizeof,
    "tolist": _tolist,
    "element_size": _element_size,
}.items():
    setattr(UntypedStorage, _name, _method)
for _kind in (_engine.float32, _engine.float64, _engine.int32, _engine.int64, _engine.bool):
    _name = _CLASSES[_kind].__name__.removesuffix("Storage").lower()
    setattr(UntypedStorage, _name, _cast(_kind))
    setattr(TypedStorage, _name, _cast(_kind))

_has_warned = False


def warn_of_typed_storage() -> None:
    """Warn once per process that typed storages are deprecated."""
    global _has_warned
    if _engine._current_release()[1] < 200:
        return
    if not _has_warned:
        warnings.warn(_DEPRECATED, UserWarning, stacklevel=3)
    _has_warned = True
