"""Greenlets that wait (gevent, SQLAlchemy, Playwright): what only their frames hold is held, and the path names the
variable, whichever greenlet looks."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradlife.heap import refs, snapshot, why
from gradlife.model.trace import Lifetime, Trace

greenlet = pytest.importorskip("greenlet")


class Thing:
    """Something that one frame holds, and nothing else."""


references: list[weakref.ref[Thing]] = []


def handle() -> None:
    x = Thing()
    references.append(weakref.ref(x))
    wait(None)
    assert x


def wait(argument: object) -> object:
    greenlet.getcurrent().parent.switch()
    return argument


def started(target: Callable[..., object]) -> Any:
    """A greenlet that has run `target` up to its first switch."""
    references.clear()
    one = greenlet.greenlet(target)
    one.switch()
    return one


def names(trace: Trace) -> list[str]:
    """How each step of the path refers to the next."""
    return [step.via for step in trace.steps]


def test_variable_of_a_waiting_greenlet_keeps_its_object() -> None:
    one = started(handle)
    trace = why(references[0]())
    assert trace.lifetime is Lifetime.HELD
    assert names(trace) == ["local variable 'one'", "local variable 'x'", ""]
    assert trace.steps[1].object == "greenlet"
    one.switch()
    assert references[0]() is None


def test_a_walk_with_a_budget_looks_into_a_waiting_greenlet_too() -> None:
    """Such a walk has no list of the collector, and the collector asks nothing of a greenlet that waits."""
    one = started(handle)
    trace = why(references[0](), budget=200_000)
    assert (trace.lifetime, trace.steps[-2].object) == (Lifetime.HELD, "greenlet")
    one.switch()


def test_greenlet_is_described_by_where_its_first_function_waits() -> None:
    one = started(handle)
    assert why(one).detail == f"handle (test_greenlets.py:{handle.__code__.co_firstlineno + 3})"
    one.switch()


def test_greenlet_that_has_ended_or_not_begun_has_no_frame() -> None:
    ended, fresh = started(handle), greenlet.greenlet(handle)
    ended.switch()
    assert ended.dead
    assert [why(one).detail for one in (ended, fresh)] == ["", ""]


def test_waiting_parent_is_seen_from_the_greenlet_that_runs() -> None:
    found: list[Trace] = []

    def look() -> None:
        found.append(why(references[0]()))

    def parent() -> None:
        y = Thing()
        references.append(weakref.ref(y))
        greenlet.greenlet(look).switch()

    started(parent)
    [trace] = found
    assert trace.lifetime is Lifetime.HELD
    assert names(trace)[-2:] == ["local variable 'y'", ""]


def test_variables_of_the_thread_are_held_while_another_greenlet_runs() -> None:
    found: list[Trace] = []
    x = Thing()
    references.append(weakref.ref(x))
    greenlet.greenlet(lambda: found.append(why(references[-1]()))).switch()
    [trace] = found
    line = test_variables_of_the_thread_are_held_while_another_greenlet_runs.__code__.co_firstlineno + 4
    place = f"test_variables_of_the_thread_are_held_while_another_greenlet_runs (test_greenlets.py:{line})"
    assert [(step.detail, step.via) for step in trace.steps] == [(place, "local variable 'x'"), ("", "")]
    assert trace.ledger.unexplained == 0


def stream() -> Iterator[int]:
    z = Thing()
    references.append(weakref.ref(z))
    wait(None)
    yield 1
    assert z


@pytest.mark.parametrize("function", [handle, lambda: next(stream())], ids=["function", "generator"])
def test_each_reference_of_a_waiting_greenlet_is_explained_once(function: Callable[[], object]) -> None:
    one = started(function)
    ledger = refs(references[0]())
    assert (ledger.count, len(ledger.referrers), ledger.unaccounted) == (1, 1, 0)
    one.switch()


def test_generator_that_runs_in_a_waiting_greenlet_counts_once() -> None:
    one = started(lambda: next(stream()))
    trace = why(references[0]())
    assert trace.lifetime is Lifetime.HELD
    assert trace.ledger.unexplained == 0
    assert names(trace)[-2:] == ["local variable 'z'", ""]
    one.switch()


def test_snapshot_shows_what_a_waiting_greenlet_keeps() -> None:
    one = started(handle)
    assert names(snapshot().why(f"{__name__}.Thing"))[-2:] == ["local variable 'x'", ""]
    one.switch()


def test_greenlet_that_only_its_own_variable_holds_is_never_freed() -> None:
    """The collector does not see the frame. From Python 3.15 on it does."""

    def own() -> None:
        me = greenlet.getcurrent()
        wait(None)
        assert me

    one = started(own)
    kept = weakref.ref(one)
    del one
    gc.collect()
    if sys.version_info >= (3, 15):
        assert kept() is None
        return
    trace = why(kept())
    assert trace.lifetime is Lifetime.NEVER
    assert [step.via for step in trace.cycle] == ["local variable 'me'"]
    kept().switch()  # type: ignore[union-attr]
    assert kept() is None
