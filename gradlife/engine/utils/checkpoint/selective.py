"""Checkpoints that keep some results: a policy decides for each operation.

Two dispatch modes share a storage. In the forward, one keeps what the policy selects; in the recomputation, the other
returns it once instead of computing. A kept value has no history, or the graph would keep itself alive through the
checkpoint's hooks; and it is released when returned, even if the graph is retained.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Self

from gradlife.engine.operations import OpOverload, OpOverloadPacket, aten
from gradlife.engine.tensors import Tensor
from gradlife.engine.utils._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """A policy's decision about the result of one operation: keep it, or recompute it in backward."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The context that a policy receives besides the operation and its arguments."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


_Policy = Callable[..., CheckpointPolicy | bool]
_Storage = defaultdict[Any, dict[int, Any]]

_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, True)
_RECOMPUTE = object()
_CONSUMED = object()
#: Operations that save outputs create these; their number varies between runs.
_IGNORED = (aten.detach.default,)
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class _VersionWrapper:
    """A kept value with its version at that time."""

    def __init__(self, val: Any) -> None:
        self.val = val
        self.version = val._version if isinstance(val, Tensor) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def _keep(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_keep(each) for each in value]
    return _VersionWrapper(value.detach() if isinstance(value, Tensor) else value)


def _give_out(kept: Any, allow_mutation: bool) -> Any:
    if isinstance(kept, list):
        return tuple(_give_out(each, allow_mutation) for each in kept)
    return kept.get_val(allow_mutation)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """Ask the policy, and keep results."""

    def __init__(self, policy_fn: _Policy, storage: _Storage) -> None:
        super().__init__()
        self.policy_fn = policy_fn
        self.storage = storage
        self.func_counter: defaultdict[Any, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in _IGNORED:
            return out
        place = self.func_counter[func]
        self.func_counter[func] += 1
        context = SelectiveCheckpointContext(is_recompute=False, op_output=out)
        is_kept = self.policy_fn(context, func, *args, **kwargs) in _KEPT
        self.storage[func][place] = _keep(out) if is_kept else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """Return kept results, and compute the others."""

    def __init__(self, policy_fn: Any, storage: _Storage, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage = storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation
        self.func_counter: defaultdict[Any, int] = defaultdict(int)

    def __enter__(self) -> Self:
        self.func_counter.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kept = _RECOMPUTE if func in _IGNORED else self._take(func)
        if kept is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        return _give_out(kept, self.allow_cache_entry_mutation)

    def _take(self, func: Any) -> Any:
        place = self.func_counter[func]
        self.func_counter[func] += 1
        of_func = self.storage.get(func)
        if of_func is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        if place not in of_func:
            raise RuntimeError(
                f"{func} invocation index {place} encountered during backward but not found in storage. {_MISMATCH}"
            )
        kept = of_func[place]
        if kept is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if kept is not _RECOMPUTE:
            of_func[place] = _CONSUMED
        return kept


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return the contexts for forward and recomputation: for ``checkpoint(..., context_fn=partial(this, policy))``.

    The policy is called with a context, the operation and its arguments; or it is a list of operations to keep.
    """
    storage: _Storage = defaultdict(dict)
    return (
        _CachingTorchDispatchMode(_as_policy(policy_fn_or_list), storage),
        _CachedTorchDispatchMode(None, storage, allow_cache_entry_mutation),
    )


def _as_policy(given: Any) -> _Policy:
    if not isinstance(given, list):
        if not callable(given):
            raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
        return given  # type: ignore[no-any-return]
    for op in given:
        if not isinstance(op, OpOverload):
            hint = (
                "Please update the OpOverloadPacket to a specific OpOverload."
                "For example, if you have `torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
            )
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                + (hint if isinstance(op, OpOverloadPacket) else "")
            )
    return lambda context, op, *args, **kwargs: op in given
