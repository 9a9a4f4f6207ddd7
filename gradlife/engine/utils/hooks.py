"""Hooks that can be removed, and those around the backward of a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gradlife.engine.hooks import RemovableHandle
from gradlife.engine.nn.modules.backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a hook that is left out, without a warning, when its tensor is pickled."""
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]  # the name that tools look for
    return hook


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of each hook of ``tensor`` that pickling will leave out."""
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
