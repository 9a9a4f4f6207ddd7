"""Derivatives of functions as tensors: Jacobians, Hessians, and products with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradlife import _engine
from gradlife.engine import autograd
from gradlife.engine.grad_mode import enable_grad
from gradlife.engine.tensors import Tensor

__all__ = ["hessian", "hvp", "jacobian", "vjp"]

_Call = Callable[..., Any]


def _tensors(values: Any, what: str, function: str) -> tuple[tuple[Tensor, ...], bool]:
    is_tuple = isinstance(values, tuple)
    items = values if is_tuple else (values,)
    if not all(isinstance(item, Tensor) for item in items):
        raise TypeError(
            f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has type "
            f"{type(values)}."
        )
    return tuple(items), is_tuple


def _leaves(inputs: Any, function: str, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    given, is_tuple = _tensors(inputs, "inputs", function)
    if create_graph:
        return tuple(item.view_as(item) if item.requires_grad else item.requires_grad_() for item in given), is_tuple
    return tuple(item.detach().requires_grad_() for item in given), is_tuple


def _call(func: _Call, leaves: tuple[Tensor, ...], function: str) -> tuple[tuple[Tensor, ...], bool]:
    return _tensors(func(*leaves), "outputs of the user-provided function", function)


def _gradients(output: Any, leaves: tuple[Tensor, ...], vector: Any, create_graph: bool) -> list[Any]:
    if not output.requires_grad:
        return [_engine.zeros_like(leaf) for leaf in leaves]
    found = autograd.grad(output, leaves, vector, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return [_engine.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]


def _finished(value: Any, create_graph: bool) -> Any:
    return value if create_graph else value.detach()


def jacobian(func: _Call, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The derivative of every element of the outputs with respect to every element of the inputs."""
    with enable_grad():
        leaves, many_inputs = _leaves(inputs, "jacobian", create_graph)
        outputs, many_outputs = _call(func, leaves, "jacobian")
        rows = []
        for number, output in enumerate(outputs):
            if strict and not output.requires_grad:
                raise RuntimeError(
                    f"Output {number} of the user-provided function does not require gradients. The outputs must be computed in "
                    "a differentiable manner from the input when running in strict mode."
                )
            found = [_gradients(element, leaves, None, create_graph) for element in output.reshape(-1)]
            columns = [_engine.stack(list(column)) for column in zip(*found, strict=True)]
            shaped = zip(columns, leaves, strict=True)
            row = tuple(_finished(c.view((*output.shape, *leaf.shape)), create_graph) for c, leaf in shaped)
            rows.append(row if many_inputs else row[0])
    return tuple(rows) if many_outputs else rows[0]


def vjp(func: _Call, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The outputs, and the product of ``v`` with their Jacobian. Without ``v`` the output is one number."""
    with enable_grad():
        leaves, many_inputs = _leaves(inputs, "vjp", create_graph)
        outputs, many_outputs = _call(func, leaves, "vjp")
        if v is None and (len(outputs) != 1 or outputs[0].numel() != 1):
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
        vectors = (None,) if v is None else _tensors(v, "v", "vjp")[0]
        found = autograd.grad(outputs, leaves, vectors, create_graph=create_graph, allow_unused=True)
        filled = [_engine.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]
    results = tuple(_finished(output, create_graph) for output in outputs)
    return results if many_outputs else results[0], tuple(filled) if many_inputs else filled[0]


def hessian(func: _Call, inputs: Any, create_graph: bool = False, strict: bool = False) -> Any:
    """The second derivatives of a function that gives one number."""

    def gradient(*arguments: Any) -> Any:
        output = _call(func, arguments, "hessian")[0][0]
        found = autograd.grad(output, arguments, create_graph=True, allow_unused=True)
        filled = tuple(_engine.zeros_like(a) if g is None else g for g, a in zip(found, arguments, strict=True))
        return filled if isinstance(inputs, tuple) else filled[0]

    return jacobian(gradient, inputs, create_graph, strict)


def hvp(func: _Call, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output, and the product of the Hessian with ``v``."""
    with enable_grad():
        leaves, many_inputs = _leaves(inputs, "hvp", create_graph)
        output = _call(func, leaves, "hvp")[0][0]
        first = autograd.grad(output, leaves, create_graph=True)
        vectors = _tensors(v, "v", "hvp")[0] if v is not None else tuple(map(_engine.ones_like, leaves))
        found = autograd.grad(first, leaves, vectors, create_graph=create_graph, allow_unused=True)
        filled = [_engine.zeros_like(leaf) if g is None else g for g, leaf in zip(found, leaves, strict=True)]
    return _finished(output, create_graph), tuple(filled) if many_inputs else filled[0]
