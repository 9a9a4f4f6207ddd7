"""Tensors as text in PyTorch's layout: columns of equal width, long dimensions shortened in the middle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gradlife import _engine

# PyTorch's defaults: digits after the point, elements before shortening, elements kept at each edge, line width.
_PRECISION = 4
_THRESHOLD = 1000
_EDGE_ITEMS = 3
_LINE_WIDTH = 80


def _format_for(values: list[Any]) -> _Format | _ComplexFormat:
    if any(isinstance(value, complex) for value in values):
        return _ComplexFormat(values)
    return _Format(values)


class _ComplexFormat:
    """The format of a tensor's complex numbers: real and imaginary part are formatted separately."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Format([value.real for value in values])
        self.imaginary = _Format([value.imag for value in values])
        self.width = self.real.width + self.imaginary.width + 1

    def __call__(self, value: complex) -> str:
        imaginary = f"{self.imaginary(value.imag)}j".lstrip()
        return self.real(value.real) + ("" if imaginary[0] in "+-" else "+") + imaginary


class _Format:
    """The narrowest format that shows every number of a tensor."""

    def __init__(self, values: list[Any]) -> None:
        self.is_float = any(isinstance(value, float) for value in values)
        self.is_whole = True
        self.is_scientific = False
        self.width = 1
        if not self.is_float:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        sized = [value for value in values if math.isfinite(value) and value != 0]
        if sized:
            self._choose(sized)

    def _choose(self, values: list[float]) -> None:
        smallest, largest = min(map(abs, values)), max(map(abs, values))
        self.is_whole = all(value == math.ceil(value) for value in values)
        spread = largest / smallest > 1000.0 or largest > 1.0e8
        self.is_scientific = spread or (not self.is_whole and smallest < 1.0e-4)
        self.width = max(self.width, *(len(self._plain(value)) for value in values))

    def _plain(self, value: float) -> str:
        if self.is_scientific:
            return f"{value:.{_PRECISION}e}"
        if self.is_whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{_PRECISION}f}"

    def __call__(self, value: Any) -> str:
        return (self._plain(value) if self.is_float else str(value)).rjust(self.width)


def text_of(tensor: Any, prefix: str) -> str:
    """Format ``tensor`` with ``prefix`` and with the attributes that the values do not show."""
    values = tensor.detach()
    if values.numel() == 0:
        body = "[]"
    else:
        shown = _shown(values, values.numel() > _THRESHOLD)
        body = _body(shown, _format_for(list(_flat(shown))), len(prefix))
    return _with_suffixes(prefix + body, _suffixes(tensor), len(prefix))


def _suffixes(tensor: Any) -> Iterator[str]:
    default = _engine.float32
    if tensor.numel() == 0:
        if tensor.dim() != 1:
            yield f"size={tuple(tensor.shape)}"
        if tensor.dtype is not default:
            yield f"dtype={tensor.dtype}"
    elif tensor.dtype not in (default, _engine.complex64, _engine.int64, _engine.bool):
        yield f"dtype={tensor.dtype}"
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view that must not be changed in place, and whose base was
        yield "grad_fn=<Invalid>"
        return
    if node is not None:
        yield f"grad_fn=<{type(node).__name__}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"


def _shown(values: Any, is_cut: bool) -> Any:
    """Return the printed elements as nested lists, with `...` for omitted ones. At most eight levels deep."""
    if values.dim() == 0:
        return values.item()
    size, edge = values.size(0), _EDGE_ITEMS
    if not is_cut or size <= 2 * edge:
        return [_shown(values.select(0, i), is_cut) for i in range(size)] if values.dim() > 1 else values.tolist()
    first = [_shown(values.select(0, i), is_cut) for i in range(edge)]
    return [*first, ..., *(_shown(values.select(0, i), is_cut) for i in range(size - edge, size))]


def _flat(shown: Any) -> Iterator[Any]:
    if isinstance(shown, list):
        for item in shown:
            yield from _flat(item)
    elif shown is not ...:
        yield shown


def _depth(shown: Any) -> int:
    depth = 0
    while isinstance(shown, list):
        depth += 1
        shown = next((item for item in shown if item is not ...), None)
    return depth


def _body(shown: Any, write: _Format | _ComplexFormat, indent: int) -> str:
    depth = _depth(shown)
    if depth == 0:
        return write(shown)
    if depth == 1:
        return _row(shown, write, indent)
    parts = ["..." if item is ... else _body(item, write, indent + 1) for item in shown]
    return "[" + ("," + "\n" * (depth - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(shown: list[Any], write: _Format | _ComplexFormat, indent: int) -> str:
    each = max(1, (_LINE_WIDTH - indent) // (write.width + 2))
    items = [" ..." if item is ... else write(item) for item in shown]
    lines = [", ".join(items[start : start + each]) for start in range(0, len(items), each)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: Iterator[str], indent: int) -> str:
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > _LINE_WIDTH:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
