"""Compare gradients with finite differences."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradlife import _engine
from gradlife.engine import autograd
from gradlife.engine.tensors import Tensor

_Call = Callable[..., Any]


class GradcheckError(RuntimeError):
    """Gradients and finite differences disagree."""


def gradcheck(
    func: _Call,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_backward_ad: bool = True,
    **others: Any,
) -> bool:
    """Check whether the gradients of ``func`` at ``inputs`` (float64) agree with central differences of width ``2 *
    eps``.

    Runs the function twice for each element of the inputs; does not try undefined output gradients. Errors: GradcheckError, or
    only False without ``raise_exception``; NotImplementedError for forward mode and batched gradients.
    """
    _refuse(others)
    if not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    given = _tuple(inputs)
    try:
        _check_inputs(given)
        outputs = _differentiable(func(*given))
        if not outputs:
            return _check_no_gradient(func, given, eps)
        _check_outputs_against_differences(func, given, outputs, (eps, atol, rtol, nondet_tol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: _Call, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """Check the gradients of gradients; the output gradients are random unless given."""
    options.pop("gen_non_contig_grad_outputs", None)
    given = _tuple(inputs)
    outputs = _differentiable(func(*given))
    if grad_outputs is None:
        flowing = tuple(_engine.randn_like(output.detach()).requires_grad_() for output in outputs)
    else:
        flowing = _tuple(grad_outputs)

    def gradients_of(*arguments: Any) -> tuple[Any, ...]:
        own, back = arguments[: len(given)], arguments[len(given) :]
        wanted = tuple(item for item in own if isinstance(item, Tensor) and item.requires_grad)
        found = autograd.grad(_differentiable(func(*own)), wanted, back, create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradcheck(gradients_of, (*given, *flowing), **options)


def _refuse(others: dict[str, Any]) -> None:
    for name in ("check_forward_ad", "check_batched_grad", "check_batched_forward_grad"):
        if others.get(name):
            raise NotImplementedError(f"gradlife's engine has neither forward mode nor batched gradients ({name}=True)")


def _tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(output for output in _tuple(outputs) if output.requires_grad)


def _is_checked(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    if not any(map(_is_checked, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for place, value in enumerate(inputs):
        if not _is_checked(value):
            continue
        if value.dtype is not _engine.float64:
            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(step == 0 and size > 1 for step, size in zip(value.stride(), value.size(), strict=True)):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing "
                "it to gradcheck."
            )


def _places(tensor: Any) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, tensor.shape))


def _numerical(func: _Call, inputs: tuple[Any, ...], value: Any, eps: float) -> list[Any]:
    """Return a matrix of central differences for each output: one row for each element of ``value``, which is changed
    and restored.
    """
    data, rows = value.data, []
    for place in _places(value):
        original = data[place].item()
        data[place] = original + eps
        above = [output.clone() for output in _tuple(func(*inputs))]
        data[place] = original - eps
        below = [output.clone() for output in _tuple(func(*inputs))]
        data[place] = original
        for a, b in zip(above, below, strict=True):
            _check_alike(a, b, place, eps)
        rows.append([((a - b) / (2 * eps)).detach().reshape(-1) for a, b in zip(above, below, strict=True)])
    return [_engine.stack(list(columns)) for columns in zip(*rows, strict=True)]


def _check_alike(above: Any, below: Any, place: tuple[int, ...], eps: float) -> None:
    for what in ("shape", "dtype"):
        pair = getattr(below, what), getattr(above, what)
        if pair[0] != pair[1]:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {place} by {eps}, "
                f"but got: {what}s {pair[0]} and {pair[1]}."
            )


def _analytical(output: Any, inputs: Sequence[Any]) -> list[Any]:
    """Return a matrix per input: a row for each of its elements, a column for each element of ``output``."""
    matrices = [_engine.zeros(value.numel(), output.numel(), dtype=value.dtype) for value in inputs]
    for column, place in enumerate(_places(output)):
        basis = _engine.zeros_like(output.detach())
        basis[place] = 1
        gradients = autograd.grad(output, inputs, basis, retain_graph=True, allow_unused=True)
        for matrix, gradient in zip(matrices, gradients, strict=True):
            if gradient is not None:
                matrix[:, column] = gradient.detach().reshape(-1)
    return matrices


def _check_outputs_against_differences(
    func: _Call, inputs: tuple[Any, ...], outputs: tuple[Any, ...], limits: tuple[float, float, float, float]
) -> None:
    eps, atol, rtol, nondet_tol = limits
    checked = [value for value in inputs if _is_checked(value)]
    numerical = [_numerical(lambda *args: _differentiable(func(*args)), inputs, value, eps) for value in checked]
    for number, output in enumerate(outputs):
        analytical = _analytical(output, checked)
        for first, again in zip(analytical, _analytical(output, checked), strict=True):
            if first.numel() != 0 and ((first - again).abs() > nondet_tol).any():
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient.The tolerance for "
                    f"nondeterminism was {nondet_tol}."
                )
        for place, (found, expected) in enumerate(zip(analytical, numerical, strict=True)):
            if expected and not found.allclose(expected[number].to(found.dtype), rtol, atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{expected[number]}\n"
                    f"analytical:{found}\n"
                )


def _check_no_gradient(func: _Call, inputs: tuple[Any, ...], eps: float) -> bool:
    for value in filter(_is_checked, inputs):
        if any((matrix != 0).any() for matrix in _numerical(func, inputs, value, eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")
    return True
