"""``torch.overrides``: tensor classes that override functions of tensors.

A ``Tensor`` subclass receives each function, method, operator and attribute access on its tensors, unless its
``__torch_function__`` is disabled, like that of ``Parameter``. The default computes as for plain tensors and converts
the results to the class. Releases before 1.7 never call it.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NoReturn

from gradlife import _engine
from gradlife.engine.mode_blocks import Modes, StackedMode

_PLAIN_METHOD = "as a plain method is deprecated and will be an error in future, please define it as a classmethod."

_modes = Modes(_engine._watch_functions)


class TorchFunctionMode(StackedMode):
    """A block in which ``__torch_function__(func, types, args, kwargs)`` computes each function, often by ``func``.

    Functions of ``torch`` that are written in Python are not seen, only what they call; ``torch.tensor`` is not, either.
    """

    _modes = _modes

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError


class DisableTorchFunctionSubclass:
    """A block in which no class overrides."""

    def __enter__(self) -> None:
        self._before = _engine._switch_torch_function_off(True)

    def __exit__(self, *error: object) -> None:
        _engine._switch_torch_function_off(self._before)


def disabled_torch_function_impl(*args: Any, **kwargs: Any) -> Any:
    """The ``__torch_function__`` of classes that do not override. Arguments: function, types, args, kwargs."""
    function, _, arguments, named = (*args, *((), None)[len(args) - 2 :]) if len(args) < 4 else args
    with DisableTorchFunctionSubclass():
        return function(*kwargs.get("args", arguments), **(kwargs.get("kwargs", named) or {}))


def default_torch_function(cls: Any, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """Compute as for plain tensors and convert the results to the class: the default ``Tensor.__torch_function__``."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if _keeps_class(func) else _as(result, cls)


def _keeps_class(func: Any) -> bool:
    """Whether it reads `.grad` or `._base`, whose values keep their own class. Since 1.10."""
    owner = getattr(func, "__self__", None)
    return getattr(owner, "__name__", "") in ("grad", "_grad", "_base") and not _converts_always()


def _converts_always() -> bool:
    """Whether what is of the class already is converted again, as up to 1.9: also what an in-place change returns."""
    return _engine._current_release() < ("torch", 110)


def _as(result: Any, cls: Any) -> Any:
    if isinstance(result, _engine.TensorBase):
        return result if isinstance(result, cls) and not _converts_always() else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
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
    asked = _one_of_each_class(relevant_args, _has_own_function)
    result = _first_answer(public_api, asked, args, kwargs)
    if result is NotImplemented:
        module = str(getattr(public_api, "__module__", None)).replace("gradlife.engine", "torch")
        _refuse(f"{module}.{getattr(public_api, '__name__', public_api)}", asked)
    return result


def ask(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, with_plain: bool) -> Any:
    """Ask for a function, method or attribute of the extension; ``with_plain``: plain tensors are asked, too."""
    asks_first = getattr(function, "__name__", "") in ("__set__", "__eq__")  # only the class of the first argument
    given = args[:1] if asks_first else _flat((*args, *(kwargs or {}).values()))
    relevant = [each for each in given if not isinstance(each, (list, tuple))]
    watched = _engine._watch_functions(False)  # for a mode every class overrides
    try:
        asked = _one_of_each_class(relevant, _has_own_function if with_plain else _engine._overrides_torch_function)
    finally:
        _engine._watch_functions(watched)
    result = _first_answer(function, asked, args, kwargs)
    if result is not NotImplemented:
        return result
    if with_plain and kwargs is not None:  # a method that PyTorch has in Python
        _refuse(f"torch._tensor.{function.__name__}", asked)
    if _engine._current_release() < ("torch", 200):
        _refuse(_name_of(function), asked)
    classes = "".join(f"\n  - mode object {mode!r}" for mode in _modes.stack[-1:])
    classes += "".join(f"\n  - tensor subclass {type(each)}" for each in asked)
    raise TypeError(
        f"Multiple dispatch failed for '{_name_of(function)}'; all __torch_function__ handlers returned NotImplemented:\n"
        f"{classes}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _name_of(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, ModuleType) or inspect.isfunction(function):  # in PyTorch it is in a module in C++
        return f"torch.{'nn.' if owner is None else ''}{function.__name__}"
    return ".".join(("torch.Tensor", *([owner.__name__] if owner is not None else []), function.__name__))


def _refuse(name: str, asked: list[Any]) -> NoReturn:
    types = [type(each) for each in asked]
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {types}")


def _has_own_function(value: Any) -> bool:
    return getattr(type(value), "__torch_function__", disabled_torch_function_impl) is not disabled_torch_function_impl


def _one_of_each_class(values: Iterable[Any], is_asked: Callable[[Any], bool]) -> list[Any]:
    asked: list[Any] = []
    for each in values:
        if is_asked(each) and all(type(each) is not type(other) for other in asked):
            place = next((i for i, other in enumerate(asked) if issubclass(type(each), type(other))), len(asked))
            asked.insert(place, each)
    return asked


def _first_answer(function: Any, asked: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    types = tuple(type(each) for each in asked)
    if _modes.stack:
        with _modes.innermost() as mode:
            answer = mode.__torch_function__(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    named = () if kwargs is None else (kwargs,)
    answers = (_function_of(each, kwargs is None)(function, types, args, *named) for each in asked)
    return next((answer for answer in answers if answer is not NotImplemented), NotImplemented)


@functools.cache
def _warn_once() -> None:
    warnings.warn(f"Defining your `__torch_function__` {_PLAIN_METHOD}", UserWarning, stacklevel=7)


def _function_of(value: Any, is_cpp: bool) -> Callable[..., Any]:
    function: Callable[..., Any] = value.__torch_function__
    if getattr(function, "__self__", None) is value:
        if is_cpp:
            _warn_once()
        else:
            warnings.warn(f"Defining your `__torch_function__ {_PLAIN_METHOD}", DeprecationWarning, stacklevel=6)
    return function


def _flat(values: Iterable[Any]) -> list[Any]:
    return [each for value in values for each in (value if isinstance(value, (list, tuple)) else (value,))]


def asking(function: Any) -> Any:
    """Ask the classes of its tensors, for a method that of ``self``, before a function that PyTorch has in Python.

    What has a default is given by name.
    """
    signature = inspect.signature(function)
    optional = [each.name for each in signature.parameters.values() if each.default is not each.empty]
    is_method = "self" in signature.parameters

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        relevant = args[:1] if is_method else (*args, *kwargs.values())
        if not has_torch_function(relevant):
            return function(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        named = {name: given.arguments.pop(name) for name in optional}
        return handle_torch_function(call, relevant, *given.arguments.values(), **named)

    call.__module__ = "torch._tensor" if is_method else function.__module__
    return call


_engine._register("torch_function", ask)
_engine._register("disabled_torch_function", disabled_torch_function_impl)
