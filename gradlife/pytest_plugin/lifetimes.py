"""The fixture ``lifetimes``: a test's assertions about the lifetimes of its own objects."""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from gradlife.errors import UsageError
from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording
from gradlife.model.hunt import UNKNOWN_CODE, Finding, FindingKind
from gradlife.model.trace import Lifetime
from gradlife.probes.expiry import Watch, watch_object
from gradlife.pytest_plugin.checks import growth, object_counts, why_alive
from gradlife.pytest_plugin.checks.identity import unstable_aspects
from gradlife.pytest_plugin.checks.sweep import launcher
from gradlife.pytest_plugin.outcomes import messages
from gradlife.safe_access import is_a, short_class_name, values_in

DEL, GC = "del", "gc"

#: Callable types. A callable given instead of an object is called, and its result is meant.
MAKERS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, partial, type)

#: Why an object was not freed, by kind of finding.
REASONS = {
    FindingKind.GROWTH: "it is held",
    FindingKind.NEVER: "nothing will ever free it",
    FindingKind.NATIVE: "native code holds it",
    FindingKind.NEEDS_GC: "only the collector frees it",
}

#: If a function returns one of these, its items are watched in its place. An object of a subclass is watched, too.
CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque, dict)


class Watched:
    """One object, watched weakly."""

    def __init__(self, watch: Watch, recording: Recording) -> None:
        self._watch = watch
        self._recording = recording

    @property
    def alive(self) -> bool:
        """Whether it is alive now."""
        return self._watch.alive() is not False

    @property
    def freed(self) -> bool:
        """Whether it is gone."""
        return not self.alive

    def lifetime(self) -> str:
        """Return ``del`` if it is already gone, ``gc`` if the collector frees it now, else ``held`` or ``never``."""
        if self.freed:
            return DEL
        found = self._find()
        gc.collect()
        if self.freed:
            return GC
        return (found.lifetime if found is not None else Lifetime.UNKNOWN).value

    def why(self) -> str:
        """Describe the holder in sentences; empty if the object is gone."""
        found = self._find()
        return "\n".join(messages.sentences(found.trace, found.created_at)) if found is not None else ""

    def assert_freed(self, by: str = DEL) -> None:
        """Fail if it is alive; with ``by="gc"``, only if it is alive after a collection."""
        __tracebackhide__ = True
        check_by(by)
        if self.alive:
            found = self._find()
            gc.collect()
            if by == DEL or self.alive:
                raise AssertionError(still_alive(found, by, self.freed))

    def _find(self) -> Finding | None:
        subject = self._watch.ref() if self._watch.ref is not None else None
        if subject is None:
            return None
        address = id(subject)
        del subject
        return why_alive.why_at(address, self._recording)


