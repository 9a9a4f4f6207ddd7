"""Reasons why lifetimes cannot be measured here. They are reported at collection, because a check that cannot fail is
worse than none.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Iterable, Iterator

import pytest

from gradlife.supported_python import NEWEST, OLDEST, objection


def of_interpreter() -> str:
    """Return why this interpreter is unsuitable; empty if it is suitable."""
    if platform.python_implementation() != "CPython":
        return f"this is {platform.python_implementation()}, and lifetimes are measured in CPython only"
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return f"this is Python {platform.python_version()}, and what its objects look like is known from 3.11 to 3.15"
    refused, instead = objection()
    if refused:
        return f"{refused} (try: {instead})"
    try:
        importlib.import_module("gradlife._heap")
    except ImportError as error:
        return f"the compiled part of gradlife is missing: {error}"
    return ""


def of_collector() -> str:
    """Return why the cyclic collector prevents a measurement."""
    from gradlife.hunting.process.collector import count_frozen  # the compiled part is known to be there by now

    count = count_frozen()
    if count:
        return (
            f"the collector is frozen: gc.freeze() hides {count:,} objects from it, and cycles among them are never "
            "freed; call gc.unfreeze() before tests are collected"
        )
    return ""


def of_workers(config: pytest.Config, items: Iterable[pytest.Item]) -> Iterator[str]:
    """Return tests that would run in a forked copy of this process, whose findings would be lost."""
    words = "runs in a forked copy of the process, where what it leaves behind is lost: run it without"
    if config.getoption("forked", False) or config.getoption("boxed", False):
        yield f"every test {words} --forked"
    elif config.pluginmanager.has_plugin("pytest_forked"):
        for item in items:
            if "forked" in item.keywords:
                yield f"{item.nodeid} {words} its marker `forked`"
                return


def first(config: pytest.Config, items: list[pytest.Item]) -> str:
    """Return the first reason why these tests cannot be measured; empty if there is none."""
    return of_interpreter() or of_collector() or next(of_workers(config, items), "")
