"""The last lines of a report: its totals."""

from __future__ import annotations

from collections import Counter

from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.model import PairTotals, RunReport
from gradlife.reports.values import counted

#: The suffix of a subject whose reading comes from objgraph, not from gc.
OBJGRAPH = ".objgraph"


def sentences(report: RunReport) -> list[str]:
    """Return the sums, and how well systems agree."""
    return [sums(report), *faithfulness(report), *agreement(report), *python_tools(report)]


def faithfulness(report: RunReport) -> list[str]:
    """Compare each profile with its release: one sentence for each pair of systems."""
    pairs: dict[tuple[str, str], list[PairTotals]] = {}
    for pair in report.totals.pairs:
        if pair.faithful:
            pairs.setdefault((pair.system, pair.against), []).append(pair)
    return [pair_sentence(system, against, probes) for (system, against), probes in pairs.items()]


def pair_sentence(system: str, against: str, probes: list[PairTotals]) -> str:
    """Describe how closely a profile matches its release."""
    compared = sum(pair.compared for pair in probes)
    same, differs = sum(pair.same for pair in probes), sum(pair.differs for pair in probes)
    expected = sum(pair.expected for pair in probes)
    verdict = "no unexplained difference" if not differs else counted(differs, "unexplained difference")
    return f"{system} against {against}: {same:,} of {counted(compared, 'reading')} the same, {verdict}, {expected:,} explained"


def agreement(report: RunReport) -> list[str]:
    """Return how often the heap graph predicted the lifetime before the collector ran, if it predicted any."""
    totals = report.totals
    if not totals.graph_judged and not totals.graph_inconclusive:
        return []
    text = (
        f"the heap graph judged {counted(totals.graph_judged, 'living subject')}, {totals.graph_agrees:,} as measured"
    )
    unknown = f"; of {totals.graph_inconclusive:,} it could not tell" if totals.graph_inconclusive else ""
    return [text + unknown]


def python_tools(report: RunReport) -> list[str]:
    """Return what Python-level tools find of the subjects that nothing frees; a sentence if there are any."""
    readings = [reading for reading in report.readings if reading.probe == "referrers"]
    of_gc = Counter(reading.value for reading in readings if not reading.subject.endswith(OBJGRAPH))
    if not of_gc:
        return []
    tools = "gc and objgraph find" if len(readings) > of_gc.total() else "gc finds"
    return [
        f"of {counted(of_gc.total(), 'subject')} that nothing frees {tools} a chain to a module for {of_gc['root']:,}, "
        f"a dead end for {of_gc['dead end']:,}, no referrer for {of_gc['nothing']:,}"
    ]


def sums(report: RunReport) -> str:
    """Return the sums of the run."""
    totals = report.totals
    text = f"{counted(totals.scenarios, 'story', 'stories')} on {counted(totals.systems, 'system')}"
    text += f": {counted(totals.readings, 'reading')} in {totals.seconds:.1f} s"
    if totals.distinguishing_any:
        text += f"; {totals.distinguishing_any:,} differ between systems"
    return text


def verdict(report: RunReport) -> str:
    """Return the closing line."""
    totals = report.totals
    if report.exit_status == EXIT_COULD_NOT_TELL:
        return f"no story could run anywhere, {totals.unavailable:,} unavailable"
    parts = [
        f"{counted(totals.expectations_met, 'declaration')} met",
        f"{totals.contradictions:,} contradicted",
        f"{counted(totals.failures, 'run')} failed",
        f"{totals.unavailable:,} unavailable",
    ]
    return ", ".join(parts)
