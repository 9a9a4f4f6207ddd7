"""Paths of more than a thousand objects: their ends are described, and so is what is rare between them."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import gradlife
from gradlife.model.trace import Lifetime, PathStep, StepStatus, Trace
from gradlife.reports.html.traces import path_rows, trace_view

LINKS = 3_000


class Link:
    def __init__(self, following: object = None) -> None:
        self.following = following


class Rare(Link):
    pass


class Target:
    pass


def chained(end: object, count: int = LINKS) -> Link:
    """Return the first of this many links that lead to an object."""
    for _ in range(count):
        end = Link(end)
    assert isinstance(end, Link)
    return end


def trace_to(target: weakref.ref[Target], saved: bool) -> Trace:
    found: Any = gradlife.snapshot().why(id(target())) if saved else gradlife.why(target())
    assert isinstance(found, Trace)
    return found


def gaps(steps: tuple[PathStep, ...]) -> list[PathStep]:
    return [step for step in steps if step.kind == "gap"]


HEADS: list[object] = []


@pytest.fixture(autouse=True)
def empty_heads() -> Iterator[None]:
    yield
    HEADS.clear()


def hold(middle: type[Link] | None = None, count: int = LINKS) -> weakref.ref[Target]:
    """Put a chain into a global list whose last link holds a new target."""
    target = Target()
    HEADS.append(chained(middle(chained(target)) if middle is not None else target, count))
    return weakref.ref(target)


@pytest.mark.parametrize("saved", [False, True])
def test_a_long_path_shows_its_ends_and_counts_the_rest(saved: bool) -> None:
    trace = trace_to(hold(), saved)
    assert trace.lifetime is Lifetime.HELD
    (gap,) = gaps(trace.steps)
    links = [step for step in trace.steps if step.object == "Link"]
    assert len(links) + gap.count == LINKS
    assert len(trace.steps) < 200
    assert (trace.steps[0].object, trace.steps[0].via) == ("module", "global variable 'HEADS'")
    assert [step.object for step in trace.steps[-2:]] == ["Link", "Target"]
    assert trace.steps[-2].via == ".following"


def test_the_text_counts_the_objects_that_it_leaves_out() -> None:
    trace = trace_to(hold(), saved=False)
    lines = str(trace).splitlines()
    (line,) = [line for line in lines if "more objects" in line]
    shown = sum(line.startswith(("┌─", "├─", "╰→")) for line in lines)
    everything = sum(step.count for step in trace.steps)
    assert f"... {everything - shown:,} more objects ..." in line


def test_a_path_of_a_thousand_objects_is_whole() -> None:
    trace = trace_to(hold(count=900), saved=True)
    assert gaps(trace.steps) == []
    assert sum(step.object == "Link" for step in trace.steps) == 900


def test_an_object_of_a_rare_type_in_the_middle_is_shown() -> None:
    trace = trace_to(hold(Rare), saved=False)
    (rare,) = [step for step in trace.steps if step.object == "Rare"]
    assert rare.via == ".following"
    assert len(gaps(trace.steps)) == 2
    assert sum(step.count for step in trace.steps if step.object == "Link" or step.kind == "gap") == 2 * LINKS


def test_all_up_to_a_module_in_the_middle_is_expected() -> None:
    target = Target()
    module: Any = types.ModuleType("in_the_middle")
    module.kept = chained(target)
    HEADS.append(chained(module))
    held = weakref.ref(target)
    del module, target
    trace = trace_to(held, saved=False)
    at = next(number for number, step in enumerate(trace.steps) if step.detail == "in_the_middle")
    assert {step.status for step in trace.steps[: at + 1]} == {StepStatus.EXPECTED}
    assert not any(step.is_suspect for step in trace.steps[:at])
    assert all(step.is_suspect for step in trace.steps[at:-1])
    assert trace.steps[at].via == "global variable 'kept'"


def test_a_long_traceback_is_one_step() -> None:
    def descend(depth: int) -> None:
        target = Target()
        if depth:
            descend(depth - 1)
        HEADS.append(weakref.ref(target))
        raise ValueError(depth)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        descend(LINKS)
    except ValueError as error:
        HEADS.append(error)
    finally:
        sys.setrecursionlimit(limit)
    deepest = HEADS[0]
    assert isinstance(deepest, weakref.ref)
    trace = trace_to(deepest, saved=False)
    (step,) = [step for step in trace.steps if step.object == "ValueError"]
    assert step.via == ".__traceback__"
    assert gaps(trace.steps) == []


@pytest.mark.parametrize("saved", [False, True])
def test_a_long_cycle_shows_its_ends_and_counts_the_rest(saved: bool) -> None:
    gc.disable()
    try:
        target: Any = Target()
        target.following = chained(target)
        held = weakref.ref(target)
        del target
        trace = trace_to(held, saved)
    finally:
        gc.enable()
    assert trace.lifetime is Lifetime.GC
    assert len(trace.cycle) < 200
    assert sum(step.count for step in trace.cycle) == LINKS + 1
    lines = str(trace).splitlines()
    assert len(lines) < 200
    assert max(map(len, lines)) < 500


def test_the_page_of_a_long_cycle_counts_its_objects() -> None:
    gc.disable()
    try:
        target: Any = Target()
        target.following = chained(target)
        held = weakref.ref(target)
        del target
        view = trace_view(trace_to(held, saved=False))
    finally:
        gc.enable()
    assert view.ring is not None
    assert f"A cycle of {LINKS + 1:,} objects" in str(view.ring.wide)


def test_the_page_of_a_long_path_counts_its_objects() -> None:
    rows = path_rows(trace_to(hold(Rare), saved=False).steps)
    left_out = sum(row.more for row in rows if row.is_gap)
    assert 2 * LINKS - 500 < left_out < 2 * LINKS
    assert any(row.object == "Rare" for row in rows)
