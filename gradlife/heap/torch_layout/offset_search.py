"""Find known addresses in torch objects: how calibration reads memory."""

from __future__ import annotations

from typing import Any

from gradlife import _heap

#: Bytes of an object that are searched: beyond any of these classes' own fields.
SEARCHED_BYTES = 640


def find(base: int | None, value: int | None, class_name: str = "", nbytes: int = SEARCHED_BYTES) -> int | None:
    """Find `value` in the object at `base`; with `class_name`, only if it points to an object of that class."""
    if base is None or value is None or (class_name and class_name not in (_heap._class_at(value) or "")):
        return None
    return _heap._find_word(base, nbytes, value)


def word_at(base: int | None, offset: int | None) -> int | None:
    """Return the word at an address, or None if it cannot be read."""
    return _heap._read_word(base + offset) if base is not None and offset is not None else None


def pointer_to_class(base: int | None, class_name: str, nbytes: int) -> tuple[int | None, int | None]:
    """Find the first word of an object that points at an instance of this class: its offset, and the word."""
    for offset in range(0, nbytes, 8) if base is not None else ():
        value = word_at(base, offset)
        if value and value % 8 == 0 and class_name in (_heap._class_at(value) or ""):
            return offset, value
    return None, None


def vector_of_class(base: int | None, class_name: str, start: int, stop: int) -> int | None:
    """Find the vector in an object whose first word points at an object of this class."""
    for offset in range(start, stop, 8) if base is not None else ():
        begin, end = word_at(base, offset), word_at(base, offset + 8)
        if begin and end and begin % 8 == 0 and begin < end and not _heap._class_at(begin):
            first = word_at(begin, 0)
            if first and class_name in (_heap._class_at(first) or ""):
                return offset
    return None


def meta_of(tensor: Any) -> int | None:
    """Return the address of a tensor's autograd metadata."""
    found = pointer_to_class(tensor._cdata, "AutogradMeta", 160)[1]
    return found if found is not None else pointer_to_class(tensor._cdata, "DifferentiableViewMeta", 160)[1]


def node_behind(wrapper: Any) -> int | None:
    """Return the address of the node behind a `grad_fn`, which has the same class name."""
    return pointer_to_class(id(wrapper), type(wrapper).__name__, 48)[1]


def node_of_context(ctx: Any) -> int | None:
    """Return the address of the node of a custom Function's ctx."""
    return pointer_to_class(id(ctx), "PyNode", type(ctx).__basicsize__)[1]


def halves_of(base: int, nbytes: int) -> list[int]:
    """Return an object's contents as 16-bit numbers; 0 where it cannot be read."""
    words = [word_at(base, offset) or 0 for offset in range(0, nbytes, 8)]
    return [word >> shift & 0xFFFF for word in words for shift in (0, 16, 32, 48)]
