"""The nodes around one call of a module that run its backward hooks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gradlife import _engine
from gradlife.engine.autograd.function import Function
from gradlife.engine.tensors import Tensor


class BackwardHookFunction(Function):
    """Pass the arguments through; the node carries the hooks around a module's backward."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """One call of a module: the nodes before and after its graph that run its backward hooks.

    Both nodes' hooks keep this object, and it keeps the module: as long as the graph of the call lives, so does the module.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Any], user_pre_hooks: Sequence[Any]) -> None:
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs: Any = None
        self.n_outputs = -1
        self.output_tensors_index: list[int] | None = None
        self.n_inputs = -1
        self.input_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pass the arguments through a node that reports when their gradients are known."""
        result, positions = self._pass_through(self._watch_inputs, args)
        self.n_inputs = len(args)
        self.input_tensors_index = positions
        return result

    def setup_output_hook(self, args: Any) -> Any:
        """Pass the outputs through a node that reports when their gradients arrive."""
        is_tuple = isinstance(args, tuple)
        values = args if is_tuple else (args,)
        result, positions = self._pass_through(self._watch_outputs, values)
        self.n_outputs = len(values)
        self.output_tensors_index = positions
        return result if is_tuple else result[0]

    def _pass_through(self, watch: Callable[[Any], None], args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        positions = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        tensors = [args[i] for i in positions]
        if not _engine.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
            return args, None
        passed = BackwardHookFunction.apply(*tensors)
        nodes = [tensor.grad_fn for tensor in passed if tensor.grad_fn is not None]
        if not nodes or type(nodes[0]).__name__ != "BackwardHookFunctionBackward":
            raise RuntimeError(
                "Error while setting up backward hooks. Please open an issue with a code sample to reproduce this."
            )
        watch(nodes[0])
        replaced = list(args)
        for position, tensor in zip(positions, passed, strict=True):
            replaced[position] = tensor
        return type(args)(replaced) if not hasattr(args, "_fields") else type(args)(*replaced), positions

    def _watch_inputs(self, node: Any) -> None:
        def hook(grad_input: Any, _: Any) -> Any:
            if self.grad_outputs is None:
                return None  # no output gradients came: this backward began inside the module
            given = self._spread(self.input_tensors_index, grad_input, self.n_inputs)
            result = self._run_hooks(given, self.grad_outputs)
            self.grad_outputs = None
            return self._gather(self.input_tensors_index, result)

        node.register_hook(hook)

    def _watch_outputs(self, node: Any) -> None:
        def hook(_: Any, grad_output: Any) -> Any:
            self.grad_outputs = self._spread(self.output_tensors_index, grad_output, self.n_outputs)
            for user_hook in self.user_pre_hooks:
                changed = user_hook(self.module, self.grad_outputs)
                if changed is not None:
                    self._check_count(changed, self.n_outputs, "Backward pre hook", "grad_output")
                    self.grad_outputs = changed
            kept = self.grad_outputs
            if self.input_tensors_index is None:
                self._run_without_inputs()
            return self._gather(self.output_tensors_index, kept)

        node.register_hook(hook)

    def _run_without_inputs(self) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
            "gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
            "for more details.",
            stacklevel=5,
        )
        nothing = self._spread([], [], self.n_inputs)
        for hook in self.user_hooks:
            result = hook(self.module, nothing, self.grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(item is None for item in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_outputs = None

    def _run_hooks(self, grad_input: Any, grad_output: Any) -> Any:
        for hook in self.user_hooks:
            changed = hook(self.module, grad_input, grad_output)
            if changed is not None:
                self._check_count(changed, self.n_inputs, "Backward hook", "grad_input")
                grad_input = changed
        return grad_input

    @staticmethod
    def _check_count(changed: Any, expected: int, kind: str, what: str) -> None:
        if len(changed) != expected:
            raise RuntimeError(
                f"{kind} returned an invalid number of {what}, got {len(changed)}, but expected {expected}"
            )

    @staticmethod
    def _spread(positions: Any, values: Any, count: int) -> tuple[Any, ...]:
        result: list[Any] = [None] * count
        for position, value in zip(positions, values, strict=True):
            result[position] = value
        return tuple(result)

    @staticmethod
    def _gather(positions: Any, values: Any) -> tuple[Any, ...]:
        return tuple(values[position] for position in positions)
