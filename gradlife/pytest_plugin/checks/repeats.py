"""Repeat a test's call phase with new function-scoped fixtures and the same wider ones."""

from __future__ import annotations

import time
import types
import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from gradlife.pytest_plugin.checks.subtests import without_reports

#: Exceptions that end a run of a test without ending pytest.
ENDS = (Exception, pytest.skip.Exception, pytest.fail.Exception)

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

    @property
    def seconds_a_run(self) -> float:
        """The average duration of a repeat; 0 before the first."""
        return self._seconds / max(1, self.runs - 1)

    def settle(self) -> None:
        """Tear down the test's own fixtures and release their values. Raises what the fixtures raise."""
        item = self._item
        for key, value in self._stash.items():
            item.stash.setdefault(key, value)
        active = list(getattr(item._request, "_fixture_defs", {}).values()) if hasattr(item, "_request") else []
        try:
            item.session._setupstate.teardown_exact(item.parent)  # type: ignore[arg-type]
        finally:
            drop_spent(active)
            forget(item)

    def again(self) -> None:
        """Run once more, from set-up to tear-down. Raises `NotRepeatable`."""
        self.runs += 1
        records = kept_records(self._item)
        began = time.monotonic()
        try:
            with warnings.catch_warnings(record=True):
                self._run()
        except NotRepeatable:
            raise
        except ENDS as error:
            raise NotRepeatable(f"run {self.runs}: {in_a_line(error)}") from None
        finally:
            self._seconds += time.monotonic() - began
            for handler, number in records:
                del handler.records[number:]

    def _run(self) -> None:
        item = self._item
        with without_reports(item) as subtests:
            try:
                item.session._setupstate.setup(item)
                item.runtest()
                failed = failure_of(item)
            finally:
                self.settle()
        if failed is not None:
            raise failed
        if subtests.failed:
            raise NotRepeatable(f"run {self.runs}: subtest {subtests.failed[0]}"[:MAX_TEXT])


def drop_spent(active: Iterable[Any]) -> None:
    """Remove finalizers that fixtures left on wider fixtures and that no longer do anything."""
    for one in active:
        if one.cached_result is not None:
            one._finalizers[:] = [each for each in one._finalizers if not is_spent(each)]


def is_spent(finalizer: object) -> bool:
    """Whether this would tear down a fixture that is already torn down."""
    bound = finalizer.func if type(finalizer) is partial else None
    owner = bound.__self__ if isinstance(bound, types.MethodType) else None
    return isinstance(owner, pytest.FixtureDef) and owner.cached_result is None


def forget(item: pytest.Item) -> None:
    """Drop what pytest keeps of a finished test until the next one: arguments, instance."""
    if hasattr(item, "_initrequest"):
        item._initrequest()
    if isinstance(item, pytest.Function) and vars(item).get("_instance") is not None:
        del item._instance
        item._obj = None


def failure_of(item: Any) -> BaseException | None:
    """Return the failure that a `unittest.TestCase` recorded instead of raising it."""
    noted = getattr(item, "_excinfo", None)
    if not noted:
        return None
    failed: BaseException = noted[0].value
    noted.clear()
    return failed


def kept_records(item: pytest.Item) -> list[tuple[Any, int]]:
    """Return pytest's log handlers with their record counts: each record keeps its arguments."""
    plugin = item.config.pluginmanager.get_plugin("logging-plugin")
    handlers = (getattr(plugin, name, None) for name in ("caplog_handler", "report_handler"))
    return [(one, len(one.records)) for one in handlers if one is not None]


def in_a_line(error: BaseException) -> str:
    """Format an exception by the first line of its text."""
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first}"[:MAX_TEXT].removesuffix(": ")
