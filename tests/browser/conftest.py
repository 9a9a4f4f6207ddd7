"""A real Chromium, started once a module. Without one these tests are skipped, and say so."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsing


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser, for all tests of a module: while it runs so does an event loop, and it is a child of this process."""
    for package, name in (("playwright", "playwright"), ("axe_playwright_python", "axe-playwright-python")):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no page was looked at in a browser: {name} is not installed (pip install 'gradlife[test]')")
    if browsing.chromium_program() is None:
        pytest.skip("no page was looked at in a browser: there is no Chromium here")
    with browsing.browser() as started:
        yield started


@pytest.fixture
def visitor(chromium: Any, tmp_path: Path) -> Iterator[browsing.Visitor]:
    """Opens pages; fails in the end if one of them had an error in its console or asked for anything outside itself."""
    visiting = browsing.Visitor(chromium, tmp_path)
    try:
        yield visiting
    finally:
        faults = visiting.close()
    assert faults == []
