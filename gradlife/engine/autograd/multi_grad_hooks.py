"""One hook for the gradients of several tensors."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

from gradlife import _engine
from gradlife.engine.grad_mode import enable_grad
from gradlife.engine.hooks import RemovableHandle
from gradlife.engine.tensors import Tensor


class _MultiHandle(RemovableHandle):
    """Removes the hook from all of its tensors."""

    handles: tuple[RemovableHandle, ...]

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hook from every tensor."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call ``fn`` once per backward: with all gradients when the last arrives, or (``any``) with the first one alone.

    The hook holds the tensors' nodes, and they hold the hook: a hook over a tensor of its own graph is never freed.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        hook = _when_first_is_there(fn)
        return _MultiHandle(tuple(tensor.register_hook(hook) for tensor in tensors if tensor.requires_grad))
    hooks = _when_all_are_there(tensors, fn)
    return _MultiHandle(tuple(tensor.register_hook(hook) for tensor, hook in zip(tensors, hooks, strict=True)))


def _when_all_are_there(tensors: Sequence[Tensor], fn: Callable[..., None]) -> list[Callable[[Tensor], None]]:
    seen: dict[int, int] = {}
    expected = 0
    gradients: dict[int, list[Tensor | None]] = {}
    nodes = [node_behind(tensor) for tensor in tensors]
    lock = threading.Lock()

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def inner_hook(grad: Tensor) -> None:
            nonlocal expected
            task = _engine._current_graph_task_id()
            assert task != -1, "expected this hook to be called inside a backward call"
            with lock:
                before = seen.setdefault(task, 0)
                seen[task] = before + 1
                # only now it is known which tensors this backward reaches
                if before == 0:
                    expected = sum(map(_engine._will_engine_execute_node, nodes))
                    gradients[task] = [None] * len(nodes)
            gradients[task][index] = grad
            if before == expected - 1:
                fn(gradients[task])
                del seen[task], gradients[task]

        return inner_hook

    return [hook_of(index) for index in range(len(nodes))]


def _when_first_is_there(fn: Callable[..., None]) -> Callable[[Tensor], None]:
    has_run: dict[int, bool] = defaultdict(bool)
    lock = threading.Lock()

    def wrapped_fn(grad: Tensor) -> None:
        task = _engine._current_graph_task_id()
        assert task != -1, "expected this hook to be called inside a backward call"
        with lock:
            before, has_run[task] = has_run[task], True
        if not before:
            fn(grad)

    return wrapped_fn


def node_behind(tensor: Tensor) -> Any:
    """Return the node of a tensor; a leaf's through a view of it, which is affected by the tensor's class."""
    node: Any
    if tensor.requires_grad and tensor.grad_fn is None:
        with enable_grad():
            node = tensor.view_as(tensor).grad_fn
        node = node.next_functions[0][0]
    else:
        node = tensor.grad_fn
    assert node is not None, "Expected gradient function to be set"
    return node