class Lifetimes:
    """The lifetime assertions of a test. Holds none of the objects."""

    def __init__(self, recording: Recording | None = None, verbosity: int = 0) -> None:
        self._verbosity = verbosity
        self._recording = recording if recording is not None and recording.is_on else Recording(launcher())
        self._is_own = not self._recording.is_on
        self._recording.start(USUAL)
        self._expected: list[tuple[Watched, str]] = []
        self._has_disabled_gc = False
        self._is_deferred = False

    # --- one object ---------------------------------------------------------------------------------------------------

    def watch(self, obj: Any) -> Watched:
        """Watch an object without keeping it: `alive`, `freed`, `lifetime()`, `why()`, `assert_freed()`."""
        watch = watch_object("", obj)
        if watch.ref is None:
            raise UsageError(f"an object of type {short_class_name(obj)} can't be watched: nothing refers to it weakly")
        return Watched(watch, self._recording)

    def expect_freed(self, target: Any, by: str = DEL) -> None:
        """Fail unless an object is freed by reference counting alone, or (``by="gc"``) by the collector.

        A function is called, and its result must die when its local names are gone. For another object it is checked at
        once whether anything but variables of running functions keeps it; if not, it must be gone after the test has
        returned. With ``by="del"`` the collector is disabled until then.
        """
        __tracebackhide__ = True
        check_by(by)
        if issubclass(type(target), MAKERS):
            self._expect_result_freed(target, by)
        else:
            self._expect_object_freed(target, by)

    def _expect_result_freed(self, make: Callable[[], Any], by: str) -> None:
        __tracebackhide__ = True
        with collector_at_rest():
            watched = [Watched(watch, self._recording) for watch in watches_of(make())]
            if not watched:
                raise UsageError("the function returned nothing that can be watched", "return what is to be freed")
            for one in watched:
                one.assert_freed(by)

    def _expect_object_freed(self, obj: Any, by: str) -> None:
        __tracebackhide__ = True
        watched = self.watch(obj)
        found = why_alive.why_beyond_names(obj, self._recording)
        if found is not None and (by == DEL or found.lifetime is Lifetime.HELD):
            raise AssertionError(still_alive(found, by, found.lifetime is Lifetime.GC))
        self._expected.append((watched, by))
        if by == DEL and gc.isenabled():
            self._has_disabled_gc = True
            gc.disable()

    # --- many objects -------------------------------------------------------------------------------------------------

    def no_growth(
        self, step: Callable[..., object], rounds: int = 5, calls: int = 7, warmup: int = 7, cycles: str = "allow"
    ) -> None:
        """Fail if calling ``step`` leaves more and more behind in each of ``rounds`` rounds of ``calls`` calls.

        ``step`` receives the number of the call if it accepts an argument. With ``cycles="fail"``, tensors in
        collectable cycles fail it, too. Takes some 0.2 s per round with torch loaded.
        """
        __tracebackhide__ = True
        with self._recording.paused():
            report = growth.hunted(step, rounds, calls, warmup)
        text = growth.verdict_text(report, cycles, self._verbosity)
        if text:
            raise AssertionError(text)

    def count(self, kind: type | str) -> int:
        """Count living objects of a type and its subclasses, or C++ objects of kind ``"tensor"``, ``"storage"`` or
        ``"grad_node"``.
        """
        return object_counts.count(kind)

    @contextmanager
    def assert_no_new_tensors(self) -> Generator[None, None, None]:
        """Fail if a tensor made in this block is alive at its end, even in a collectable cycle."""
        __tracebackhide__ = True
        with collector_at_rest():
            before = object_counts.Tensors()
            yield
            found = before.new()
            if found:
                result = why_alive.why_at(found[0], self._recording)
                raise AssertionError(new_tensors(result, len(found)))

    # --- identity -----------------------------------------------------------------------------------------------------

    def identity_stable(self, getter: Callable[[], object]) -> None:
        """Fail unless the getter always returns the same Python object, even after every name of it is gone."""
        __tracebackhide__ = True
        wrong = unstable_aspects(getter)
        if wrong:
            raise AssertionError("\n  ".join([f"reading it gives no stable object: {wrong[0]}", *wrong[1:]]))

    # --- the end ------------------------------------------------------------------------------------------------------

    @property
    def is_waiting(self) -> bool:
        """Whether an object that must be freed by the end of the test is still alive."""
        return any(watched.alive for watched, _ in self._expected)

    def conclude_after(self, tear_down: Callable[[], None]) -> None:
        """Run after the test: tear down its fixtures, including this one, then check all expectations."""
        __tracebackhide__ = True
        self._is_deferred = True
        try:
            tear_down()
        finally:
            self._is_deferred = False
        try:
            self.conclude()
        finally:
            self.close()

    def conclude(self) -> None:
        """Check that everything expected to be freed by now is gone."""
        __tracebackhide__ = True
        if self._is_deferred:
            return
        expected, self._expected = self._expected, []
        # What needs the collector comes last: it would free the others' cycles, too.
        for watched, by in sorted(expected, key=lambda one: one[1] == "gc"):
            watched.assert_freed(by)

    def close(self) -> None:
        """Drop all references."""
        if self._is_deferred:
            return
        self._expected.clear()
        if self._is_own:
            self._recording.stop()
        if self._has_disabled_gc:
            self._has_disabled_gc = False
            gc.enable()


def check_by(by: str) -> str:
    """Check how the object is to be freed: "del" or "gc"."""
    if by not in (DEL, GC):
        raise UsageError(f"by={by!r}: an object is freed by {DEL!r} or by {GC!r}")
    return by


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Disable the collector: only reference counting frees objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def watches_of(result: Any) -> list[Watch]:
    """Watch the parts of a function's result: the result itself, or its containers' contents. Plain values are no parts.

    Raises UsageError for a part that could outlive the function unseen.
    """
    watches, seen, waiting = [], set(), [result]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting += contents(one)
        watch = watch_object("", one) if type(one) not in CONTAINERS else None
        if watch is not None and watch.ref is not None:
            watches.append(watch)
        elif not isinstance(one, CONTAINERS) and gc.is_tracked(one):  # a number or a text is not tracked
            kind = type(one).__name__
            raise UsageError(
                f"an object of type {kind} can't be watched: nothing refers to it weakly", "return its items"
            )
    return watches


def contents(one: object) -> Iterable[Any]:
    """Return a container's items, whatever a subclass makes of them; empty for other objects."""
    if is_a(one, dict):
        return values_in(one)
    kind = next((kind for kind in CONTAINERS if is_a(one, kind)), None)
    return kind.__iter__(one) if kind is not None else ()


def still_alive(found: Finding | None, by: str, is_freed_by_collector: bool) -> str:
    """Return the message of a failed expectation."""
    if found is None:
        return "it should be freed by now, but an invisible holder keeps it"
    shown = f"{found.trace.object} {found.trace.detail}".strip()
    when = "when its last name goes" if by == DEL else "by the collector at the latest"
    but = "only the collector frees it" if is_freed_by_collector else REASONS[found.kind]
    lines = [f"{shown} should be freed {when}, but {but}"]
    lines += messages.sentences(found.trace, found.created_at)
    lines += [found.diagnosis.reason] if found.code != UNKNOWN_CODE else []
    lines += [line[3:] for line in messages.advice(found)]
    return "\n  ".join(lines)


def new_tensors(found: Finding | None, count: int) -> str:
    """Return the message of a block that left tensors behind."""
    head = f"{count} new {'tensor is' if count == 1 else 'tensors are'} alive at the end of the block"
    if found is None:
        return head
    return "\n  ".join(
        [f"{head}:" if count == 1 else f"{head}, one of them:", *messages.sentences(found.trace, found.created_at)]
    )
