"""The memory that devices have left, as PyTorch's modules of devices tell it. Nothing is initialized or allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradlife.safe_access import LibraryObject, loaded

#: Kinds of devices whose allocator torch describes. A registered private backend is added by its name.
KINDS = ("cuda", "xpu")

#: Free bytes by device (``cuda:0``).
FreeBytes = Mapping[str, int]

#: The answer without devices; one object, for each snapshot keeps its answer.
NO_DEVICES: FreeBytes = {}


def modules_in_use() -> list[tuple[str, LibraryObject]]:
    """Return the kinds of devices that this process uses, each with torch's module of it."""
    torch = loaded("torch")
    backend = getattr(getattr(torch, "_C", None), "_get_privateuse1_backend_name", None)
    if backend is None:
        return []
    kinds = dict.fromkeys((*KINDS, backend()))
    modules: list[tuple[str, LibraryObject]] = [(kind, getattr(torch, kind, None)) for kind in kinds]
    return [(kind, module) for kind, module in modules if answer(getattr(module, "is_initialized", None), False)]


def answer(function: Callable[..., Any] | None, otherwise: Any, *arguments: Any) -> Any:
    """Return what torch's function says; ``otherwise`` if this release or backend does not have it."""
    try:
        return function(*arguments) if function is not None else otherwise
    except (RuntimeError, AttributeError, NotImplementedError):
        return otherwise


def free_bytes() -> FreeBytes:
    """Return what tensors can still have on each device in use: free, or cached by the allocator. Cost: some 0.1 ms.

    In a forked copy of a process that uses CUDA the answer is empty.
    """
    found = {}
    for kind, module in modules_in_use():
        for number in range(answer(getattr(module, "device_count", None), 0)):
            left = free_on(module, number)
            if left is not None:
                found[f"{kind}:{number}"] = left
    return found or NO_DEVICES


def free_on(module: LibraryObject, number: int) -> int | None:
    """Return the free bytes of one device; None if the process has nothing there or they are not known."""
    reserved = answer(getattr(module, "memory_reserved", None), 0, number)
    info = answer(getattr(module, "mem_get_info", None), None, number) if reserved else None  # the question initializes
    if info is None:
        return None
    free, total = map(int, info)
    allocated = answer(getattr(module, "memory_allocated", None), reserved, number)
    share = answer(getattr(module, "get_per_process_memory_fraction", None), 1.0, number)
    left: int = min(free + reserved, int(share * total)) - allocated
    return max(0, left)
