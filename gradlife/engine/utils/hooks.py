"""Removable hooks, and hooks around a module's backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gradlife.engine.hooks import RemovableHandle
from gradlife.engine.nn.modules.backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook that is dropped without a warning when its tensor is pickled."""
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]  # the name that tools look for
    return hook


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook of ``tensor`` that pickling drops."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
