"""The fixture values that pytest keeps, used as the start of traces through them."""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gradlife.hunting.findings.leak_trace import BEGINNINGS


class Fixtures:
    """The fixtures that were set up, held weakly."""

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Record a fixture."""
        self._known.add(fixturedef)
        return (yield)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Start traces that lead through a fixture's value with that fixture."""
        known = [one for one in self._known if one.cached_result is not None]
        token = BEGINNINGS.set({id(one.cached_result): (one.argname, f"{one.scope} scope") for one in known})
        try:
            yield
        finally:
            BEGINNINGS.reset(token)
