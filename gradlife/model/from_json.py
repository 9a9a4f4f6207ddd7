"""Build dataclasses from JSON by their annotations: nested dataclasses, tuples and enumerations."""

from __future__ import annotations

import functools
import json
import math
import os
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

from gradlife.errors import shortened

#: The largest number of a report, such as the bound of a deque; of a size in bytes, which pages divide; of an address.
LARGEST, LARGEST_SIZE, LARGEST_ADDRESS = 2**63, 2**53, 2**64

#: Fields that are sizes in bytes, beside those with `bytes` in their name.
SIZES = frozenset({"devices", "uses"})

#: Fields that are addresses, or that some systems number by one.
ADDRESSES = frozenset({"address", "stream"})

#: The largest document that is read, in bytes. A device such as /dev/zero never ends.
MOST_BYTES, PART = 1 << 28, 1 << 20


def document_text(path: str | os.PathLike[str]) -> str:
    """Read the text of a document, from a file or a pipe. Raises OSError, and ValueError for what is no text or too long."""
    data = bytearray()
    with open(path, "rb") as file:
        while part := file.read(PART):  # a read of the most would allocate it, whatever the file has
            data += part
            if len(data) > MOST_BYTES:
                raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return data.decode("utf-8")


def parsed(text: str) -> Any:
    """Parse JSON. Raises ValueError, also for NaN, and for text that is nested too deep. Half characters become `?`."""
    try:
        document = json.loads(text, parse_constant=refuse, parse_float=finite)
        if "\\ud" not in text.lower():
            return document
        return json.loads(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def refuse(name: str) -> NoReturn:
    """Refuse a number that is none: NaN or Infinity."""
    raise ValueError(f"{name} is no number")


def finite(text: str) -> float:
    """Return a number. Raises ValueError for one that is too large, such as 1e999."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def value_words(value: Any) -> str:
    """Return a plain value as an error shows it, and anything else by its type: it may be as long as the file."""
    if isinstance(value, str):
        return shortened(repr(value[:100]))
    is_short = not value or isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64)
    return repr(value) if is_short else f"a value of type {type(value).__name__}"


def built(hint: Any, value: Any) -> Any:
    """Build a value of an annotated type. Raises TypeError, KeyError or ValueError if the JSON does not fit.

    Unknown fields, which a later minor version may add, are ignored.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (other,) = (one for one in arguments if one is not NoneType)
        return None if value is None else built(other, value)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{value_words(value)} is no list")
        return tuple(built(arguments[0], item) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{value_words(value)} is no object")
        return {str(key): built(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        types = types_of(hint)
        return hint(
            **{
                name: address(item) if name in ADDRESSES else sized(name, built(types[name], item))
                for name, item in value.items()
                if name in types
            }
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return checked(hint, value)


def sized(name: str, value: Any) -> Any:
    """Return the value of a field. Raises ValueError for a size that no memory has."""
    if "bytes" in name or name in SIZES:
        numbers = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(one, (int, float)) and abs(one) > LARGEST_SIZE for one in numbers):
            raise ValueError("a size is larger than any memory")
    return value


def address(value: Any) -> int:
    """Check an address. Raises TypeError or ValueError."""
    if not isinstance(value, int):
        raise TypeError(f"{value_words(value)} is no address")
    if not 0 <= value < LARGEST_ADDRESS:
        raise ValueError("an address is too large")
    return value


def checked(hint: Any, value: Any) -> Any:
    """Check a plain value's type and size; JSON may have an integer for a float."""
    allowed = (int, float) if hint is float else hint
    if not isinstance(value, allowed):
        raise TypeError(f"{value_words(value)} is no {hint.__name__}")
    if hint in (int, float) and abs(value) > LARGEST:
        raise ValueError("a number is too large")
    return value


@functools.cache
def types_of(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a dataclass and their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def encodable(text: str) -> str:
    """Return the text with a `?` for each half character, which is how Python reads names that are not UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
