"""Build dataclasses from JSON by their annotations: nested dataclasses, tuples and enumerations."""

from __future__ import annotations

import functools
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


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
            raise TypeError(f"{value!r} is no list")
        return tuple(built(arguments[0], item) for item in value)
    if origin is dict:
        return {str(key): built(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        types = types_of(hint)
        return hint(**{name: built(types[name], item) for name, item in value.items() if name in types})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return checked(hint, value)


def checked(hint: Any, value: Any) -> Any:
    """Check a plain value's type; JSON may have an integer for a float."""
    allowed = (int, float) if hint is float else hint
    if not isinstance(value, allowed):
        raise TypeError(f"{value!r} is no {hint.__name__}")
    return value


@functools.cache
def types_of(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a dataclass and their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
