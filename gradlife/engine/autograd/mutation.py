"""Saved tensors that may be changed in place: each is cloned just before its change."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from gradlife import _engine
from gradlife.engine.autograd.saved_hooks import saved_tensors_hooks
from gradlife.engine.grad_mode import no_grad
from gradlife.engine.tensors import Tensor

_MemoryId = tuple[int, int]  # first element and version
_TensorId = tuple[int, int, int]  # and its object


class _Handle:
    """A stand-in for the tensor in a saved slot: while it lives, the tensor is saved."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """The tensors saved while the context is active, and clones of those changed since."""

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[_TensorId, _Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[_MemoryId, set[_TensorId]] = defaultdict(set)

    def clear(self) -> None:
        """Forget everything: graphs recorded inside can no longer run."""
        for table in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            table.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        """Keep the tensor under a handle that all its slots share."""
        memory, identity = _memory_id(tensor), _tensor_id(tensor)
        self.sid_to_tid[memory].add(identity)
        handle = self.tid_to_weakhandle.get(identity)
        if handle is None:
            handle = _Handle()
            self.tid_to_weakhandle[identity] = handle
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """Return the tensor as it was saved."""
        is_known = bool(_active) and (handle in self.original or handle in self.cloned)
        assert is_known, (
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
            "in which the graph was originally recorded."
        )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_change(self, tensor: Tensor) -> None:
        """Clone saved tensors on the memory that is about to change."""
        for identity in self.sid_to_tid.get(_memory_id(tensor), ()):
            handle = self.tid_to_weakhandle.get(identity)
            if handle is None or handle in self.cloned:
                continue
            with no_grad():
                self.cloned[handle] = self.original[handle].clone()
            del self.original[handle]


def _memory_id(tensor: Tensor) -> _MemoryId:
    return tensor.data_ptr(), tensor._version


def _tensor_id(tensor: Tensor) -> _TensorId:
    return id(tensor), *_memory_id(tensor)


# The active context of this process, if any.
_active: list[_AllowMutationOnSavedContext] = []


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Allow in-place changes of saved tensors inside: backward sees them as they were.

    Forward and backward both belong inside; at the end everything kept is released. Cannot be nested: an attempt also ends
    the outer block's, as in PyTorch.
    """
    context: Any = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(context.pack, context.unpack):
        try:
            if _active:
                raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
            _active.append(context)
            _engine._set_change_listener(context.before_change)
            yield context
        finally:
            _engine._set_change_listener(None)
            _active.clear()
            context.clear()
