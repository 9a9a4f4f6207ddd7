"""Differentiation: backward, grad, custom Functions, graph tools."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

from gradlife import _engine
from gradlife._engine import _saved_tensor_type
from gradlife.engine import overrides
from gradlife.engine.autograd import (
    _functions as _functions,
    anomaly_mode as anomaly_mode,
    function as function,
    grad_mode as grad_mode,
    graph as graph,
    variable as variable,
)
from gradlife.engine.autograd.anomaly_mode import (
    detect_anomaly as detect_anomaly,
    set_detect_anomaly as set_detect_anomaly,
)
from gradlife.engine.autograd.function import Function as Function
from gradlife.engine.autograd.gradcheck import (
    GradcheckError as GradcheckError,
    gradcheck as gradcheck,
    gradgradcheck as gradgradcheck,
)
from gradlife.engine.autograd.graph import GradientEdge
from gradlife.engine.autograd.validity import is_checkpoint_valid, restricting as _restricting
from gradlife.engine.autograd.variable import Variable as Variable
from gradlife.engine.grad_mode import (
    _force_original_view_tracking as _force_original_view_tracking,
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_multithreading_enabled as is_multithreading_enabled,
    is_view_replay_enabled as is_view_replay_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
    set_multithreading_enabled as set_multithreading_enabled,
)
from gradlife.engine.tensors import Size, Tensor

_is_checkpoint_valid = is_checkpoint_valid
_Tensors = Any  # a tensor, a GradientEdge, or a sequence of them

_TAKES_DICTS = ("torch", 213)  # the release from which `inputs` may be a dict


def backward(
    tensors: _Tensors,
    grad_tensors: _Tensors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Tensors = None,
    inputs: _Tensors = None,
) -> Any:
    """Add the gradients of ``tensors`` to ``.grad`` of their leaves, or of ``inputs`` alone."""
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = _inputs_in(inputs, "backward") if inputs is not None else ()
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _sequence(tensors)
    if _engine._current_release() >= ("torch", 211) and overrides.has_torch_function((*roots, *wanted)):
        named = {
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": None if inputs is None else wanted,
        }
        return overrides.handle_torch_function(backward, (*roots, *wanted), roots, grad_tensors=grad_tensors, **named)
    gradients = _make_gradients(roots, _sequence(grad_tensors) if grad_tensors is not None else (None,) * len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    with _restricting(bool(wanted)):
        _engine._run_backward(roots, gradients, keep, create_graph, wanted, True, True)
    return None


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
) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs`` without changing ``.grad``: a dict for a dict."""
    named = {"grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph}
    named |= {"only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched}
    named["materialize_grads"] = materialize_grads
    if type(inputs) is dict and _engine._current_release() >= _TAKES_DICTS:
        return dict(zip(inputs, grad(outputs, tuple(inputs.values()), **named), strict=True))
    _check_options(only_inputs, materialize_grads, allow_unused)
    named["allow_unused"] = allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots, wanted = _sequence(outputs), _inputs_in(inputs, "grad")
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    asked: tuple[Any, ...] = (*roots, *wanted)
    if overrides.has_torch_function(asked):
        return overrides.handle_torch_function(grad, asked, roots, wanted, **named)
    given = _sequence(grad_outputs) if grad_outputs is not None else (None,) * len(roots)
    gradients = _make_gradients(roots, given, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    rows: Any = list(zip(*gradients, strict=True)) if is_grads_batched else [gradients]
    with _restricting(True):
        results = [
            _engine._run_backward(roots, row, keep or number < len(rows), create_graph, wanted, allow_unused, False)
            for number, row in enumerate(rows, 1)
        ]
    result = _stacked(results) if is_grads_batched else results[0]
    return _materialized(result, wanted, create_graph) if materialize_grads else tuple(result)


def _check_options(only_inputs: bool, materialize_grads: bool, allow_unused: bool | None) -> None:
    """Raise for options of `grad` that exclude each other; warn of a deprecated one, at the line that calls `grad`."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
            "of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=3,
        )


def _materialized(gradients: Any, wanted: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Replace missing gradients by zeros."""
    needs_grad = create_graph or _engine._current_release() < ("torch", 210)
    return tuple(
        _zeros_for(tensor, needs_grad) if gradient is None else gradient
        for gradient, tensor in zip(gradients, wanted, strict=True)
    )


def _stacked(results: list[Any]) -> tuple[Any, ...]:
    """Join the gradients of each row of a batch, which PyTorch computes together."""
    columns = zip(*results, strict=True)
    return tuple(None if column[0] is None else _engine.stack(column) for column in columns)


def _zeros_for(wanted: Any, requires_grad: bool) -> Tensor:
    if not isinstance(wanted, Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return _engine.zeros_like(wanted.detach()).requires_grad_(requires_grad)


def _sequence(value: _Tensors) -> tuple[Any, ...]:
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def _inputs_in(value: _Tensors, caller: str) -> tuple[Any, ...]:
    if not isinstance(value, Mapping) or _engine._current_release() < _TAKES_DICTS:
        return _sequence(value)
    if type(value) is not dict:
        name = type(value).__name__
        raise TypeError(
            f"`inputs` argument to `{caller}()` must be a dict, not {name}. Other Mapping types are not supported."
        )
    return tuple(value.values())


def _make_gradients(
    roots: tuple[Any, ...], gradients: tuple[Any, ...], is_batched: bool = False
) -> tuple[Tensor | None, ...]:
    made = tuple(_make_gradient(*pair, roots, gradients, is_batched) for pair in zip(roots, gradients, strict=False))
    if len(roots) != len(made):
        raise RuntimeError(f"got {len(roots)} tensors and {len(made)} gradients")
    return made


def _make_gradient(
    root: Any, gradient: Any, roots: tuple[Any, ...], gradients: tuple[Any, ...], is_batched: bool
) -> Tensor | None:
    shape, dtype = _shape_and_dtype(root)

    def mismatch(kind: str, given: object, expected: object) -> str:
        place = f"grad_output[{gradients.index(gradient)}]", f"output[{roots.index(root)}]"  # by ==, as in PyTorch
        return f"{place[0]} has a {kind} of {given} and {place[1]} has a {kind} of {expected}."

    if isinstance(gradient, Tensor):
        first = gradient[0] if is_batched else gradient
        if shape != first.size() and not is_batched:
            raise RuntimeError(f"Mismatch in shape: {mismatch('shape', gradient.shape, shape)}")
        if shape != first.size() and isinstance(root, GradientEdge):
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        if shape != first.size():
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: {mismatch('shape', first.shape[1:], shape)} If you only want some tensors in "
                "`grad_output` to be considered batched, consider using vmap."
            )
        if dtype.is_complex != gradient.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"{mismatch('dtype', gradient.dtype, dtype)}"
            )
        return gradient
    if gradient is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if isinstance(root, Tensor) and not root.requires_grad:
        return None
    if shape.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    return _engine.ones_like(root) if isinstance(root, Tensor) else _engine.ones(shape, dtype=dtype)


def _shape_and_dtype(root: Any) -> tuple[Any, Any]:
    """Return shape and dtype of a tensor, or of the forward output of an edge."""
    if not isinstance(root, GradientEdge):
        if not isinstance(root, Tensor):
            raise AssertionError("Expected output to be a torch.Tensor")
        return root.shape, root.dtype
    metadata = root.node._input_metadata[root.output_nr]
    return Size(metadata.shape), metadata.dtype


def __getattr__(name: str) -> Any:
    if name == "SavedTensor":
        return _saved_tensor_type()
    if name == "torch":
        return sys.modules["gradlife.engine"]
    raise AttributeError(f"module 'gradlife.engine.autograd' has no attribute '{name}'")
