"""OneFlow's checkpoints from 0.9 on: a saved slot keeps a number; the first one requested recomputes all tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gradlife.engine.autograd.graph import saved_tensors_hooks
from gradlife.engine.grad_mode import enable_grad
from gradlife.engine.tensors import Tensor


class _Again:
    """One call of a checkpoint, owned by its slots' hooks: the function, the inputs and the recomputed tensors."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.count = 0
        self.tensors: list[Tensor] = []

    def pack(self, tensor: Tensor) -> int:
        """Return the number of a saved tensor."""
        self.count += 1
        return self.count - 1

    def unpack(self, number: int) -> Tensor:
        """Return the tensor of a number."""
        if not self.tensors:
            with enable_grad(), saved_tensors_hooks(self.tensors.append, _refuse):
                self.function(*self.args)
        return self.tensors[number]


def _refuse(packed: Any) -> NoReturn:
    raise RuntimeError("You are calling backwards on a tensor that is never exposed. Please open an issue.")


def checkpoint_by_number(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call ``function(*args)`` without keeping its saved tensors."""
    again = _Again(function, args)
    with saved_tensors_hooks(again.pack, again.unpack):
        return function(*args)
