"""Convolutions and transposed ones, in one to three dimensions of space, and the padding that they ask for."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife import _engine
from gradlife.engine.tensors import Tensor

Sizes = int | Sequence[int]


def _each(value: Sizes, dims: int) -> tuple[int, ...]:
    """One number for each dimension of space, where one is given for all."""
    given = (value,) if isinstance(value, int) else tuple(value)
    return given * dims if len(given) == 1 else given


def _batched(input: Tensor, dims: int, name: str) -> Tensor:
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return input if input.dim() == dims + 2 else input.unsqueeze(0)


def _same_padding(
    input: Tensor, weight: Tensor, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[Tensor, tuple[int, ...]]:
    """What is left to pad evenly, after an odd element each was put behind the input."""
    if any(each != 1 for each in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [step * (size - 1) for step, size in zip(dilation, weight.shape[2:], strict=True)]
    if any(total % 2 for total in totals):
        behind = [each for total in reversed(totals) for each in (0, total % 2)]
        input = _engine.constant_pad_nd(input, behind, 0)
    return input, tuple(total // 2 for total in totals)


def _convolved(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    dims = int(name[-2])
    batched = _batched(input, dims, name)
    steps, gaps = _each(stride, dims), _each(dilation, dims)
    if padding == "same":
        batched, around = _same_padding(batched, weight, steps, gaps)
    elif isinstance(padding, str):
        if padding != "valid":
            raise RuntimeError("Invalid padding string: '" + padding + "'")
        around = (0,) * dims
    else:
        around = _each(padding, dims)
    result = _engine.convolution(batched, weight, bias, steps, around, gaps, False, (0,) * dims, groups)
    return result if batched.dim() == input.dim() else result.squeeze(0)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Of rows of vectors: ``(batch, channels, length)``, or one without the first. RuntimeError: shapes do not fit."""
    return _convolved("conv1d", input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Of pictures: ``(batch, channels, height, width)``, or one without the first."""
    return _convolved("conv2d", input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Of volumes: ``(batch, channels, depth, height, width)``, or one without the first."""
    return _convolved("conv3d", input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    name: str,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Tensor:
    dims = int(name[-2])
    batched = _batched(input, dims, name)
    result = _engine.convolution(
        batched,
        weight,
        bias,
        _each(stride, dims),
        _each(padding, dims),
        _each(dilation, dims),
        True,
        _each(output_padding, dims),
        groups,
    )
    return result if batched.dim() == input.dim() else result.squeeze(0)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """What the gradient of `conv1d` is by its input."""
    return _transposed("conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """What the gradient of `conv2d` is by its input."""
    return _transposed("conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """What the gradient of `conv3d` is by its input."""
    return _transposed("conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation)
