"""The hooks that check tests. Registered only if there is something to check."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gradlife.heap.torch_layout.torch import unread_layout
from gradlife.hunting.session.partial_layout import readable
from gradlife.hunting.snapshots.creation_recorder import Recording
from gradlife.model.from_json import LARGEST_SIZE
from gradlife.pytest_plugin.checks.fixture_values import Fixtures
from gradlife.pytest_plugin.checks.gc_boundary import NewObjects
from gradlife.pytest_plugin.checks.repeats import Arguments, Repeats, forget
from gradlife.pytest_plugin.checks.survivors import Outliving
from gradlife.pytest_plugin.checks.sweep import BLIND, Blind, Sweep
from gradlife.pytest_plugin.checks.trial import Trial
from gradlife.pytest_plugin.outcomes import messages, results
from gradlife.pytest_plugin.outcomes.baseline import Baseline
from gradlife.pytest_plugin.outcomes.classification import growth_of, sorted_out
from gradlife.pytest_plugin.outcomes.results import UNSEARCHED, Checked, Entry, Verdict
from gradlife.pytest_plugin.settings.limit_marks import FIGURES, MAX_GROWTH, NO_FIGURE, PROPERTY
from gradlife.pytest_plugin.settings.marks import FIXTURE, RAISED, SWEPT, TERMS, Terms
from gradlife.pytest_plugin.settings.options import Options
from gradlife.reports.values import size

#: The result of a test, and whether its call passed.
CHECKED = pytest.StashKey[Checked]()
PASSED = pytest.StashKey[bool]()

#: The attribute of a report under which the result travels.
ATTRIBUTE = results.ATTRIBUTE

FORKED = "gradlife can't measure here: this test runs in a forked copy of the process that collected it"


class Leaked(pytest.fail.Exception, AssertionError):  # type: ignore[name-defined, misc]
    """A test left something behind. Shown without a traceback, since pytest's own says nothing."""

    __module__ = "builtins"

    def __init__(self, words: str) -> None:
        super().__init__(words, pytrace=False)  # type: ignore[call-arg]


