"""Calls of one function, counted without changing its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradlife import _heap


def answer(depth: int = 0) -> int:
    return next(map(answer, [depth - 1])) + 1 if depth else 0


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    _heap.count_calls(None, None)


def call(times: int, depth: int = 0) -> int:
    """Call it from C, as Python calls the `__call__` of an object."""
    return sum(map(answer, [depth] * times))


def test_calls_within_others_do_not_count() -> None:
    code = answer.__code__
    _heap.count_calls(answer, lambda: None)
    assert (call(3, depth=2), _heap.counted_calls()) == (6, 3)
    assert answer.__code__ is code


def test_the_callback_is_called_before_the_call_that_reaches_the_limit() -> None:
    heard: list[int] = []
    _heap.count_calls(answer, lambda: heard.append(_heap.counted_calls()))
    _heap.set_counted_calls(10, 12)
    call(5)
    assert (heard, _heap.counted_calls()) == ([12], 15)


def test_an_error_of_the_callback_does_not_reach_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda raised: seen.append(raised.exc_type))
    _heap.count_calls(answer, lambda: [].pop())
    _heap.set_counted_calls(0, 1)
    assert (call(2), seen) == (0, [IndexError])


def test_the_end_leaves_the_function_as_it_was() -> None:
    _heap.count_calls(answer, lambda: None)
    _heap.count_calls(None, None)
    assert (call(2), _heap.counted_calls()) == (0, 0)


def test_a_count_needs_a_callback() -> None:
    with pytest.raises(TypeError, match="callback"):
        _heap.count_calls(answer, None)


def test_wrong_numbers_change_nothing() -> None:
    _heap.count_calls(answer, lambda: None)
    _heap.set_counted_calls(3, 9)
    with pytest.raises(TypeError):
        _heap.set_counted_calls(5, "nine")  # type: ignore[arg-type]
    assert _heap.counted_calls() == 3


@pytest.mark.parametrize("wrong", [len, 3, "answer"])
def test_only_python_functions_are_counted(wrong: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="Python function"):
        _heap.count_calls(wrong, lambda: None)
