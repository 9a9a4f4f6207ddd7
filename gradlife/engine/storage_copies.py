"""Copies and sizes of storages, for ``copy``, ``sys.getsizeof`` and tensors' deep copies.

Within one ``memo`` a storage is copied once, reached directly or through a tensor.
"""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.storage import TypedStorage, UntypedStorage, typed


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


def _typed_clone(self: TypedStorage) -> TypedStorage:
    """Make a storage with a copy of the elements."""
    return typed(_clone(self.untyped()), self.dtype)


def _typed_deepcopy(self: TypedStorage, memo: dict[Any, Any]) -> TypedStorage:
    return typed(_deepcopy(self.untyped(), memo), self.dtype)


def _typed_sizeof(self: TypedStorage) -> int:
    return object.__sizeof__(self) + self.nbytes()


def _element_size(self: UntypedStorage) -> int:
    """Return the size of a byte: 1."""
    return 1


_METHODS: dict[type, dict[str, Any]] = {
    UntypedStorage: {
        "clone": _clone,
        "__copy__": _clone,
        "__deepcopy__": _deepcopy,
        "__sizeof__": _sizeof,
        "tolist": _tolist,
        "element_size": _element_size,
    },
    TypedStorage: {
        "clone": _typed_clone,
        "__copy__": _typed_clone,
        "__deepcopy__": _typed_deepcopy,
        "__sizeof__": _typed_sizeof,
    },
}


def give_copies() -> None:
    """Add these methods to the storage classes."""
    for cls, methods in _METHODS.items():
        for name, method in methods.items():
            setattr(cls, name, method)
