"""Hooks on saved tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from gradlife import _engine
from gradlife.engine.tensors import Tensor


class saved_tensors_hooks:
    """Pack every tensor that is saved inside the block, and unpack it when needed.

    Each saved slot owns a reference to both callables and to what ``pack_hook`` returned, until its node frees them.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _engine._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_: object) -> None:
        _engine._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in CPU memory. Here all tensors are there, so packing returns the tensor itself, or a copy to be
    pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Tensor) -> tuple[Any, Tensor]:
            return (tensor.device, tensor.detach().clone() if pin_memory else tensor.cpu())

        def unpack_from_cpu(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Raise ``error_message`` if hooks are set inside the block."""
    previous = _engine._saved_tensors_hooks_get_disabled_error_message()
    try:
        _engine._saved_tensors_hooks_disable(error_message)
        yield
    finally:
        if previous is None:
            _engine._saved_tensors_hooks_enable()
        else:
            _engine._saved_tensors_hooks_disable(previous)
