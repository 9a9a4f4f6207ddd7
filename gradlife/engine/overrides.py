"""``torch.overrides``: classes of tensors that take over what is done to them.

A class with a ``__torch_function__`` of its own is asked instead of each function that one of its tensors is given to, and
instead of each method and attribute of it: these are put into the class when it is made. It is not asked by the methods of
plain tensors that its own are given to, nor by what ``nn.functional`` computes without a function of ``torch``. Releases
before 1.7 ask nobody.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from gradlife import _engine

__all__ = ["handle_torch_function", "has_torch_function", "is_tensor_like"]

#: What a class is made of, or what says what it is: never asked of a __torch_function__.
_OWN = frozenset(
    (
        "__class__",
        "__class_getitem__",
        "__delattr__",
        "__dict__",
        "__dir__",
        "__doc__",
        "__getattribute__",
        "__getstate__",
        "__hash__",
        "__init__",
        "__init_subclass__",
        "__module__",
        "__new__",
        "__setattr__",
        "__setstate__",
        "__sizeof__",
        "__slots__",
        "__subclasshook__",
        "__torch_function__",
        "__weakref__",
        "__dictoffset__",
        "__weaklistoffset__",
        "__array_priority__",
        "_make_bare_class",
        "_make_subclass",
        "as_subclass",
        "_overrides_torch_function",
    )
)


class DisableTorchFunctionSubclass:
    """A block in which no class is asked."""

    def __enter__(self) -> None:
        self._before = _engine._switch_torch_function_off(True)

    def __exit__(self, *error: object) -> None:
        _engine._switch_torch_function_off(self._before)


def disabled_torch_function_impl(*args: Any, **kwargs: Any) -> Any:
    """The ``__torch_function__`` of classes that are not to be asked. Arguments: function, types, args, kwargs."""
    function, _, arguments, named = (*args, *((), None)[len(args) - 2 :]) if len(args) < 4 else args
    with DisableTorchFunctionSubclass():
        return function(*kwargs.get("args", arguments), **(kwargs.get("kwargs", named) or {}))


def default_torch_function(cls: Any, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """Compute as for plain tensors and give the results the class: the default of ``Tensor.__torch_function__``."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if _keeps_class(func) else _as(result, cls)


def _keeps_class(func: Any) -> bool:
    """Does it read `.grad` or `._base`? Their values keep their own class."""
    owner = getattr(func, "__self__", None)
    return getattr(owner, "__name__", "") in ("grad", "_base")


def _as(result: Any, cls: Any) -> Any:
    if isinstance(result, _engine.TensorBase):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if type(result) in (tuple, list):
        return type(result)(_as(each, cls) for each in result)
    return result


def is_tensor_like(inp: Any) -> bool:
    """Return whether it is a tensor, or of a class that overrides functions of tensors."""
    return isinstance(inp, _engine.TensorBase) or hasattr(type(inp), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of these is of a class that overrides functions of tensors."""
    return any(_engine._overrides_torch_function(each) for each in relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Asks the classes of ``relevant_args``, subclasses first. TypeError: all of them gave NotImplemented."""
    asked: list[Any] = []
    for each in relevant_args:
        if not _engine._overrides_torch_function(each) or any(type(each) is type(other) for other in asked):
            continue
        place = next((i for i, other in enumerate(asked) if issubclass(type(each), type(other))), len(asked))
        asked.insert(place, each)
    types = tuple(type(each) for each in asked)
    for each in asked:
        result = type(each).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(public_api, '__module__', None)}.{getattr(public_api, '__name__', public_api)}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: {[type(e) for e in asked]}"
    )


def _ask(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return handle_torch_function(function, _flat((*args, *kwargs.values())), *args, **kwargs)


def _flat(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += value if isinstance(value, (list, tuple)) else [value]
    return flat


def _asking_method(original: Any) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_torch_function(_flat((*args, *kwargs.values()))):
            return original(*args, **kwargs)
        return _ask(original, args, kwargs)

    return call


def _asking_attribute(original: Any) -> property:
    def read(self: Any) -> Any:
        return _ask(original.__get__, (self,), {}) if has_torch_function((self,)) else original.__get__(self)

    def write(self: Any, value: Any) -> None:
        if has_torch_function((self, value)):
            _ask(original.__set__, (self, value), {})
        else:
            original.__set__(self, value)

    def remove(self: Any) -> None:
        original.__delete__(self)

    return property(read, write, remove, original.__doc__)


@functools.cache
def _asking(base: type) -> dict[str, Any]:
    """All of a tensor's methods and attributes, in a form that asks the class first."""
    asking = {}
    for name in dir(base):
        found = next((vars(each)[name] for each in base.__mro__ if name in vars(each)), None)
        if name in _OWN or found is None or isinstance(found, (classmethod, staticmethod)):
            continue
        asking[name] = _asking_attribute(found) if hasattr(type(found), "__set__") else _asking_method(found)
    return asking


def prepare(cls: Any, base: type) -> None:
    """Lets a new subclass of ``base`` (`Tensor`) be asked, if it has a ``__torch_function__`` of its own or of a parent's."""
    function = getattr(cls.__torch_function__, "__func__", cls.__torch_function__)
    is_own = function is not vars(base)["__torch_function__"].__func__ and function is not disabled_torch_function_impl
    if not is_own:
        if getattr(cls, "_overrides_torch_function", False):
            cls._overrides_torch_function = False
        return
    above = [each for each in cls.__mro__ if each not in base.__mro__]
    for name, asking in _asking(base).items():
        if not any(name in vars(each) for each in above):
            setattr(cls, name, asking)
    cls._overrides_torch_function = True
    _engine._expect_overriding_types()


_engine._register("torch_function", _ask)
