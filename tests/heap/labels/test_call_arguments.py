"""Arguments of a pending call are labelled with their parameters' names."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import gradlife
from gradlife.model.trace import Trace

pytestmark = pytest.mark.whole


class Thing:
    """The held object."""

    def take(self, batch: object) -> None:
        """A method that is given something."""


def called(first: object, batch: object = None, *rest: object) -> None:
    """A function that is given something."""


def last_reference(address: int) -> str:
    """By which the object there is held."""
    trace: Trace = gradlife.snapshot(user_text=True).why(address)
    return trace.steps[-2].via


def of_a_partial(function: Callable[..., object], *arguments: object) -> Any:
    return functools.partial(function, *arguments)


def of_a_thread(function: Callable[..., object], *arguments: object) -> Any:
    return threading.Thread(target=function, args=arguments)


def of_a_timer(function: Callable[..., object], *arguments: object) -> Any:
    return threading.Timer(1.0, function, arguments)


def of_attributes(function: Callable[..., object], *arguments: object) -> Any:
    return SimpleNamespace(_callback=function, _args=arguments, other=of_attributes)


@pytest.mark.whole
@pytest.mark.parametrize("make", [of_a_partial, of_a_thread, of_a_timer, of_attributes])
@pytest.mark.parametrize(
    ("function", "place", "words"),
    [
        (called, 0, "[0] (argument 'first' of called())"),
        (called, 1, "[1] (argument 'batch' of called())"),
        (called, 3, "[3] (argument '*rest' of called())"),
        (Thing().take, 0, "[0] (argument 'batch' of take())"),
        (print, 0, "[0]"),
    ],
)
def test_an_argument_is_named_by_the_parameter_that_it_is_for(
    make: Callable[..., Any], function: Callable[..., object], place: int, words: str
) -> None:
    holder = make(function, *(None for _ in range(place)), Thing())
    address = id((getattr(holder, "args", None) or holder._args)[-1])
    assert last_reference(address) == words


def test_a_finalizers_arguments_are_reported_too() -> None:
    owner = Thing()
    finalizer = weakref.finalize(owner, called, Thing())
    address = id(finalizer.peek()[2][0])  # type: ignore[index]
    assert last_reference(address) == "[0] (argument 'first' of called())"
    finalizer.detach()


@pytest.mark.parametrize(
    "holder",
    [SimpleNamespace(args=(Thing(),), one=called, two=of_a_partial), SimpleNamespace(parts=(Thing(),), one=called)],
)
def test_where_it_is_not_sure_what_is_called_none_is_reported(holder: SimpleNamespace) -> None:
    address = id((getattr(holder, "args", None) or holder.parts)[0])
    assert last_reference(address) == "[0]"


@pytest.mark.parametrize("key", ["args:called(first)", "_args:called(first)", "args\x1fcalled(first)", "args"])
def test_a_key_of_the_programs_own_is_no_call_whatever_it_looks_like(key: str) -> None:
    held = {key: (Thing(),), "one": called, "two": of_a_partial}
    trace: Trace = gradlife.snapshot(user_text=True).why(id(held[key][0]))  # type: ignore[index]
    assert [step.via for step in trace.steps[-3:-1]] == [f"['{key.replace(chr(31), '?')}']", "[0]"]
