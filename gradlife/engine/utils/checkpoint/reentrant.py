"""Checkpoints as a custom Function whose backward runs the forward again and a nested backward."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from gradlife import _engine
from gradlife.engine import autograd
from gradlife.engine.autograd.function import Function
from gradlife.engine.grad_mode import enable_grad, no_grad
from gradlife.engine.tensors import Tensor


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return new leaves on these tensors' memory, with their ``requires_grad``."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        item.detach().requires_grad_(item.requires_grad) if isinstance(item, Tensor) else item for item in inputs
    )


def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires grad, so that nothing will."""
    if not any(item.requires_grad for item in inputs if isinstance(item, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def take_preserve(options: dict[str, Any]) -> bool:
    """Take ``preserve_rng_state`` from the options of a reentrant checkpoint, which has no others."""
    preserve: bool = options.pop("preserve_rng_state", True)
    if options:
        raise ValueError("Unexpected keyword arguments: " + ",".join(options))
    return preserve


@contextlib.contextmanager
def same_random_numbers(state: Any) -> Iterator[None]:
    """Use the random state ``state`` inside the block, and restore the current one afterwards."""
    if state is None:
        yield
        return
    now = _engine._generator_state()
    _engine._set_generator_state(state)
    try:
        yield
    finally:
        _engine._set_generator_state(now)


class CheckpointFunction(Function):
    """Run a function unrecorded, keep only its inputs, and run it again in backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.preserve_rng_state = preserve_rng_state
        ctx.fwd_cpu_state = _engine._generator_state() if preserve_rng_state else None
        ctx.inputs = [None if isinstance(item, Tensor) else item for item in args]
        ctx.tensor_indices = [i for i, item in enumerate(args) if isinstance(item, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = tensor
        with same_random_numbers(ctx.fwd_cpu_state):
            leaves = detach_variable(tuple(inputs))
            with enable_grad():
                outputs = ctx.run_function(*leaves)
        _run_inner_backward((outputs,) if isinstance(outputs, Tensor) else outputs, args)
        return (None, None, *(item.grad if isinstance(item, Tensor) else None for item in leaves))


def _run_inner_backward(outputs: Any, gradients: tuple[Any, ...]) -> None:
    pairs = [
        (output, gradient)
        for output, gradient in zip(outputs, gradients, strict=False)
        if isinstance(output, Tensor) and output.requires_grad
    ]
    if not pairs:
        raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
    autograd.backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
