"""A call that a function's code begins with changes nothing else of the function."""

from __future__ import annotations

import asyncio
import dis
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradlife.hunting.steps.code_prefix import after_resume, with_call

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 tells of calls by itself")


def prefixed(function: Any) -> tuple[Any, list[int]]:
    """The function with a call that counts."""
    calls: list[int] = []
    function.__code__ = with_call(function.__code__, lambda: calls.append(1))
    return function, calls


def test_each_call_is_heard_and_does_what_it_did() -> None:
    def add(a: int, b: int = 2, *rest: int, c: int = 3, **named: int) -> int:
        return a + b + sum(rest) + c + sum(named.values())

    signature = inspect.signature(add)
    function, calls = prefixed(add)
    assert (function(1), function(1, 1, 1, c=1, d=1)) == (6, 5)
    assert len(calls) == 2
    assert inspect.signature(function) == signature


def test_a_closure_keeps_its_cells() -> None:
    total = [0]

    def outer(step: int) -> Callable[[], int]:
        def inner() -> int:
            total[0] += step
            return total[0]

        return inner

    function, calls = prefixed(outer)
    inner, inner_calls = prefixed(function(3))
    assert (inner(), inner()) == (3, 6)
    assert (len(calls), len(inner_calls)) == (1, 2)


def test_a_generator_is_heard_once_when_it_begins() -> None:
    def count() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            yield 3

    function, calls = prefixed(count)
    generator = function()
    assert calls == []
    assert list(generator) == [1, 2, 3]
    assert calls == [1]


def test_a_coroutine_is_heard_once_however_often_it_waits() -> None:
    async def wait() -> int:
        for _ in range(3):
            await asyncio.sleep(0)
        return 7

    function, calls = prefixed(wait)
    assert inspect.iscoroutinefunction(function)
    assert asyncio.run(function()) == 7
    assert calls == [1]


def test_handlers_and_lines_of_tracebacks_stay() -> None:
    def careful(value: int) -> int:
        try:
            with pytest.raises(ZeroDivisionError):
                divmod(1, 0)
            return 10 // value
        except ZeroDivisionError:
            return -1

    def fails() -> None:
        raise ValueError

    first = fails.__code__.co_firstlineno
    function, _ = prefixed(careful)
    assert (function(5), function(0)) == (2, -1)
    failing, _ = prefixed(fails)
    with pytest.raises(ValueError) as caught:
        failing()
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == first + 1


def test_a_function_with_many_constants_is_heard() -> None:
    names: dict[str, Any] = {}
    exec("def many():\n return [" + ", ".join(f"{number}.5 * x" for number in range(300)) + "]", {"x": 2}, names)
    function, calls = prefixed(names["many"])
    assert function()[299] == 599.0
    assert calls == [1]


def test_positions_and_handlers_of_all_functions_at_hand_move_by_the_call() -> None:
    checked = 0
    for module in (asyncio.base_events, asyncio.tasks, inspect, dis, types):
        for function in vars(module).values():
            if isinstance(function, types.FunctionType):
                check_code(function.__code__)
                checked += 1
    assert checked > 100


def check_code(code: types.CodeType) -> None:
    new = with_call(code, list)
    at = after_resume(code.co_code)
    count = (len(new.co_code) - len(code.co_code)) // 2
    plain, moved = list(code.co_positions()), list(new.co_positions())
    assert plain == moved[:at] + moved[at + count :]
    assert moved[at : at + count] == [(None,) * 4] * count
    handlers = zip(handlers_of(code), handlers_of(new), strict=True)
    for before, after in handlers:
        shifted = [
            one + 2 * count if one > 2 * at or (one == 2 * at and n != 1) else one for n, one in enumerate(before[:3])
        ]
        assert (*shifted, *before[3:]) == after


def handlers_of(code: types.CodeType) -> list[tuple[int, int, int, int, bool]]:
    return [
        (one.start, one.end, one.target, one.depth, one.lasti)
        for one in dis._parse_exception_table(code)  # type: ignore[attr-defined]
    ]