class Manager:
    """Checks tests in the process that runs them."""

    def __init__(self, options: Options, baseline: Baseline) -> None:
        self.fixtures = Fixtures()
        self._options = options
        self.baseline = baseline
        self._new_objects = NewObjects()
        self._sweep = Sweep()
        self._is_rerun = False
        self._failed = (
            ""  # id of the last test with a failed report; a report during the test's own call is a subtest's
        )
        self._process = os.getpid()

    @property
    def recording(self) -> Recording:
        """The recording of creation sites that all checks of this process share."""
        return self._sweep.recording

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """When a test ends, treat all that it left as old, so that the next test is not blamed for it."""
        if not is_swept(item):
            return (yield)
        self._sweep.begin()
        self._is_rerun = False
        try:
            return (yield)
        finally:
            self._sweep.end()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Treat what an earlier try of the same test left, with its exception, as old."""
        item.user_properties[:] = others(item.user_properties)
        self._failed = ""
        item.stash[RAISED] = False
        if not is_swept(item):
            return (yield)
        if self._is_rerun:
            self._sweep.end()
        self._is_rerun = True
        self.recording.resume()
        try:
            return (yield)
        finally:
            self.recording.rest()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Do not count objects of a fixture with a wider scope as the test's."""
        if fixturedef.scope == "function" or not self._sweep.is_open:
            return (yield)
        with self._sweep.sparing():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test as its marker or the options say."""
        terms = item.stash.get(TERMS, None)
        if terms is not None and os.getpid() != self._process:
            pytest.fail(FORKED, pytrace=False)
        item.stash[PASSED] = False
        repeats = Repeats(item)
        try:
            done = yield from self._call(item, terms, repeats)
        finally:
            repeats.give_back_arguments()
        item.stash[PASSED] = not self._has_failed(item)
        return done

    def _call(self, item: pytest.Item, terms: Terms | None, repeats: Repeats) -> Generator[None, object, object]:
        """Run the test, and judge it."""
        if terms is None:
            done = yield
            self._conclude_lifetimes(item, repeats)
        elif terms.how == SWEPT:
            before = self._sweep.carriers_before_test()
            self.recording.resume()
            try:
                done = yield
                self._conclude_lifetimes(item, repeats)
                with self._inconclusive_if_blind(item, terms, "call"):
                    self._sweep_call(item, terms, repeats, before)
            finally:
                self.recording.rest()
        else:
            self._sweep.interrupt()
            with self._new_objects.session(), self.recording.paused():
                done = yield
                self._conclude_lifetimes(item, repeats)
                self._repeat(item, terms, repeats)
        return done

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Judge what is left once a test's fixtures are gone: all of it outlived the test."""
        if not is_swept(item):
            return (yield)
        if ends_wider_fixture(item, nextitem):
            self._sweep.thaw()
        self.recording.resume()
        try:
            done = yield
            if item.stash.get(PASSED, False):
                with self._inconclusive_if_blind(item, item.stash[TERMS], "teardown"):
                    self._sweep_teardown(item, item.stash[TERMS])
        finally:
            self.recording.rest()
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the result to the report."""
        report = yield
        if call.when == "call":
            item.stash[RAISED] = call.excinfo is not None
        checked = item.stash.get(CHECKED, None)
        if checked is not None and checked.phase == report.when:
            setattr(report, ATTRIBUTE, json.dumps(results.encode(checked)))
            del item.stash[CHECKED]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a subtest failed while its test continues."""
        if report.failed:
            self._failed = report.nodeid

    def pytest_unconfigure(self) -> None:
        """End the session."""
        self._sweep.close()

    # --- one test -----------------------------------------------------------------------------------------------------

    def _conclude_lifetimes(self, item: pytest.Item, repeats: Repeats) -> None:
        """Check what `lifetimes` expects to be freed after the test. Other fixtures must not hold it either."""
        lifetimes = (getattr(item, "funcargs", None) or {}).get(FIXTURE)
        if lifetimes is not None and lifetimes.is_waiting:
            with self.fixtures.named():
                try:
                    lifetimes.conclude_after(repeats.settle)
                except AssertionError as error:
                    raise Leaked(str(error)) from None

    def _has_failed(self, item: pytest.Item) -> bool:
        """Return whether a `unittest.TestCase` or a subtest did not pass. They do not raise."""
        return bool(getattr(item, "_excinfo", None)) or self._failed == item.nodeid

    def _repeat(self, item: pytest.Item, terms: Terms, repeats: Repeats) -> None:
        """Repeat the test."""
        if self._has_failed(item):
            return
        with self.fixtures.named():
            found = Trial(item.nodeid, repeats, terms, self._new_objects).result()
        self._conclude(item, terms, found)

    def _sweep_call(self, item: pytest.Item, terms: Terms, repeats: Repeats, before: set[int]) -> None:
        """Look for survivors after the test. If there are any, tear down its fixtures to see whether they hold them."""
        if self._has_failed(item):
            return
        item.stash[CHECKED] = plain(item, terms)
        if self._sweep.carriers() - before or self._sweep.may_have_native_survivors():
            repeats.settle()
            left = self._sweep.carriers()
            are_of_fixtures = bool(left) and not left - before  # then they are reported at the fixtures' teardown
            if not are_of_fixtures:
                self._judge_rest(item, terms, "call")

    def _sweep_teardown(self, item: pytest.Item, terms: Terms) -> None:
        """Look for survivors after the fixtures are gone."""
        arguments = Arguments(item)
        try:
            if self._sweep.carriers():
                forget(item)
            self._judge_rest(item, terms, "teardown")
        finally:
            arguments.give_back()

    def _judge_rest(self, item: pytest.Item, terms: Terms, phase: str) -> None:
        """Judge the survivors of the test, if there are any."""
        shown = self._sweep.carriers()
        found = self._judged() if shown else None
        if found is None or not found.findings:
            native_survivors = self._sweep.native_survivors(may_collect=not shown)
            hidden = self._judged(native_survivors) if native_survivors else None
            found = hidden if hidden is not None and hidden.findings else found  # else they are gradients or similar
        judged = replace(plain(item, terms), phase=phase, limits=(UNSEARCHED,) * self._sweep.is_unsearched)
        if found is not None:
            self._sweep.end()
            self._conclude(item, terms, with_findings(judged, found))
        elif judged.limits:
            item.stash[CHECKED] = judged

    @contextmanager
    def _inconclusive_if_blind(self, item: pytest.Item, terms: Terms, phase: str) -> Iterator[None]:
        """Report an error as the test's result if nothing can be measured."""
        try:
            yield
        except Blind:
            unseen = replace(plain(item, terms), phase=phase, verdict=Verdict.INCONCLUSIVE, trouble=BLIND)
            self._conclude(item, terms, unseen)

    def _judged(self, native_survivors: Collection[int] = ()) -> Outliving:
        with self.fixtures.named():
            return self._sweep.survivors_of_test(native_survivors)

    def _conclude(self, item: pytest.Item, terms: Terms, found: Checked) -> None:
        """Record the result of a test, and fail it if it leaks."""
        findings = [one.finding for one in found.entries]
        if terms.is_growth:
            terms = self._with_limit(item, terms)
        entries = sorted_out(findings, item.nodeid, terms, self.baseline)
        checked = replace(found, place=place_of(item), how=terms.how, mode=terms.mode, entries=entries)
        item.stash[CHECKED] = checked
        figures = [one for one in item.user_properties if one[0].removeprefix(PROPERTY) in FIGURES.values()]
        item.user_properties[:] = [*others(item.user_properties), *figures, *properties(checked)]
        if terms.is_growth:
            item.user_properties.append((PROPERTY + FIGURES[MAX_GROWTH], growth_of(entries)))
        if terms.is_growth and found.verdict is not Verdict.INCONCLUSIVE and terms.growth is None:
            raise Leaked(f"the baseline has no growth of this test{NO_FIGURE}")
        if terms.is_growth and checked.guilty and terms.growth is not None and growth_of(entries) > terms.growth:
            grown = (
                f"each run of this test leaves {size(growth_of(entries))}, more than its limit of {size(terms.growth)}"
            )
            raise Leaked(f"{grown}\n{messages.failure(checked, item.config.get_verbosity())}")
        if checked.is_failure and not self._options.update_baseline:
            raise Leaked(messages.failure(checked, item.config.get_verbosity()))

    def _with_limit(self, item: pytest.Item, terms: Terms) -> Terms:
        """Return the terms with what the baseline accepts; while it is written, with all that can be."""
        known = self.baseline.limit(item.nodeid, FIGURES[MAX_GROWTH], terms.growth)
        return replace(terms, growth=LARGEST_SIZE if self._options.update_baseline else known)


