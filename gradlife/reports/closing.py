"""The last lines of a report: what it all comes to."""

from __future__ import annotations

from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.model import PairTotals, RunReport
from gradlife.reports.values import counted


def faithfulness(report: RunReport) -> list[str]:
    """How like each imitation is to the release that it is compared with: one sentence a pair of systems."""
    pairs: dict[tuple[str, str], list[PairTotals]] = {}
    for pair in report.totals.pairs:
        if pair.faithful:
            pairs.setdefault((pair.system, pair.against), []).append(pair)
    return [pair_sentence(system, against, probes) for (system, against), probes in pairs.items()]


def pair_sentence(system: str, against: str, probes: list[PairTotals]) -> str:
    """One imitation."""
    compared = sum(pair.compared for pair in probes)
    same, differs = sum(pair.same for pair in probes), sum(pair.differs for pair in probes)
    expected = sum(pair.expected for pair in probes)
    verdict = "no unexplained difference" if not differs else counted(differs, "unexplained difference")
    return f"{system} against {against}: {same:,} of {counted(compared, 'reading')} the same, {verdict}, {expected:,} explained"


def agreement(report: RunReport) -> list[str]:
    """How often the heap graph said before the collector ran what then came: a sentence, if it was asked."""
    totals = report.totals
    if not totals.graph_judged and not totals.graph_inconclusive:
        return []
    told = (
        f"the heap graph judged {counted(totals.graph_judged, 'living subject')}, {totals.graph_agrees:,} as measured"
    )
    unknown = f"; of {totals.graph_inconclusive:,} it could not tell" if totals.graph_inconclusive else ""
    return [told + unknown]


def sums(report: RunReport) -> str:
    """What was done."""
    totals = report.totals
    told = f"{counted(totals.scenarios, 'story', 'stories')} on {counted(totals.systems, 'system')}"
    told += f": {counted(totals.readings, 'reading')} in {totals.seconds:.1f} s"
    if totals.telling_any:
        told += f"; {totals.telling_any:,} tell two systems apart"
    return told


def verdict(report: RunReport) -> str:
    """The closing line."""
    totals = report.totals
    if report.exit_status == EXIT_COULD_NOT_TELL:
        return f"no story could be told anywhere, {totals.unavailable:,} unavailable"
    parts = [
        f"{counted(totals.expectations_met, 'declaration')} met",
        f"{totals.contradictions:,} contradicted",
        f"{counted(totals.failures, 'run')} failed",
        f"{totals.unavailable:,} unavailable",
    ]
    return ", ".join(parts)
