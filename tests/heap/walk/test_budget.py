"""Questions that look at a part of the heap only: what they find is true, and they say what they left out."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from gradlife.heap import snapshot, why
from gradlife.model.trace import Lifetime

ROOMS: dict[str, Any] = {}


class Thing:
    held: Any


def chain_of(length: int) -> weakref.ref[Thing]:
    """A thing that is so many references away from a variable."""
    last = Thing()
    reference = weakref.ref(last)
    holder = last
    for _ in range(length):
        outer = Thing()
        outer.held = holder
        holder = outer
    ROOMS["chain"] = holder
    return reference


def limit(limits: tuple[str, ...]) -> list[str]:
    return [sentence for sentence in limits if "budget" in sentence]


def test_what_is_near_a_root_is_found_within_a_budget() -> None:
    thing = Thing()
    trace = why(thing, budget=1000)
    assert (trace.lifetime, [step.via for step in trace.steps]) == (Lifetime.HELD, ["local variable 'thing'", ""])
    assert limit(trace.limits) == [
        "only the 1000 objects nearest to the roots were looked at (the budget): this answer is partial"
    ]
    assert (trace.ledger.is_partial, trace.ledger.unaccounted) == (True, 0)


def test_what_is_far_is_not_said_to_leak() -> None:
    trace = why(chain_of(3000)(), budget=20)
    ROOMS.clear()
    assert (trace.lifetime, trace.steps, trace.cycle) == (Lifetime.UNKNOWN, (), ())
    assert limit(trace.limits)


def test_budget_that_the_heap_does_not_fill_leaves_nothing_out() -> None:
    thing = Thing()
    whole = why(thing)
    trace = why(thing, budget=10**15)
    assert (trace.steps[0].via, trace.ledger.count, trace.limits) == (whole.steps[0].via, 1, whole.limits)
    assert not trace.ledger.is_partial


def test_snapshot_within_a_budget_says_so() -> None:
    part = snapshot(budget=2000)
    assert limit(part.limits)
    assert part.objects < snapshot().objects
    assert part.largest(1)[0].retained > 0


@pytest.mark.parametrize("budget", [0, -1])
def test_budget_below_one_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match=f"a budget is a number of objects, at least 1, not {budget}"):
        why(1, budget=budget)
    with pytest.raises(ValueError, match="a budget is a number"):
        snapshot(budget=budget)
