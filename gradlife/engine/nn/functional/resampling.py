"""Pictures made larger or smaller, averaged by parts, cut into patches, and given borders."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife import _engine
from gradlife.engine.tensors import Tensor

Sizes = int | Sequence[int]
Scales = float | Sequence[float]

_MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}  # the dimensions of an input
_SMOOTH = ("bilinear", "bicubic")


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: Scales | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Pictures of another ``size``, or ``scale_factor`` times as large: ``(batch, channels, space...)``.

    ValueError: both or none of these, another number of them than the picture has dimensions, options that the mode does
    not have. NotImplementedError: a mode for pictures of other dimensions.
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    space = list(input.shape[2:])
    sizes, scales = _targets(space, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None:
        sizes = [int(old * factor) for old, factor in zip(space, scales, strict=True)]
        if recompute_scale_factor or mode == "area":
            scales = None
    if antialias and not (mode in _SMOOTH and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    _check_mode(input.dim(), mode)
    if mode == "area":
        return _AREAS[input.dim()](input, sizes)
    kind = f"smooth {mode}" if antialias else mode
    return _engine._nn_interpolate(input, sizes, kind, bool(align_corners), scales)


def _targets(space: list[int], size: Sizes | None, scale_factor: Scales | None) -> tuple[list[int], list[float] | None]:
    """How large the result is, or how much larger than the input: the other one is empty."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, int):
            return [size] * len(space), None
        if len(size) != len(space):
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {space} and output size of {size}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        if not all(isinstance(each, int) for each in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                f"Tuple[int, int, int], but got size with types {[type(each) for each in size]}"
            )
        return list(size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (int, float)):
        return [], [scale_factor] * len(space)
    if len(scale_factor) != len(space):
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {space} and "
            f"scale_factor of shape {scale_factor}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return [], list(scale_factor)


def _check_mode(dims: int, mode: str) -> None:
    if dims in (3, 4, 5):
        if mode in ("nearest", "nearest-exact", "area") or _MODES.get(mode) == dims:
            return
        if mode in ("linear", "bilinear", "trilinear"):
            raise NotImplementedError(f"Got {dims}D input, but {mode} mode needs {_MODES[mode]}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported"
        f" (got {dims}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
        f"nearest-exact (got {mode})"
    )


def _kept(sizes: Sizes | Sequence[int | None], input: Tensor, dims: int) -> list[int]:
    """The sizes that are asked for; None keeps what the input has."""
    if isinstance(sizes, int):
        return [sizes] * dims
    if len(sizes) >= input.dim():
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [old if new is None else new for new, old in zip(sizes, input.shape[-len(sizes) :], strict=True)]


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """Averages of ``output_size`` parts of about equal length."""
    (length,) = [output_size] if isinstance(output_size, int) else output_size
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self'"
        )
    return _engine._nn_adaptive_average(input.unsqueeze(-2), (1, length)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Sizes | Sequence[int | None]) -> Tensor:
    """Averages of so many parts in height and width; None: as many as there are."""
    return _engine._nn_adaptive_average(input, _kept(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Sizes | Sequence[int | None]) -> Tensor:
    """Averages of so many parts in depth, height and width; None: as many as there are."""
    return _engine._nn_adaptive_average(input, _kept(output_size, input, 3))


_AREAS = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


def _pair(value: Sizes) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value)


def unfold(input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1) -> Tensor:
    """The patches of pictures as columns: ``(batch, channels * elements, patches)``. RuntimeError: none fits."""
    return _engine._nn_im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Columns of patches added up to pictures of ``output_size``: what the gradient of `unfold` is."""
    settings = (_pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
    return _engine._nn_col2im(input, _pair(output_size), *settings)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """A border of ``value``: two numbers for each dimension, from the last one on. Negative ones cut off.

    RuntimeError: an odd number of them, too many. NotImplementedError: other modes than "constant".
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode != "constant":
        raise NotImplementedError(f"gradlife's engine pads with a constant, not by mode {mode!r}")
    return _engine.constant_pad_nd(input, list(pad), 0 if value is None else value)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norms of the differences of each two rows."""
    return _engine.pdist(input, p)
