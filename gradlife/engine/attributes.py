"""Attributes of tensors besides their values: sizes, device, layout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradlife._engine import TensorBase


class Size(tuple[int, ...]):
    """The shape of a tensor."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        made = super().__new__(cls, sizes)
        for place, size in enumerate(made):
            if not hasattr(size, "__index__") or (isinstance(size, TensorBase) and size.dtype.is_floating_point):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {place} is '{type(size).__name__}')")
        return made

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(super().__add__(other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(super().__mul__(times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class device:
    """The device of a tensor: always the CPU here."""

    __slots__ = ("index", "type")
    index: int | None
    type: str

    def __init__(self, kind: Any = "cpu", index: int | None = None, *, type: Any = None) -> None:
        named = kind if type is None else type
        name, _, number = ("cpu", "", "") if isinstance(named, device) else str(named).partition(":")
        if name != "cpu":
            raise RuntimeError(f"gradlife's engine has no device '{named}', only 'cpu'")
        if str(named).endswith(":") or (number and not (number.isascii() and number.isdigit())):
            raise RuntimeError(f"Invalid device string: '{named}'")
        self.type = name
        self.index = named.index if isinstance(named, device) else int(number) if number else index

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __repr__(self) -> str:
        return "device(type='cpu')" if self.index is None else f"device(type='cpu', index={self.index})"

    def __str__(self) -> str:
        return "cpu" if self.index is None else f"cpu:{self.index}"

    def __eq__(self, other: object) -> bool:
        """Compare without the index: there is one CPU."""
        return isinstance(other, device) or (isinstance(other, str) and other.partition(":")[0] == "cpu")

    def __hash__(self) -> int:
        return hash("cpu")


class layout:
    """The memory layout of a tensor: always strided here."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "strided"

    def __repr__(self) -> str:
        return "torch.strided"


strided: layout = layout()


class memory_format:
    """The order of dimensions in memory: contiguous, or that of another tensor."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
