"""Reads objects of the program without running its code: no `__eq__`, `__getattribute__`, `__class__` nor metaclass of it.

`==`, `in`, `getattr`, `isinstance`, `len` and `bool` all may run code of the object's class.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_qualified_name = type.__dict__["__qualname__"].__get__


def loaded(name: str) -> ModuleType | None:
    """Return a loaded module; None if there is none, or another object in its place."""
    found = sys.modules.get(name)
    return found if type(found) is ModuleType else None


def loaded_modules() -> list[tuple[str, ModuleType]]:
    """Return the loaded modules and their names, in the order of their imports."""
    items = list(sys.modules.items())
    return [(name, module) for name, module in items if type(name) is str and type(module) is ModuleType]


def member(module: str, name: str, default: object = None) -> Any:
    """Return a name of a loaded module, without the module's own `__getattr__`; ``default`` if it has none."""
    found = loaded(module)
    return default if found is None else vars(found).get(name, default)


def is_initializing(module: ModuleType) -> bool:
    """Whether a module is still being imported. Another thread that called it then would wait for the importing one, which
    may wait for it.
    """
    spec = vars(module).get("__spec__")
    return type(spec) is ModuleSpec and vars(spec).get("_initializing") is True


def is_a(obj: object, kind: type) -> bool:
    """Whether an object is an instance of a class of Python's own. `isinstance` would ask for its `__class__`."""
    return issubclass(type(obj), kind)


def class_name(obj: object) -> str:
    """Return the qualified name of an object's class."""
    return str.__str__(_qualified_name(type(obj)))


def exact_text(obj: object) -> str | None:
    """Return a plain string; None for anything else."""
    return obj if type(obj) is str else None


__all__ = ["class_name", "exact_text", "is_a", "is_initializing", "loaded", "loaded_modules", "member"]
