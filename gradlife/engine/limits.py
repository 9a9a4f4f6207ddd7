"""What numbers a dtype can hold."""

from __future__ import annotations

from gradlife._engine import bool as boolean
from gradlife._engine import dtype as _dtype
from gradlife._engine import float32, float64


class iinfo:
    """The range of an integer dtype. Errors (TypeError): the dtype is floating, or bool."""

    bits: int
    min: int
    max: int
    dtype: str

    def __init__(self, dtype: _dtype) -> None:
        if dtype.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if dtype is boolean:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.bits = dtype.itemsize * 8
        self.max = 2 ** (self.bits - 1) - 1
        self.min = -self.max - 1
        self.dtype = str(dtype).removeprefix("torch.")

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class finfo:
    """The range and precision of a floating dtype. Error (TypeError): it is none."""

    bits: int
    eps: float
    min: float
    max: float
    tiny: float
    smallest_normal: float
    resolution: float
    dtype: str

    def __init__(self, dtype: _dtype = float32) -> None:
        if not dtype.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        digits, exponent = (52, 1023) if dtype is float64 else (23, 127)
        self.bits = dtype.itemsize * 8
        self.eps = 2.0**-digits
        self.max = (2 - self.eps) * 2.0**exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = 1e-15 if dtype is float64 else 1e-06
        self.dtype = str(dtype).removeprefix("torch.")

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
