"""Error messages of modules for refused names and objects."""

from __future__ import annotations

from typing import Any


def checked_name(owner: Any, kind: str, name: Any, entries: dict[str, Any]) -> None:
    """Raise if ``name`` cannot be the name of a parameter, buffer or child of ``owner``."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(owner, name) and name not in entries:
        raise KeyError(f"attribute '{name}' already exists")
