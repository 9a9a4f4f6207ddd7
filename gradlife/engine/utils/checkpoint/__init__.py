"""Checkpoints: a part of forward that keeps only its inputs and is recomputed in backward."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

from gradlife import _engine
from gradlife.engine.release import is_oneflow, release
from gradlife.engine.tensors import Tensor
from gradlife.engine.utils.checkpoint.by_number import checkpoint_by_number
from gradlife.engine.utils.checkpoint.debugging import Trails
from gradlife.engine.utils.checkpoint.errors import CheckpointError as CheckpointError
from gradlife.engine.utils.checkpoint.frame import _CheckpointFrame, checkpointed
from gradlife.engine.utils.checkpoint.reentrant import (
    CheckpointFunction as CheckpointFunction,
    check_backward_validity as check_backward_validity,
    detach_variable as detach_variable,
    same_random_numbers,
    take_preserve,
)
from gradlife.engine.utils.checkpoint.selective import (
    CheckpointPolicy as CheckpointPolicy,
    SelectiveCheckpointContext as SelectiveCheckpointContext,
    _CachedTorchDispatchMode as _CachedTorchDispatchMode,
    _CachingTorchDispatchMode as _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)
from gradlife.engine.utils.checkpoint.sequential import checkpoint_sequential as checkpoint_sequential
from gradlife.engine.utils.checkpoint.settings import (
    debug_enabled,
    early_stop_enabled,
    set_checkpoint_debug_enabled as set_checkpoint_debug_enabled,
    set_checkpoint_early_stop as set_checkpoint_early_stop,
)

_Contexts = Callable[[], tuple[Any, Any]]


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: for the forward, and for its recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _shape_and_dtype(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any] | None] = {"default": _shape_and_dtype, "none": None}


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: _Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call ``function(*args)`` without keeping its activations: backward recomputes them.

    ``use_reentrant`` uses a custom Function, which works only with ``backward()`` of the whole graph; otherwise
    saved-tensor hooks are used. ``preserve_rng_state=False`` lets the recomputation draw other random numbers.
    """
    if is_oneflow() or release() < (1, 11):
        return _checkpoint_of_old(function, args, use_reentrant, kwargs)
    if use_reentrant is None:
        _warn_of_default()
        use_reentrant = True
    if not use_reentrant:
        return _without_reentry(function, args, kwargs, context_fn, determinism_check, debug, early_stop)
    preserve = take_preserve(kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _checkpoint_of_old(
    function: Callable[..., Any], args: tuple[Any, ...], use_reentrant: bool | None, kwargs: dict[str, Any]
) -> Any:
    """Run a checkpoint without the argument `use_reentrant`: before 1.11 always reentrant; OneFlow's has no options."""
    named = kwargs if use_reentrant is None else {"use_reentrant": use_reentrant, **kwargs}
    if not is_oneflow():
        return CheckpointFunction.apply(function, take_preserve(named), *args)
    if named:
        raise TypeError(f"checkpoint() got an unexpected keyword argument '{next(iter(named))}'")
    return checkpoint_by_number(function, args)


def _warn_of_default() -> None:
    if release() < (2, 1):
        return
    warnings.warn(
        "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
        "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
        "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants.",
        stacklevel=3,
    )


def _without_reentry(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    context_fn: _Contexts,
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    preserve = kwargs.pop("preserve_rng_state", True)
    if determinism_check not in _DETERMINISM_CHECKS:
        allowed = list(_DETERMINISM_CHECKS)
        raise ValueError(f"determinism_check should be one of {allowed}, but got {determinism_check}")
    trails = Trails() if debug_enabled(debug) else None
    if trails is not None and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    forward_context, recompute_context = context_fn()
    state = _engine._generator_state() if preserve else None

    def recompute(kwargs: dict[str, Any], *args: Any) -> None:
        with same_random_numbers(state), recompute_context:
            function(*args, **kwargs)

    frame = _CheckpointFrame(recompute, early_stop_enabled(early_stop), _DETERMINISM_CHECKS[determinism_check], trails)
    with checkpointed(frame, args, kwargs), forward_context:
        return function(*args, **kwargs)
    raise RuntimeError(
        "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
        "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
    )
