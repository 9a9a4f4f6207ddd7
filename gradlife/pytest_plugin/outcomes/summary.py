"""The section at the end of a run: new and known leaks, libraries' leaks, and explained growth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradlife.pytest_plugin.outcomes import messages
from gradlife.pytest_plugin.outcomes.baseline import SHOWN_DIGITS, Baseline, Known
from gradlife.pytest_plugin.outcomes.results import UNSEARCHED, Checked, Entry, Section, Verdict
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

#: Default number of finding lines.
MOST = 10


@dataclass(frozen=True)
class SuiteResult:
    """All checked tests, and the baseline."""

    checked: tuple[Checked, ...]
    baseline: Baseline
    is_updating: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """Count tests by verdict and findings by section."""
        tests = {one.nodeid for one in self.checked}
        leaking = {one.nodeid for one in self.checked if one.verdict is Verdict.LEAK}
        sections = {section.value: sum(len(one.of(section)) for one in self.checked) for section in Section}
        others = {
            verdict.value: sum(one.verdict is verdict for one in self.checked)
            for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_REPEATABLE)
        }
        explained = sum(len(one.explained) for one in self.checked)
        return {"checked": len(tests), "leaking": len(leaking), **sections, "explained": explained, **others}


@shows_report
def lines(suite: SuiteResult, verbosity: int = 0) -> Iterator[str]:
    """Yield the section: one line if quiet; by default ten findings; at -vv all of them with traces."""
    if not suite.checked and not suite.baseline.expired:
        return
    yield headline(suite)
    if verbosity < 0:
        return
    rows = [*problem_lines(suite), *finding_lines(suite, verbosity > 1)]
    shown = rows if verbosity > 1 else rows[:MOST]
    yield from (line for row in shown for line in row)
    if len(rows) > len(shown):
        yield f"... and {len(rows) - len(shown)} more, which -vv shows"


def headline(suite: SuiteResult) -> str:
    """Return the headline: 120 tests checked: 2 new · 1 known · 1 explained."""
    totals = suite.totals
    parts = [f"{totals[section.value]} {section.value}" for section in Section if totals[section.value]]
    names = ("explained", Verdict.INCONCLUSIVE.value, Verdict.NOT_REPEATABLE.value)
    parts += [f"{totals[name]} {name}" for name in names if totals[name]]
    expired, unused = len(suite.baseline.expired), len(suite.baseline.unused(suite.checked))
    parts += [f"{expired} expired in the baseline"] if expired else []
    parts += [f"{unused} unused in the baseline"] if unused and not suite.is_updating else []
    parts += ["renew the baseline"] if renewal(suite) else []
    return f"{counted(totals['checked'], 'test')} checked: {' · '.join(parts) or 'no leaks'}"


def problem_lines(suite: SuiteResult) -> Iterator[list[str]]:
    """Yield tests without a verdict and expired baseline entries."""
    for one in suite.checked:
        if one.trouble:
            yield [f"{one.verdict.value:<15} {one.nodeid}: {one.trouble}"]
    for unread in dict.fromkeys(one.unread for one in suite.checked if one.unread is not None):
        yield [f"{'limit':<15} {unread}; gradlife doctor names them"]
    unsearched = list(dict.fromkeys(one.nodeid for one in suite.checked if UNSEARCHED in one.limits))
    if unsearched:
        words = f"{UNSEARCHED} after {counted(len(unsearched), 'test')} that took more memory"
        yield [
            f"{'limit':<15} {words}: {unsearched[0]}{' and others' * (len(unsearched) > 1)}; run fewer tests at once"
        ]
    if asked := renewal(suite):
        yield [f"{'renew':<15} {asked}"]
    for known in suite.baseline.expired:
        yield [f"{'expired':<15} {entry_words(known)}"]
    for known in [] if suite.is_updating else suite.baseline.unused(suite.checked):
        yield [f"{'unused':<15} {entry_words(known)}: take it out, or --leaks-update-baseline"]


def renewal(suite: SuiteResult) -> str:
    """Return the request to renew a baseline whose fingerprints other leaks may share; empty if it is renewed or has none."""
    old = [] if suite.is_updating else suite.baseline.to_renew(suite.checked)
    if not old:
        return ""
    have = "baseline entry has a fingerprint" if len(old) == 1 else "baseline entries have fingerprints"
    return f"{len(old)} {have} of an earlier gradlife, which other leaks may share: renew with --leaks-update-baseline"


def entry_words(known: Known) -> str:
    """Format a baseline entry as one line."""
    return f"{known.fingerprint[:SHOWN_DIGITS]} {known.code} {known.title} ({known.words})"


def finding_lines(suite: SuiteResult, with_traces: bool) -> Iterator[list[str]]:
    """Yield findings by section, the worst first; then explained growth."""
    for section in Section:
        for one in suite.checked:
            yield from (row(one, entry, with_traces) for entry in one.of(section))
    for one in suite.checked:
        for explained in one.explained:
            yield [f"{'explained':<15} {one.nodeid}: {explained.kind}: {explained.what}"]


def row(checked: Checked, entry: Entry, with_trace: bool) -> list[str]:
    """Format a finding as one line, or with its trace."""
    library = entry.finding.diagnosis.library
    why = "; ".join(part for part in (entry.why, library) if part)
    text = f"{entry.section.value:<15} {checked.nodeid}: {messages.brief(entry.finding)}" + (
        f"  ({why})" if why else ""
    )
    trace = messages.sentences(entry.finding.trace, entry.finding.created_at) if with_trace else ()
    return [text, *(f"    {line}" for line in trace)]
