"""Hooks around the steps of one optimizer or all optimizers."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradlife.engine.hooks import RemovableHandle, add_hook

Hooks = OrderedDict[int, Callable[..., Any]]

_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before each step of any optimizer."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after each step of any optimizer."""
    return add_hook(_global_optimizer_post_hooks, hook)


def patch_step(cls: type) -> None:
    """Make this class's ``step`` run the hooks, when its first optimizer is made."""
    step = cls.step  # type: ignore[attr-defined]  # every optimizer has one
    if not getattr(step, "hooked", None):
        cls.step = _with_hooks(step)  # type: ignore[attr-defined]


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        optimizer = args[0]
        for hook in [*_global_optimizer_pre_hooks.values(), *optimizer._optimizer_step_pre_hooks.values()]:
            result = hook(optimizer, args, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            args, kwargs = result
        outcome = step(*args, **kwargs)
        for hook in [*optimizer._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
            hook(optimizer, args, kwargs)
        return outcome

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper
