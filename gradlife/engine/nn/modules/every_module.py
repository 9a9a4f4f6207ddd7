"""Hooks on every module of the process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradlife.engine.hooks import RemovableHandle, add_hook

Hooks = OrderedDict[int, Any]

forward_pre_hooks: Hooks = OrderedDict()
forward_hooks: Hooks = OrderedDict()
forward_hooks_with_kwargs: Hooks = OrderedDict()
forward_hooks_always_called: Hooks = OrderedDict()
backward_pre_hooks: Hooks = OrderedDict()
backward_hooks: Hooks = OrderedDict()
is_full_backward_hook: bool | None = None


def any_hooks() -> bool:
    """Return whether a hook is set on every module."""
    return bool(forward_pre_hooks or forward_hooks or backward_pre_hooks or backward_hooks)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before every module's forward."""
    return add_hook(forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after every module's forward."""
    flags = [forward_hooks_with_kwargs] if with_kwargs else []
    flags += [forward_hooks_always_called] if always_call else []
    return add_hook(forward_hooks, hook, flags=flags)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` before every module's backward."""
    return add_hook(backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` after every module's backward."""
    return _register_backward(hook, is_full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Hook only the last node of every module: the old kind."""
    return _register_backward(hook, is_full=False)


def _register_backward(hook: Callable[..., Any], is_full: bool) -> RemovableHandle:
    global is_full_backward_hook
    if is_full_backward_hook not in (None, is_full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    is_full_backward_hook = is_full
    return add_hook(backward_hooks, hook)
