"""The part of the plugin that every pytest session loads: options, the marker, fixtures. The rest is imported when
needed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradlife._version import __version__
from gradlife.pytest_plugin.scenarios import recognition
from gradlife.pytest_plugin.settings import limit_marks, marks, options, peak_marks


def pytest_report_header(config: pytest.Config) -> str:
    """Name the version in the header of the run."""
    return f"gradlife: {__version__}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Let pytest see the path that follows ``--leaks``, so that it reads the options of the path's conftest.py."""
    options.free_path(early_config, parser, args)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", marks.DESCRIPTION)
    for words in (peak_marks.DESCRIPTION, *limit_marks.DESCRIPTIONS):
        config.addinivalue_line("markers", words)
    options.take_path(config)
    if config.getoption("gradlife_backend"):  # refuse a wrong name before collection
        importlib.import_module("gradlife.pytest_plugin.scenarios.systems").systems_of(config)
    if options.options_of(config).is_any:
        importlib.import_module("gradlife.pytest_plugin.startup").start(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare to receive results and markers from other processes."""
    if session.config.pluginmanager.has_plugin("dsession"):
        importlib.import_module("gradlife.pytest_plugin.startup").tell(session.config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a scenario file in a folder; a file named on the command line comes as a module."""
    if parent.session.isinitpath(file_path) or not recognition.is_of_stories(file_path, parent.config):
        return None
    return story_file(file_path, parent)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a scenario file named on the command line without importing it."""
    return story_file(module_path, parent) if recognition.is_of_stories(module_path, parent.config) else None


def story_file(path: Path, parent: pytest.Collector) -> pytest.Collector:
    """Return the collector of a scenario file."""
    kind = importlib.import_module("gradlife.pytest_plugin.scenarios.stories").StoryFile
    found: pytest.Collector = kind.from_parent(parent, path=path)
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `gradlife_backend` once per system."""
    if "gradlife_backend" in metafunc.fixturenames:
        importlib.import_module("gradlife.pytest_plugin.scenarios.systems").parametrise(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Prepare the tests to be checked."""
    if options.options_of(config).checks_all or any(map(marks.is_concerned, items)):
        importlib.import_module("gradlife.pytest_plugin.startup").prepare(config, items)
    if any(marker in item.keywords for item in items for marker in (peak_marks.MARKER, limit_marks.MAX_PEAK)):
        importlib.import_module("gradlife.pytest_plugin.startup").prepare_peaks(config, items)


@pytest.fixture
def lifetimes(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> Iterator[Any]:
    """Assertions about lifetimes: expect_freed, no_growth, identity_stable, watch, count, assert_no_new_tensors."""
    manager = pytestconfig.pluginmanager.get_plugin("gradlife-manager")
    recording = getattr(manager, "recording", None)
    kind = importlib.import_module("gradlife.pytest_plugin.lifetimes").Lifetimes
    found = kind(recording, pytestconfig.get_verbosity())
    try:
        yield found
        if not has_raised(request.node):
            found.conclude()
    finally:
        found.close()


def has_raised(item: Any) -> bool:
    """Whether the test itself failed: pytest then keeps its frames, and with them the objects that it expects freed."""
    return item.stash.get(marks.RAISED, False) or hasattr(sys, "last_value")
