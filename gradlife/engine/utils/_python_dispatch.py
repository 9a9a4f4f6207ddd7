"""``torch.utils._python_dispatch``: blocks in which Python handles each operation below autograd.

A mode receives the operation after its node was made and its inputs saved; its result becomes the operation's result
and gets the history. Inside a mode nothing is recorded, whatever the grad mode, and outer modes are called in turn.
Handled are arithmetic, element-wise functions, sums, means, products, views, copies, factories, and their in-place
forms; other operations are not seen.
"""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife.engine.attributes import device
from gradlife.engine.mode_blocks import Modes, StackedMode
from gradlife.engine.operations import operation
from gradlife.engine.tensors import Tensor

_modes = Modes(_engine._watch_operations)

_FACTORIES = ("rand.default", "randn.default", "ones.default", "zeros.default", "empty.memory_format")
_LIKES = ("ones_like.default", "zeros_like.default", "empty_like.default", "rand_like.default", "randn_like.default")

#: Arguments that are passed by name, with the name and the default that is omitted.
_NAMED: dict[str, dict[int, tuple[str, Any]]] = {
    **{name: {2: ("alpha", 1)} for name in ("add.Tensor", "sub.Tensor", "add_.Tensor", "sub_.Tensor")},
    "var_mean.correction": {2: ("correction", None), 3: ("keepdim", False)},
    **{name: {1: ("dtype", _engine.float32)} for name in _FACTORIES},
    **{name: {1: ("dtype", None)} for name in _LIKES},
}
#: Trailing arguments that are omitted.
_LAST: dict[str, tuple[Any, ...]] = {
    "sum.dim_IntList": (False,),
    "mean.dim": (False,),
    "rsub.Scalar": (1,),
    "slice.Tensor": (1,),
    "cat.default": (0,),
    "stack.default": (0,),
    "var_mean.correction": (None,),
}


def _shown(name: str, given: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return an operation's arguments as a mode receives them, positional and named, without defaults."""
    places = _NAMED.get(name, {})
    named = {places[i][0]: value for i, value in enumerate(given) if i in places and value != places[i][1]}
    args = tuple(value for i, value in enumerate(given) if i not in places)
    if name in _LAST and not isinstance(args[-1], Tensor) and args[-1] in _LAST[name]:
        args = args[:-1]
    if name in _FACTORIES:
        named["device"] = device("cpu")
    if name in _FACTORIES or name in _LIKES:
        named["pin_memory"] = False
    return args, named


def _answer(name: str, given: tuple[Any, ...]) -> Any:
    """Call the innermost mode."""
    types: tuple[type, ...] = ()
    if name == "detach.default" and len(given) > 1:  # the engine's own, for a saved tensor
        types, given = (Tensor,), given[:1]
    args, kwargs = _shown(name, given)
    del given
    with _modes.innermost() as mode:
        beneath = _engine._go_beneath(True)
        try:
            return mode.__torch_dispatch__(operation(name), types, args, kwargs)
        finally:
            _engine._go_beneath(beneath)


class TorchDispatchMode(StackedMode):
    """A block in which ``__torch_dispatch__(func, types, args, kwargs)`` computes the operations, often by ``func``."""

    _modes = _modes

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("gradlife's engine has no dispatch keys")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    return _modes.stack[-1] if _modes.stack else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    return list(_modes.stack)


_engine._register("torch_dispatch", _answer)
