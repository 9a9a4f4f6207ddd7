"""Handle subtests of a repeated test: only the first run reports them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class QuietHooks:
    """The hooks of a test without those that report; failures are recorded here."""

    def __init__(self, hooks: Any) -> None:
        self._hooks = hooks
        self.failed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hooks, name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a subtest's failure as one line."""
        if report.failed:
            name = str(getattr(report, "head_line", "") or report.nodeid)
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failed.append(f"{name}: {str(crash.message).partition(chr(10))[0]}" if crash is not None else name)

    def pytest_exception_interact(self, **of: object) -> None:
        """Keep the failure of a repeated run from the debugger."""


@contextmanager
def without_reports(item: pytest.Item) -> Iterator[QuietHooks]:
    """Hide subtests in this block; their failures do not fail the test."""
    session, known = item.session, failures(item.config)
    hooks, counts = QuietHooks(item.ihook), dict(known)
    vars(session)["gethookproxy"] = lambda path: hooks  # from here an item gets its hooks
    try:
        yield hooks
    finally:
        del vars(session)["gethookproxy"]
        known.clear()
        known.update(counts)


def failures(config: pytest.Config) -> dict[str, int]:
    """Return how many subtests of each test failed: pytest fails the test if there are any."""
    module = sys.modules.get("_pytest.subtests")
    key = getattr(module, "failed_subtests_key", None)
    found: dict[str, int] = config.stash.get(key, {}) if key is not None else {}
    return found
