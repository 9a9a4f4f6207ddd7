"""Weak references and dictionaries by identity: tensors compare by value, so they cannot be plain keys."""

from __future__ import annotations

import copy as copying
import weakref
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from gradlife.engine.releases import UTILS, WEAK, limit_module, refuse_absent_module

refuse_absent_module("utils.weak", UTILS["weak"])


class WeakIdRef(weakref.ref[Any]):
    """A weak reference hashed by its referent's address; two are equal while they refer to the same living object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]  # typeshed has it in __new__

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class _WeakHashRef(WeakIdRef):
    """A weak reference with its referent's hash and equality."""

    __slots__ = ()
    __hash__ = WeakIdRef.__hash__

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)
        self._id = hash(key)

    def __eq__(self, other: Any) -> bool:
        mine = self()
        theirs = other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else bool(mine == theirs)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary with weakly held keys, compared by identity: an entry disappears with its key.

    Iteration covers the entries present at the start and skips those that die meanwhile.
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        reference = weakref.ref(self)

        def remove(key: Any) -> None:
            alive = reference()
            if alive is not None:
                alive.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def _find(self, key: Any) -> Any:
        try:
            return self.ref_type(key)
        except TypeError:
            return None

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        found = self._find(key)
        return found is not None and found in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} at {id(self):#x}>"

    def keys(self) -> Any:
        """Return the living keys."""
        return iter(self)

    def items(self) -> Any:
        """The living keys with their values."""
        for reference, value in self.data.copy().items():
            key = reference()
            if key is not None:
                yield key, value

    def values(self) -> Any:
        """The values of living keys."""
        for _, value in self.items():
            yield value

    def keyrefs(self) -> list[Any]:
        """The weak references; some may be dead by the time they are used."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return an entry with a living key."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def update(self, dict: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        """Add the entries of a mapping or of an iterable of pairs."""
        entries: Iterable[tuple[Any, Any]] = ()
        if dict is not None:
            entries = dict.items() if hasattr(dict, "items") else dict
        for key, value in [*entries, *kwargs.items()]:
            self[key] = value

    def copy(self) -> WeakIdKeyDictionary:
        """Return a copy with the living keys."""
        other = _WeakIdKeyDictionary(ref_type=self.ref_type)
        other.update(self)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        other = self.__class__(ref_type=self.ref_type)
        for key, value in self.items():
            other[key] = copying.deepcopy(value, memo)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]  # as every mutable mapping

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.__class__(ref_type=self.ref_type)
        result.update(other)
        result.update(self)
        return result

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor or ``None``."""

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


WeakTensorRef = WeakIdRef
WeakTensorKeyDictionary = WeakIdKeyDictionary
_WeakIdKeyDictionary = WeakIdKeyDictionary  # for the methods above: this module's own dict does not have limited names


limit_module(__name__, WEAK)
