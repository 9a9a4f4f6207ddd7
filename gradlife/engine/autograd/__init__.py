"""Differentiation: backward, grad, custom Functions, the graph's own tools."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from gradlife import _engine
from gradlife.engine.autograd import function, functional, graph
from gradlife.engine.autograd.function import Function
from gradlife.engine.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from gradlife.engine.autograd.graph import GradientEdge
from gradlife.engine.autograd.validity import is_checkpoint_valid as _is_checkpoint_valid
from gradlife.engine.autograd.validity import restricting as _restricting
from gradlife.engine.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from gradlife.engine.tensors import Tensor

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "_is_checkpoint_valid",
    "backward",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]

# PyTorch says so once a process.
_warned: list[bool] = []
_Tensors = Any  # a tensor, a GradientEdge, or a sequence of them


def Variable(data: Tensor, requires_grad: bool = False) -> Tensor:
    """A tensor that shares ``data``'s memory and has no history: what ``Variable`` has meant since 0.4."""
    tensor = data.detach()
    return tensor.requires_grad_() if requires_grad else tensor


def backward(
    tensors: _Tensors,
    grad_tensors: _Tensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Tensors = None,
    inputs: _Tensors = None,
) -> None:
    """Adds the gradients of ``tensors`` to ``.grad`` of the leaves behind them, or of ``inputs`` alone."""
    wanted = _inputs(inputs, "backward") if inputs is not None else ()
    if create_graph and not _warned:
        _warned.append(True)
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
            "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
            "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
            "the cycle and avoid the leak.",
            UserWarning,
            stacklevel=3,
        )
    roots = _sequence(tensors)
    gradients = _make_gradients(roots, _sequence(grad_tensors) if grad_tensors is not None else (None,) * len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    with _restricting(bool(wanted)):
        _engine._run_backward(roots, gradients, keep, create_graph, wanted, True, True)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Tensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``; ``.grad`` stays as it is."""
    if is_grads_batched:
        raise NotImplementedError("gradlife's engine has no batched gradients (is_grads_batched=True)")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, wanted = _sequence(outputs), _inputs(inputs, "grad")
    given = _sequence(grad_outputs) if grad_outputs is not None else (None,) * len(roots)
    gradients = _make_gradients(roots, given)
    keep = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    with _restricting(True):
        result = _engine._run_backward(roots, gradients, keep, create_graph, wanted, unused, False)
    if materialize_grads:
        result = tuple(
            _engine.zeros_like(tensor) if gradient is None else gradient
            for gradient, tensor in zip(result, wanted, strict=True)
        )
    return tuple(result)


def _sequence(value: _Tensors) -> tuple[Any, ...]:
    return (value,) if isinstance(value, (Tensor, GradientEdge)) or value is None else tuple(value)


def _inputs(inputs: _Tensors, function: str) -> tuple[Any, ...]:
    wanted = _sequence(inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    for item in wanted:
        if not isinstance(item, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(item).__name__}")
    return wanted


def _make_gradients(roots: Sequence[Any], gradients: Sequence[Any]) -> tuple[Tensor | None, ...]:
    gradients = gradients[: len(roots)]
    if len(roots) != len(gradients):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return tuple(
        _make_gradient(i, root, gradient) for i, (root, gradient) in enumerate(zip(roots, gradients, strict=True))
    )


def _make_gradient(index: int, root: Any, gradient: Any) -> Tensor | None:
    if isinstance(gradient, Tensor):
        if isinstance(root, Tensor) and root.shape != gradient.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and output[{index}] has a shape of "
                f"{root.shape}."
            )
        return gradient
    if gradient is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if not isinstance(root, Tensor):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not root.requires_grad:
        return None
    if root.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    ones = _engine.ones_like(root.detach())
    return ones if isinstance(ones, Tensor) else None
