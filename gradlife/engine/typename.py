"""Names of types in PyTorch's spelling."""

from __future__ import annotations

from typing import Any

from gradlife.engine.tensors import Tensor


def typename(obj: Any) -> str:
    """Return the full name of a class or function, or of an object's class; for a tensor, the name with its dtype."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = getattr(obj, "__module__", None)
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__
    if module in ("builtins", "__builtin__", None):
        return str(name)
    return f"{module.replace('gradlife.engine', 'torch')}.{name}"
