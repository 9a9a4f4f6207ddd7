"""Calling a module: its forward, and the hooks around it and around its backward."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from gradlife.engine.hooks import RemovableHandle, add_hook
from gradlife.engine.nn.modules import every_module
from gradlife.engine.nn.modules.backward_hook import BackwardHook
from gradlife.engine.nn.modules.module_hook import ModuleHook
from gradlife.engine.release import is_oneflow
from gradlife.engine.tensors import Tensor

Hooks = OrderedDict[int, Any]

_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class _Call:
    """One call of a module: what its hooks have made of its arguments and its result so far."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs
        self.result: Any = None
        self.called: set[int] = set()  # forward hooks

    def run(self, module: Any, hook: Any, takes_kwargs: bool) -> None:
        given = (self.args, self.kwargs, self.result) if takes_kwargs else (self.args, self.result)
        changed = hook(module, *given)
        self.result = self.result if changed is None else changed


class Calling:
    """The callable part of a module."""

    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Hooks
    _forward_hooks_always_called: Hooks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Hooks
    forward: Callable[..., Any]

    def _make_hooks(self, write: Callable[[str, Any], None]) -> None:
        for name in _HOOK_DICTS:
            write(name, OrderedDict())
            if name == "_backward_hooks":
                write("_is_full_backward_hook", None)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; its result replaces the arguments."""
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle | None:
        """Call ``hook(module, args, output)`` after forward; its result replaces the output.

        OneFlow returns no handle.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        handle = add_hook(self._forward_hooks, hook, prepend, flags)
        return None if is_oneflow() else handle

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_output)`` before the backward of this module; may return other gradients."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(module, grad_input, grad_output)`` once the gradients of the inputs are known."""
        return self._add_backward_hook(hook, prepend, is_full=True)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Hook only the last node: the old kind. Use `register_full_backward_hook`."""
        return self._add_backward_hook(hook, False, is_full=False)

    def _add_backward_hook(self, hook: Callable[..., Any], prepend: bool, is_full: bool) -> RemovableHandle:
        if self._is_full_backward_hook not in (None, is_full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = is_full
        return add_hook(self._backward_hooks, hook, prepend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._has_hooks():
            return self.forward(*args, **kwargs)
        call = _Call(args, kwargs)
        try:
            return self._call_with_hooks(call)
        except Exception:
            self._call_the_persistent(call)
            raise

    def _has_hooks(self) -> bool:
        own = self._backward_hooks or self._backward_pre_hooks or self._forward_hooks or self._forward_pre_hooks
        return bool(own) or every_module.any_hooks()

    def _call_with_hooks(self, call: _Call) -> Any:
        full, regular = self._split_backward_hooks()
        pre = [*every_module.backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        call.args, call.kwargs = self._run_pre_hooks(call.args, call.kwargs)
        backward_hook = BackwardHook(self, full, pre) if full or pre else None
        if backward_hook is not None:
            call.args = backward_hook.setup_input_hook(call.args)
        call.result = self.forward(*call.args, **call.kwargs)
        self._run_forward_hooks(call)
        result = call.result
        if backward_hook is not None:
            if not isinstance(result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                    f"{type(result)}",
                    stacklevel=3,
                )
            result = backward_hook.setup_output_hook(result)
        if regular:
            self._hook_last_node(regular, call.args, result)
        return result

    def _split_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        full: list[Any] = []
        regular: list[Any] = []
        (full if every_module.is_full_backward_hook else regular).extend(every_module.backward_hooks.values())
        (full if self._is_full_backward_hook else regular).extend(self._backward_hooks.values())
        return full, regular

    def _run_pre_hooks(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        own = list(self._forward_pre_hooks.items())
        for hook_id, hook in [*every_module.forward_pre_hooks.items(), *own]:
            if hook_id in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _forward_hook_items(self) -> list[tuple[int, Any, bool, bool]]:
        everyone, own = every_module, self
        general = [
            (i, hook, i in everyone.forward_hooks_with_kwargs, i in everyone.forward_hooks_always_called)
            for i, hook in everyone.forward_hooks.items()
        ]
        return general + [
            (i, hook, i in own._forward_hooks_with_kwargs, i in own._forward_hooks_always_called)
            for i, hook in own._forward_hooks.items()
        ]

    def _run_forward_hooks(self, call: _Call) -> None:
        for hook_id, hook, takes_kwargs, _ in self._forward_hook_items():
            call.called.add(hook_id)
            call.run(self, hook, takes_kwargs)

    def _call_the_persistent(self, call: _Call) -> None:
        for hook_id, hook, takes_kwargs, always in self._forward_hook_items():
            if not always or hook_id in call.called:
                continue
            try:
                call.run(self, hook, takes_kwargs)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                    f"raised in forward: {error}",
                    stacklevel=3,
                )

    def _hook_last_node(self, hooks: list[Any], args: Any, result: Any) -> None:
        node = _first_tensor(result).grad_fn
        if node is None:
            return
        for hook in hooks:
            node.register_hook(ModuleHook(hook, self))
        self._warn_of_regular_hooks(args, result, node)

    def _warn_of_regular_hooks(self, args: Any, result: Any, node: Any) -> None:
        module = "non-full backward hooks on a Module that does not"
        several = "a non-full backward hook when"
        if not isinstance(result, Tensor) and not (
            isinstance(result, tuple) and all(isinstance(item, Tensor) for item in result)
        ):
            use, missed = f"{module} return a single Tensor or a tuple of Tensors", "of the grad_output"
        elif not all(isinstance(item, Tensor) for item in args):
            use, missed = f"{module} take as input a single Tensor or a tuple of Tensors", "of the grad_input"
        elif isinstance(result, tuple) and len(_nodes_of(result)) > 1:
            use, missed = f"{several} outputs are generated by different autograd Nodes", "grad_output"
        elif _nodes_of(args) != {after for after, _ in node.next_functions}:
            use, missed = f"{several} the forward contains multiple autograd Nodes", "grad_input"
        else:
            return
        text = (
            f"Using {use} is deprecated and will be removed in future versions. This hook will be missing some {missed}. "
            "Please use register_full_backward_hook to get the documented behavior."
        )
        warnings.warn(text, FutureWarning, stacklevel=5)


def _nodes_of(tensors: Any) -> set[Any]:
    return {tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None}


def _first_tensor(result: Any) -> Any:
    while not isinstance(result, Tensor):
        values = (
            [value for value in result.values() if isinstance(value, Tensor)] if isinstance(result, dict) else result
        )
        result = values[0]
    return result