def is_swept(item: pytest.Item) -> bool:
    """Whether a test is checked after a single run."""
    terms = item.stash.get(TERMS, None)
    return terms is not None and terms.how == SWEPT


def ends_wider_fixture(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Whether the teardown of a test also tears down a fixture of its class, its module or the session."""
    needed = nextitem.listchain() if nextitem is not None else []
    ending = {node: row for node, row in item.session._setupstate.stack.items() if node not in (item, *needed)}
    return any(len(finalizers) > 1 for finalizers, _ in ending.values())  # the first one is the node's own


def plain(item: pytest.Item, terms: Terms) -> Checked:
    """Return the result of a test without survivors."""
    return Checked(item.nodeid, place=place_of(item), how=terms.how, mode=terms.mode, unread=unread_layout())


def place_of(item: pytest.Item) -> str:
    """Return the file and line of a test."""
    path, line, _ = item.location
    return f"{path}:{(line or 0) + 1}"


def with_findings(checked: Checked, found: Outliving) -> Checked:
    """Return the result of a test with its survivors."""
    findings = readable(found.findings, checked.unread)
    if found.findings and not findings:
        return replace(checked, verdict=Verdict.INCONCLUSIVE, trouble=str(checked.unread))
    verdict = Verdict.LEAK if findings else Verdict.CLEAN
    return replace(checked, verdict=verdict, entries=tuple(map(Entry, findings)), explained=found.explained)


def properties(checked: Checked) -> Iterator[tuple[str, object]]:
    """Yield the properties of a test for JUnit's XML."""
    yield f"{PROPERTY}verdict", checked.verdict.value
    for one in checked.entries:
        yield f"{PROPERTY}leak", f"{one.section.value}: {messages.brief(one.finding)}"
        yield f"{PROPERTY}fingerprint", one.finding.fingerprint


def others(known: Iterable[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """Return the properties of other plugins. Those of an earlier run of the same test are outdated."""
    return (one for one in known if not one[0].startswith(PROPERTY))
