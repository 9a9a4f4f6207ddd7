"""Reads objects of the program without running its code: no `__eq__`, `__getattribute__`, `__class__` nor metaclass of it.

`==`, `in`, `getattr`, `isinstance`, `len` and `bool` all may run code of the object's class.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)
from typing import Any, TypeAlias

#: An object of a class of torch, Python, pytest, IPython or gradlife that no program replaces: it may be asked.
LibraryObject: TypeAlias = Any

#: Functions whose names are their own.
FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)

_qualified_name = type.__dict__["__qualname__"].__get__
_name = type.__dict__["__name__"].__get__
_names_of_class = type.__dict__["__dict__"].__get__
_bases_of_class = type.__dict__["__mro__"].__get__
_traceback_of_error = BaseException.__dict__["__traceback__"].__get__
_arguments_of_error = BaseException.__dict__["args"].__get__


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


def is_a(obj: object, kind: type | tuple[type, ...]) -> bool:
    """Whether an object is an instance of a class of Python's own or of torch's. `isinstance` would ask for its `__class__`."""
    return issubclass(type(obj), kind)


def is_exactly(obj: object, kinds: Iterable[type]) -> bool:
    """Whether an object's class is one of these, and none derived from them. `in` would ask the metaclass."""
    own = type(obj)
    return any(kind is own for kind in kinds)


def class_name(obj: object) -> str:
    """Return the qualified name of an object's class."""
    return str.__str__(_qualified_name(type(obj)))


def short_class_name(obj: object) -> str:
    """Return the last name of an object's class."""
    return str.__str__(_name(type(obj)))


def base_names(obj: object) -> set[str]:
    """Return the qualified names of an object's class and of all its bases."""
    return {str.__str__(_qualified_name(kind)) for kind in _bases_of_class(type(obj))}


def class_module(obj: object) -> str:
    """Return the name of the module of an object's class; empty if it has no plain one."""
    return exact_text(_names_of_class(type(obj)).get("__module__")) or ""


def has_method(kind: type, name: str) -> bool:
    """Whether a class or one of its bases has a method of this name, itself and not by its metaclass."""
    found = (_names_of_class(base).get(name) for base in _bases_of_class(kind))
    return type(next((one for one in found if one is not None), None)) in (FunctionType, MethodDescriptorType)


def attributes(obj: object) -> dict[str, Any]:
    """Return an object's own attributes; empty if it has none, or if its class has put another object in place of them."""
    for kind in _bases_of_class(type(obj)):
        found = _names_of_class(kind).get("__dict__")
        if found is not None and type(found) is not GetSetDescriptorType:
            return {}
    try:
        own: dict[str, Any] = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}
    return own if is_a(own, dict) else {}


def stored_attribute(obj: object, name: str) -> Any:
    """Return what an object or a class of it stores under a name, without descriptors; None if there is nothing."""
    places = (attributes(obj), *map(_names_of_class, _bases_of_class(type(obj))))
    return next((place[name] for place in places if name in place), None)


def values_in(container: object) -> Iterable[Any]:
    """Return the items of a list or tuple and the values of a dict, without the iterator of a derived class; else none."""
    known: LibraryObject = container
    if is_a(container, tuple):
        return tuple.__iter__(known)
    if is_a(container, list):
        return list.__iter__(known)
    return dict.values(known) if is_a(container, dict) else ()


def function_name(function: object, *, is_whole: bool = False) -> str:
    """Return the last name of a function or method, or its qualified one; empty for another callable, whose class would be
    asked.
    """
    while type(function) is MethodType:
        function = function.__func__
    if not is_exactly(function, FUNCTIONS):
        return ""
    names: LibraryObject = function
    return exact_text(names.__qualname__ if is_whole else names.__name__) or ""


def function_module(function: object) -> str:
    """Return the name of a function's module; for another callable, that of its class."""
    while is_exactly(function, (functools.partial, MethodType)):
        function = function.func if type(function) is functools.partial else function.__func__  # type: ignore[attr-defined]
    if is_a(function, type):
        return exact_text(_names_of_class(function).get("__module__")) or ""
    if type(function) is FunctionType:
        return exact_text(function.__module__) or ""
    return class_module(function)


def error_text(error: BaseException) -> str:
    """Return the first text that an exception was given, without its `__str__`."""
    return next((text for one in _arguments_of_error(error) if (text := exact_text(one))), "")


def traceback_of(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception, without the attributes of its class."""
    found: TracebackType | None = _traceback_of_error(error)
    return found


def exact_text(obj: object) -> str | None:
    """Return a plain string; None for anything else."""
    return obj if type(obj) is str else None


__all__ = [
    "LibraryObject",
    "attributes",
    "base_names",
    "class_module",
    "class_name",
    "error_text",
    "exact_text",
    "function_module",
    "function_name",
    "is_a",
    "is_exactly",
    "is_initializing",
    "loaded",
    "loaded_modules",
    "member",
    "short_class_name",
    "stored_attribute",
    "traceback_of",
    "values_in",
]
