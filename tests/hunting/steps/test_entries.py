"""Counting entries of functions by their code."""

from __future__ import annotations

import pickle
import sys
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from gradlife.hunting.steps.entries import Entry, new_entries, plain_code


def work(number: int) -> int:
    return number + 1


def test_entries_are_counted_until_the_function_is_dropped() -> None:
    entries, code = new_entries(), work.__code__
    (entry,) = entries.watch([code])
    heard: list[int] = []
    entry.on_entry = lambda: heard.append(entry.count)
    assert [work(1), work(2)] == [2, 3]
    entries.drop(entry)
    assert work(3) == 4
    assert (entry.count, heard) == (2, [1, 2])
    assert work.__code__ is code


@pytest.mark.parametrize("install", [sys.setprofile, sys.settrace])
def test_a_profile_or_trace_function_of_the_program_stays_and_hears_its_own_functions_only(
    install: Callable[[Any], None],
) -> None:
    seen: list[str] = []

    def hear(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    entries = new_entries()
    (entry,) = entries.watch([work.__code__])
    before = sys.getprofile(), sys.gettrace()
    install(hear)
    work(1)
    sys.setprofile(before[0])
    sys.settrace(before[1])
    entries.drop(entry)
    assert (entry.count, seen) == (1, ["work"])


def test_functions_that_a_program_will_define_are_counted_from_the_first_call_on() -> None:
    source = "class A:\n def f(self): return 1\ndef g(): return A().f()\nresult = [g() for _ in range(3)]"
    entries = new_entries()
    code, found = entries.watch_in(compile(source, "program.py", "exec"), {"A.f", "g"})
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["result"] == [1, 1, 1]
    assert {entry.code.co_qualname: entry.count for entry in found} == {"A.f": 3, "g": 3}
    assert isinstance(names["g"], FunctionType)
    assert plain_code(names["g"].__code__).co_qualname == "g"
    for entry in found:
        entries.drop(entry)


def walk(depth: int) -> int:
    return depth and walk(depth - 1)


def test_entries_from_within_are_none_also_where_the_outer_one_came_before_the_count() -> None:
    """Each nested call of a module was a step, and what one pass collects seemed to grow."""
    entries = new_entries()
    found: list[Entry] = []

    def outer(depth: int) -> int:
        if not found:
            found.extend(entries.watch([outer.__code__]))
        return depth and outer(depth - 1)

    outer(3)
    assert found[0].count == 0
    outer(3)
    assert found[0].count == 1
    (entry,) = entries.watch([walk.__code__])
    heard: list[int] = []
    entry.on_entry = lambda: heard.append(entry.count)
    walk(3)
    walk(0)
    assert (entry.count, heard) == (2, [1, 2])
    entry.is_exact = False
    walk(3)
    assert entry.count == 6
    for one in (entry, *found):
        entries.drop(one)
    assert walk(2) == 0
    assert entry.count == 6


def test_an_entry_that_is_dropped_is_freed() -> None:
    entries = new_entries()
    (entry,) = entries.watch([work.__code__])
    alive = weakref.ref(entry)
    entries.drop(entry)
    del entry
    assert alive() is None


def test_what_counts_is_nothing_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(Entry(work.__code__)))() == 0
