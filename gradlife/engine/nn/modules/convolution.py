"""Modules around a convolution."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gradlife import _engine
from gradlife.engine.nn import functional, init
from gradlife.engine.nn.modules.module import Module
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Sizes = int | Iterable[int]


def _each(value: Sizes, dims: int) -> tuple[int, ...]:
    return (value,) * dims if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    """What all share: weights as the function takes them, and its settings."""

    weight: Tensor
    bias: Tensor | None
    dims: int
    transposed: bool

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        **place: Any,
    ) -> None:
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _each(kernel_size, self.dims)
        self.stride = _each(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else _each(padding, self.dims)
        self.dilation = _each(dilation, self.dims)
        self.output_padding = _each(output_padding, self.dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check_padding()
        of, to = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(_engine.empty((of, to // groups, *self.kernel_size), **place))
        self.register_parameter("bias", Parameter(_engine.empty(out_channels, **place)) if bias else None)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                known = {"same", "valid"}
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {known}")
            if self.padding == "same" and any(each != 1 for each in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode != "zeros":
            raise ValueError(
                f"padding_mode={self.padding_mode!r}: gradlife's engine has convolutions that are padded with zeros"
            )

    def reset_parameters(self) -> None:
        """Draws weights and bias anew, uniformly within one over the root of the number of inputs of an element."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan = math.prod(self.weight.shape[1:])
        if self.bias is not None:
            bound = 1 / math.sqrt(fan) if fan > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        shown = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != (0,) * len(self.padding):
            shown.append(f"padding={self.padding}")
        if self.dilation != (1,) * self.dims:
            shown.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * self.dims:
            shown.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            shown.append(f"groups={self.groups}")
        if self.bias is None:
            shown.append("bias=False")
        return ", ".join(shown)


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")


class _Plain(_Convolution):
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = (stride, padding, dilation, 0, groups, bias, padding_mode)
        super().__init__(in_channels, out_channels, kernel_size, *settings, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(functional, f"conv{self.dims}d")
        result: Tensor = function(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        return result


class Conv1d(_Plain):
    """Over rows of vectors."""

    dims = 1


class Conv2d(_Plain):
    """Over pictures."""

    dims = 2


class Conv3d(_Plain):
    """Over volumes."""

    dims = 3


class _Transposed(_Convolution):
    transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        settings = (stride, padding, dilation, output_padding, groups, bias, padding_mode)
        super().__init__(in_channels, out_channels, kernel_size, *settings, device=device, dtype=dtype)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        function = getattr(functional, f"conv_transpose{self.dims}d")
        extra = self.output_padding if output_size is None else self._padding_for(input, list(output_size))
        result: Tensor = function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
        return result

    def _padding_for(self, input: Tensor, output_size: list[int]) -> tuple[int, ...]:
        """What is to be added to come out at ``output_size``: strides leave open which of several sizes it was."""
        before = input.dim() - self.dims
        if len(output_size) == input.dim():
            output_size = output_size[before:]
        if len(output_size) != self.dims:
            raise ValueError(
                f"ConvTranspose{self.dims}D: for {input.dim()}D input, output_size must have {self.dims} "
                f"or {input.dim()} elements (got {len(output_size)})"
            )
        least = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                input.shape[before:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [size + stride - 1 for size, stride in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {least} to {most} (for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(output_size, least, strict=True))


class ConvTranspose1d(_Transposed):
    """Over rows of vectors."""

    dims = 1


class ConvTranspose2d(_Transposed):
    """Over pictures."""

    dims = 2


class ConvTranspose3d(_Transposed):
    """Over volumes."""

    dims = 3
