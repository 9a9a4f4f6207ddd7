"""Set up a session as soon as it needs checks."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from gradlife.errors import GradlifeError
from gradlife.pytest_plugin import refusals
from gradlife.pytest_plugin.settings import peak_marks
from gradlife.pytest_plugin.settings.bad_marker import BadMarker
from gradlife.pytest_plugin.settings.marks import (
    MIN_CYCLE_BYTES,
    REPEATED,
    SWEPT,
    TERMS,
    Terms,
    is_concerned,
    terms_of,
)
from gradlife.pytest_plugin.settings.options import FAIL, Options, options_of

NAME, REPORTER, PEAKS = "gradlife-manager", "gradlife-reporter", "gradlife-peaks"


def start(config: pytest.Config) -> None:
    """Register the hooks."""
    if config.pluginmanager.has_plugin(NAME):
        return
    why = refusals.of_interpreter()
    if why:
        raise pytest.UsageError(f"gradlife can't measure here: {why}")
    manager = import_module("gradlife.pytest_plugin.manager").Manager(options_of(config), known_leaks(config))
    config.pluginmanager.register(manager, NAME)
    config.pluginmanager.register(manager.fixtures)
    tell(config, manager.baseline)


def tell(config: pytest.Config, baseline: Any = None) -> None:
    """Register the reporter in the process that receives all results."""
    if hasattr(config, "workerinput") or config.pluginmanager.has_plugin(REPORTER):
        return
    reporter = import_module("gradlife.pytest_plugin.outcomes.reporter")
    known = baseline if baseline is not None else known_leaks(config)
    made = reporter.Reporter(config, options_of(config), known)
    try:
        made.check_files()
    except GradlifeError as error:
        raise pytest.UsageError(f"gradlife: {error}") from None
    config.pluginmanager.register(made, REPORTER)


def known_leaks(config: pytest.Config) -> Any:
    """Read the baselines, or refuse with one line."""
    baseline = import_module("gradlife.pytest_plugin.outcomes.baseline")
    options = options_of(config)
    try:
        return baseline.read(options.baseline, may_lack=options.update_baseline)
    except GradlifeError as error:
        raise pytest.UsageError(f"gradlife: {error}") from None


def prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Read every test's terms before any test runs; if tests cannot be measured, that is a collection error."""
    try:
        wrong = refusals.of_interpreter()
        if not wrong:
            start(config)
            concerned = [item for item in items if note_terms(item, options_of(config)) or is_concerned(item)]
            wrong = refusals.first(config, concerned) if concerned else ""
        if wrong:
            raise BadMarker(f"gradlife can't measure here: {wrong}")
    except BadMarker as error:
        refuse(config, items, str(error))


def prepare_peaks(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Reads the terms of tests whose peak is measured; a marker that makes no sense is an error of collection."""
    wrong = refusals.of_interpreter()
    try:
        for item in [] if wrong else items:
            terms = peak_marks.terms_of(item)
            if terms is not None:
                item.stash[peak_marks.TERMS] = terms
    except BadMarker as error:
        wrong = str(error)
    if wrong:
        refuse(config, items, f"gradlife: {wrong}")
    elif not config.pluginmanager.has_plugin(PEAKS):
        options = options_of(config)
        hooks = import_module("gradlife.pytest_plugin.checks.peak_memory").PeakHooks
        config.pluginmanager.register(hooks(known_leaks(config), options.update_baseline), PEAKS)


def refuse(config: pytest.Config, items: list[pytest.Item], words: str) -> None:
    """Raise a collection error: under xdist, too, it reaches the user before any test runs."""
    report = pytest.CollectReport("gradlife", "failed", longrepr=words, result=[])
    last_failed = config.pluginmanager.get_plugin("lfplugin")  # would keep it as a test for `--lf`
    hook = config.pluginmanager.subset_hook_caller("pytest_collectreport", remove_plugins=[last_failed])
    hook(report=report)
    items.clear()


def note_terms(item: pytest.Item, options: Options) -> Terms | None:
    """Record a test's terms if it is checked. A lifetime story is run and measured elsewhere."""
    if getattr(item, "measures_itself", False):
        return None
    try:
        terms = terms_of(item) or general_terms(options)
    except BadMarker as error:
        raise BadMarker(f"{item.nodeid}: {error}") from None
    if terms is not None:
        item.stash[TERMS] = terms
    return terms


def general_terms(options: Options) -> Terms | None:
    """Return the terms of tests without a marker."""
    if not options.checks_all:
        return None
    least = 0 if options.cycles else MIN_CYCLE_BYTES
    terms = Terms(mode=options.leaks or FAIL, how=SWEPT, cycles=options.cycles or FAIL, min_cycle_bytes=least)
    return terms if options.repeat is None else replace(terms, how=REPEATED, repeat=options.repeat)
