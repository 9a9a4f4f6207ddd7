"""Variables of frames are read without a trace in them."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import AsyncIterator
from typing import Any

from gradlife.peaks.recording.variables import values_of, variables_now


class Value:
    """What a variable holds."""


def test_a_frame_keeps_nothing_of_the_variables_that_are_read() -> None:
    value = Value()
    alive = weakref.ref(value)
    assert values_of(sys._getframe())["value"] is value
    del value
    gc.collect()
    assert alive() is None


def test_objects_of_a_class_that_is_not_hashable_are_passed_over() -> None:
    """Their types were keys of a lookup: TypeError: unhashable type: 'Meta'."""
    meta = type("Meta", (type,), {"__eq__": lambda one, other: one is other})
    kept = [meta("Unhashable", (), {})() for _ in range(3)]
    value = Value()
    assert all(map(gc.is_tracked, kept))
    assert [one.name for one in variables_now()[id(value)]] == ["value"]


async def waiting(value: Value) -> None:
    await asyncio.sleep(1000)


async def yielding(value: Value) -> AsyncIterator[int]:
    yield 1


def test_a_coroutine_that_waits_names_what_it_holds() -> None:
    value = Value()
    handler = waiting(value)
    tasks: list[asyncio.Task[None]] = []

    async def start() -> None:
        tasks.append(asyncio.ensure_future(handler))
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(start())
    texts = [one.text() for one in variables_now()[id(value)]]
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    line = waiting.__code__.co_firstlineno
    assert f"local value of the coroutine waiting (test_variables.py:{line + 1})" in texts


def test_an_asynchronous_generator_names_what_it_holds() -> None:
    value = Value()
    made = yielding(value)
    texts = [one.text() for one in variables_now()[id(value)]]
    line = yielding.__code__.co_firstlineno
    assert f"local value of the generator yielding (test_variables.py:{line})" in texts
    del made


def test_what_the_program_has_of_its_variables_stays() -> None:
    value = Value()
    ours: dict[str, Any] = locals()
    assert values_of(sys._getframe())["value"] is value
    assert ours["value"] is value


def test_the_variables_of_a_module_stay() -> None:
    names: dict[str, Any] = {"sys": sys, "values_of": values_of}
    exec(compile("one = 1\nfound = values_of(sys._getframe())\n", "made up", "exec"), names)
    assert (names["one"], names["found"]["one"]) == (1, 1)
