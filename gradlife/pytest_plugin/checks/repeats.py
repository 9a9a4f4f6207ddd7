"""Repeat a test's call phase with new function-scoped fixtures and the same wider ones."""

from __future__ import annotations

import io
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from typing import Any

import pytest

from gradlife.hunting.steps.schedule import Moment
from gradlife.pytest_plugin.checks.subtests import without_reports
from gradlife.pytest_plugin.settings.marks import FIXTURE
from gradlife.safe_access import LibraryObject, error_text, is_a, is_exactly, short_class_name

#: Exceptions that end a run of a test without ending pytest.
ENDS = (Exception, pytest.skip.Exception, pytest.fail.Exception)

#: Types of fixture values that hold nothing else.
PLAIN = (str, bytes, int, float, complex, bool, type(None))

#: Most characters of an exception.
MAX_TEXT = 200


class NotRepeatable(Exception):
    """A repeat failed although the first run passed."""


class Repeats:
    """One test that can be repeated. Create it while the test is set up."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._stash = dict(item.stash._storage)  # fixtures read here what plugins recorded at set-up
        self.runs = 1
        self._seconds = 0.0
        self._globals = dict(getattr(getattr(item, "dtest", None), "globs", {}))  # a run of a doctest clears them
        self._globals.pop("getfixture", None)  # each set-up gives it anew; this one keeps the values of fixtures
        self._is_reported = False
        self._arguments: Arguments | None = None

    @property
    def seconds_a_run(self) -> float:
        """The average duration of a repeat; 0 before the first."""
        return self._seconds / max(1, self.runs - 1)

    def settle(self) -> None:
        """Tear down the test's own fixtures and release their values. Raises what the fixtures raise."""
        item = self._item
        self._arguments = self._arguments or Arguments(item)
        for key, value in self._stash.items():
            item.stash.setdefault(key, value)
        self._report()
        active = list(getattr(item._request, "_fixture_defs", {}).values()) if hasattr(item, "_request") else []
        try:
            item.session._setupstate.teardown_exact(item.parent)  # type: ignore[arg-type]
        finally:
            drop_spent(active)
            forget(item)

    def give_back_arguments(self) -> None:
        """After the last run, give the test the arguments of the first one, if it lost them."""
        if self._arguments is not None:
            self._arguments.give_back()

    def _report(self) -> None:
        """Show the plugins that the test has passed: its fixtures may read at their end what a plugin noted of it.

        They get the real report later, too. The one of here is shown to them alone, and is no result of the run.
        """
        if self._is_reported:
            return
        self._is_reported = True
        item, passed = self._item, pytest.CallInfo.from_call(lambda: None, when="call")
        manager = [item.config.pluginmanager.get_plugin("gradlife-manager")]
        hook = item.config.pluginmanager.subset_hook_caller("pytest_runtest_makereport", remove_plugins=manager)
        hook(item=item, call=passed)

    def again(self) -> None:
        """Run once more, from set-up to tear-down. Raises `NotRepeatable`."""
        self.runs += 1
        began = Moment()
        try:
            with warnings.catch_warnings(record=True), emptied_logs(self._item):
                self._run()
        except NotRepeatable:
            raise
        except ENDS as error:
            raise NotRepeatable(f"run {self.runs}: {in_a_line(error)}") from None
        finally:
            self._seconds += began.seconds_until(Moment())

    def _run(self) -> None:
        item = self._item
        if self._globals:
            item.dtest.globs.update(self._globals)  # type: ignore[attr-defined]
        with without_reports(item) as subtests:
            try:
                item.session._setupstate.setup(item)
                item.runtest()
                failed = failure_of(item)
            except BaseException:
                self.settle()
                raise
            self._conclude()
        if failed is not None:
            raise failed
        if subtests.failed:
            raise NotRepeatable(f"run {self.runs}: subtest {subtests.failed[0]}"[:MAX_TEXT])

    def _conclude(self) -> None:
        """Tear down. What `lifetimes` expects to be freed is judged when no other fixture holds it any more."""
        lifetimes = (getattr(self._item, "funcargs", None) or {}).get(FIXTURE)
        if lifetimes is None:
            self.settle()
        else:
            lifetimes.conclude_after(self.settle)


class Arguments:
    """The fixture values of a test, for a `conftest.py` that reads `item.funcargs` when it makes the report.

    Holds only values that hold nothing else. Another one may be gone when it is given back: then it is None.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        known = getattr(item, "funcargs", None) or {}
        self._values = {name: reference_to(value) for name, value in known.items()}

    def give_back(self) -> None:
        """Let the test have those again that it has no longer."""
        known = getattr(self._item, "funcargs", None)
        if known is not None:
            for name, value in self._values.items():
                known.setdefault(name, value())


def reference_to(value: Any) -> Callable[[], Any]:
    """Return what returns a value: always if it holds nothing else, or else while it is alive."""
    if is_exactly(value, PLAIN) or is_a(value, PurePath):
        return lambda: value
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None


def drop_spent(active: Iterable[LibraryObject]) -> None:
    """Remove finalizers that fixtures left on wider fixtures and that no longer do anything."""
    for one in active:
        if one.cached_result is not None:
            one._finalizers[:] = [each for each in one._finalizers if not is_spent(each)]


def is_spent(finalizer: object) -> bool:
    """Whether this would tear down a fixture that is already torn down."""
    bound = finalizer.func if type(finalizer) is partial else None
    owner = bound.__self__ if type(bound) is types.MethodType else None
    return type(owner) is pytest.FixtureDef and owner.cached_result is None


def forget(item: pytest.Item) -> None:
    """Drop what pytest keeps of a finished test until the next one: arguments, instance."""
    if hasattr(item, "_initrequest"):
        item._initrequest()
    if isinstance(item, pytest.Function) and vars(item).get("_instance") is not None:
        del item._instance
        item._obj = None


def has_noted_end(item: pytest.Item) -> bool:
    """Return whether a `unittest.TestCase` failed or was skipped. It notes that instead of raising it."""
    return bool(getattr(item, "_excinfo", None))


def failure_of(item: LibraryObject) -> BaseException | None:
    """Return the failure that a `unittest.TestCase` recorded instead of raising it."""
    noted = getattr(item, "_excinfo", None)
    if not noted:
        return None
    failed: BaseException = noted[0].value
    noted.clear()
    return failed


@contextmanager
def emptied_logs(item: pytest.Item) -> Iterator[None]:
    """Empty pytest's logs during a repeat, then put those of the first run back. Each record keeps its arguments."""
    plugin = item.config.pluginmanager.get_plugin("logging-plugin")
    handlers = [getattr(plugin, name, None) for name in ("caplog_handler", "report_handler")]
    kept = [(one, [*one.records], one.stream) for one in handlers if one is not None]
    for handler, _, _ in kept:
        handler.records.clear()
        handler.stream = io.StringIO()
    try:
        yield
    finally:
        for handler, records, stream in kept:
            handler.records[:] = records
            handler.stream = stream


def in_a_line(error: BaseException) -> str:
    """Format an exception by the first line of its text."""
    first, *_ = error_text(error).strip().splitlines() or [""]
    return f"{short_class_name(error)}: {first}"[:MAX_TEXT].removesuffix(": ")
