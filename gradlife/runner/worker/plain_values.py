"""Convert a story's values to plain JSON that can be compared between systems."""

from __future__ import annotations

import math
import re
from typing import Any

_LINK = re.compile(r"https?:/+[^\s\"')]*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_CXX_PLACE = re.compile(r" \(\S+ at \S+:\d+\)$")
_NO_DICT = " and no __dict__ for setting new attributes"
_PATH = re.compile(r"(?:/[\w.+-]+){2,}/([\w.+-]+)")

#: Longest exception text.
TEXT_LIMIT = 330


def scrub(text: str) -> str:
    """Remove links, addresses and folders from a text: they differ between runs."""
    text = _LINK.sub("(link)", text)
    text = _ADDRESS.sub("0xADDR", text)
    return _PATH.sub(r"\1", text)


def exception_text(error: BaseException) -> str:
    """Format an exception as `Type: first line of its text`, scrubbed; only `Type` if it has no text.

    The C++ source location, which releases up to 1.5 append, is dropped: it depends on the build. So is what Python 3.14
    appends where an object takes no attributes.
    """
    name = type(error).__name__
    lines = str(error).strip().replace(_NO_DICT, "").splitlines()
    return scrub(_CXX_PLACE.sub("", f"{name}: {lines[0].strip()}"))[:TEXT_LIMIT] if lines else name


def number(value: float) -> Any:
    """Round a float to 6 significant digits, the precision of float32; return text for values that JSON lacks."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(float(value))


def simple(value: Any) -> Any:
    """Convert a value to JSON: a tensor by its numbers; anything unknown by its type's name."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {str(key): simple(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [simple(item) for item in value]
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and not isinstance(value, type):
        return simple(to_list())
    return f"<{type(value).__name__}>"
