"""A mode of torch that watches functions while a few steps run, and stays out of the way of the program's own modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from gradlife.safe_access import LibraryObject, is_a, values_in


def watching_mode(torch: ModuleType, saw: Callable[[Any, Sequence[Any], Any], None]) -> Any:
    """Create a mode that reports every function, with the tensors that it gets, and its result."""

    def function(
        mode: Any, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        saw(func, [one for one in leaves((args, kwargs)) if is_a(one, torch._C.TensorBase)], result)
        return result

    kind = type("Watching", (torch.overrides.TorchFunctionMode,), {"__torch_function__": function})
    return kind()


def put_below(torch: ModuleType, mode: LibraryObject) -> None:
    """Put a mode below those that the program has entered: it leaves them by taking what is on top.

    That of `torch.set_default_device` insists on the lowest place (torch 2.7; in 2.4 it is one like the others).
    """
    overrides, default = torch.overrides, getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None)
    above = [overrides._pop_mode() for _ in overrides._get_current_function_mode_stack()]
    if above and above[-1] is getattr(default, "device_context", None) and is_put_lowest(above[-1]):
        overrides._push_mode(above.pop())
    for one in (mode, *reversed(above)):
        overrides._push_mode(one)


def is_put_lowest(mode: LibraryObject) -> bool:
    """Whether a mode is below all others: to leave, it has to take them off."""
    return "_pop_mode" in type(mode).__exit__.__code__.co_names


def take_off(overrides: ModuleType, mode: LibraryObject) -> None:
    """Take a mode off, wherever it is. While it handles a function, torch has it off and puts it back: that is left out then.

    A backward pass is such a function.
    """
    if any(one is mode for one in overrides._get_current_function_mode_stack()):
        above = []
        while (top := overrides._pop_mode()) is not mode:
            above.append(top)
        for one in reversed(above):
            overrides._push_mode(one)
        return

    plain = overrides._push_mode

    def push(one: Any) -> None:
        if one is not mode:
            plain(one)
        elif overrides._push_mode is push:
            vars(overrides)["_push_mode"] = plain

    vars(overrides)["_push_mode"] = push


def leaves(value: Any, depth: int = 4) -> Iterator[Any]:
    """Yield the values inside nested arguments."""
    if depth and is_a(value, (tuple, list, dict)):
        for item in values_in(value):
            yield from leaves(item, depth - 1)
    else:
        yield value
