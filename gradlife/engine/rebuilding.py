"""Take tensors apart and rebuild them: for copies, pickles and files.

A tensor is stored as its whole memory and a window on it, so that sharing is preserved: within one deep copy, or within
one file. A plain pickle repeats the memory for every tensor, as PyTorch's does.
"""

from __future__ import annotations

import copyreg
from array import array
from collections import OrderedDict
from typing import Any

from gradlife import _engine
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.release import release

_CODES = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "bool": "b", "complex64": "f", "complex128": "d"}


class Memory:
    """All elements of a tensor's memory, as a flat tensor."""

    __slots__ = ("key", "values")

    def __init__(self, values: Any, key: Any = None) -> None:
        self.values = values
        self.key = key

    @classmethod
    def of(cls, tensor: Any) -> Memory:
        """Return the memory under ``tensor``; its key is unique among living memories."""
        with no_grad():
            storage = tensor.untyped_storage()
            count = storage.nbytes() // tensor.element_size()
            return cls(tensor.detach().as_strided((count,), (1,), 0), storage._cdata)

    def copied(self) -> Memory:
        """Return new memory with the same elements."""
        with no_grad():
            return Memory(self.values.clone())

    def window(self, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Any:
        """Return a tensor on this memory that is no view and has its own version counter."""
        with no_grad():
            tensor = self.values.as_strided(tuple(size), tuple(stride), offset).data
        _engine._increment_version((tensor,))  # in PyTorch, being set on memory counts as a change
        return tensor

    def packed(self) -> tuple[str, bytes]:
        """Return the dtype's name and the elements as bytes."""
        name = str(self.values.dtype).removeprefix("torch.")
        values = _engine.view_as_real(self.values).reshape(-1) if self.values.is_complex() else self.values
        return name, array(_CODES[name], values.tolist()).tobytes()

    def __reduce__(self) -> Any:
        return unpacked, self.packed()


def unpacked(name: str, data: bytes) -> Memory:
    """Rebuild the memory that `Memory.packed` described. Raises ValueError for bytes that describe none."""
    if name not in _CODES:
        raise ValueError(f"no dtype '{name}' in gradlife's engine")
    elements = array(_CODES[name])
    elements.frombytes(data)
    values: list[Any] = elements.tolist()
    if name.startswith("complex"):
        values = [complex(*pair) for pair in zip(values[::2], values[1::2], strict=True)]
    return Memory(_engine.tensor(values, dtype=getattr(_engine, name)))


def rebuild_tensor(memory: Memory, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any) -> Any:
    """Make a leaf with this window on ``memory``."""
    tensor = memory.window(offset, size, stride)
    tensor.requires_grad = requires_grad
    tensor._backward_hooks = hooks
    return tensor


def rebuild_typed(cls: type, arguments: tuple[Any, ...], state: Any) -> Any:
    """Make a leaf of another class, with attributes."""
    tensor = rebuild_tensor(*arguments)
    if cls is not type(tensor):
        tensor = tensor.as_subclass(cls)
    return with_state(tensor, state)


def parts_of(tensor: Any) -> tuple[Any, ...]:
    """Return the arguments of `rebuild_tensor`. Hooks are dropped with a warning."""
    from gradlife.engine.utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(tensor)
    if tensor.is_conj():
        tensor = tensor.detach().resolve_conj().requires_grad_(tensor.requires_grad)
    window = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
    return Memory.of(tensor), *window, tensor.requires_grad, OrderedDict()


def state_of(obj: Any) -> Any:
    """Return an object's attributes, from its dict and slots, or from its own ``__getstate__``."""
    own = getattr(type(obj), "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    names = copyreg._slotnames(type(obj))  # type: ignore[attr-defined]  # what copy and pickle use
    slots = {name: getattr(obj, name) for name in names if hasattr(obj, name)}
    return (obj.__dict__, slots) if slots else obj.__dict__


def with_state(obj: Any, state: Any) -> Any:
    """Give ``obj`` the attributes that `state_of` returned, and return it."""
    obj.__setstate__(state)
    return obj


def set_attributes(obj: Any, state: Any) -> None:
    """Set attributes from a dict, or from a dict and a dict of slots."""
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    obj.__dict__.update(attributes or {})
    for name, value in slots.items():
        setattr(obj, name, value)


def deep_copy(tensor: Any, cls: type, memo: dict[Any, Any]) -> Any:
    """Return a leaf on a copy of the memory under ``tensor``; shared memory is copied once within one ``memo``."""
    if tensor.is_conj():
        tensor = tensor.detach().resolve_conj().requires_grad_(tensor.requires_grad)
    memory = Memory.of(tensor)
    copies = memo.setdefault("torch", {})
    if memory.key not in copies:
        copies[memory.key] = memory.copied().values.untyped_storage()
    copied = Memory(copies[memory.key]._window(tensor.dtype)).window(
        tensor.storage_offset(), tensor.size(), tensor.stride()
    )
    copied.requires_grad = tensor.requires_grad
    if cls is type(copied):
        return copied
    if release() >= (1, 13):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that "
            "implement new_empty() and for which that function returns another instance of the same subclass. You should "
            "either properly implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior "
            "for new_empty() to return an instance of a different type."
        )
    return copied.as_subclass(cls)
