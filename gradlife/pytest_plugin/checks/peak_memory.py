"""The peak of a marked test: the test is run again a few times, its tensors are recorded, its terms are checked."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Iterator
from dataclasses import replace

import pytest

from gradlife.errors import GradlifeError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.model.peak.report import PeakReport, Use
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import PeakSession
from gradlife.pytest_plugin.checks.repeats import NotRepeatable, Repeats, has_noted_end
from gradlife.pytest_plugin.outcomes.baseline import Baseline
from gradlife.pytest_plugin.settings.limit_marks import FIGURES, MAX_PEAK, NO_FIGURE, PROPERTY
from gradlife.pytest_plugin.settings.peak_marks import TERMS, PeakTerms
from gradlife.reports.peak.terminal import first_screen
from gradlife.reports.peak.words import percent
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report


class OverPeak(pytest.fail.Exception, AssertionError):  # type: ignore[name-defined, misc]
    """A test's memory is not as its marker says. It is shown without a traceback: pytest's own says nothing."""

    __module__ = "builtins"

    def __init__(self, words: str) -> None:
        super().__init__(words, pytrace=False)  # type: ignore[call-arg]


class PeakHooks:
    """Measures the peaks of marked tests."""

    def __init__(self, baseline: Baseline, is_updating: bool) -> None:
        self._baseline = baseline
        self._is_updating = is_updating

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a marked test as often as a peak needs."""
        terms = item.stash.get(TERMS, None)
        if terms is None:
            return (yield)
        repeats = Repeats(item)
        done = yield
        if has_noted_end(item):
            return done
        report = measured(item, repeats)
        if terms.has_baseline:
            item.user_properties.append((PROPERTY + FIGURES[MAX_PEAK], peak_of(report)))
            known = self._baseline.limit(item.nodeid, FIGURES[MAX_PEAK], terms.limit)
            if known is None and report.peak_bytes and not self._is_updating:
                raise OverPeak(f"the baseline has no peak of this test{NO_FIGURE}")
            terms = replace(terms, limit=None if self._is_updating else known)
        words = "\n".join(complaint(report, terms))
        if words:
            raise OverPeak(words)
        return done


def measured(item: pytest.Item, repeats: Repeats) -> PeakReport:
    """The peak of a test that has run once. What is in the way is the report's trouble."""
    about = PeakReport(item.nodeid, "run of the test")
    if importlib.util.find_spec("torch") is None:
        return replace(about, trouble="torch is not installed")
    contexts = Contexts()
    when_imported("torch.optim.optimizer", contexts.attach)
    session = PeakSession(contexts, lambda report: None)
    session.about = about
    try:
        repeats.settle()
        while not session.step():
            repeats.again()
    except (NotRepeatable, GradlifeError) as error:
        return replace(about, trouble=str(error))
    finally:
        session.close()
        contexts.detach()
    return session.report or about


@shows_report
def complaint(report: PeakReport, terms: PeakTerms) -> Iterator[str]:
    """Return what contradicts the marker, and below it the first screen of the report; empty if nothing does."""
    if not report.peak_bytes:
        yield f"the peak of this test could not be measured: {report.trouble}"
        return
    found = list(excesses(report, terms))
    yield from found
    if found:
        yield from (line.plain for line in first_screen(report))


def peak_of(report: PeakReport) -> int:
    """Return the peak of a test. Memory from before that no run of the test reads does not count."""
    return report.peak_bytes - report.uses.get(Use.UNREAD.value, 0)


def excesses(report: PeakReport, terms: PeakTerms) -> Iterator[str]:
    """Yield each limit that is exceeded."""
    peak = peak_of(report)
    if terms.limit is not None and peak > terms.limit:
        yield f"the peak of this test is {size(peak)}, more than its limit of {size(terms.limit)}"
    if terms.drag is not None and report.unused_percent > terms.drag:
        share = percent(report.unused_bytes, report.peak_bytes)
        yield f"{share} of the peak of this test is never read again, more than {terms.drag:g} %"
