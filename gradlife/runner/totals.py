"""Sum up a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from gradlife.model.comparison import Comparison, ExpectationResult, Status, Verdict
from gradlife.model.reading import Json, ReadingKey
from gradlife.model.report import RunReport
from gradlife.model.run import RunUnavailable, ScenarioRun
from gradlife.model.system import SystemInfo
from gradlife.model.totals import PairTotals, Totals
from gradlife.probes import PROBES, is_comparable
from gradlife.runner.compare import same_value

_COMPARED = (Status.SAME, Status.DIFFERS, Status.EXPECTED)
_UNDECIDED = (Status.NOT_AVAILABLE, Status.UNSTABLE)


def sum_up(report: RunReport, seconds: float, judged: Sequence[ExpectationResult] = ()) -> Totals:
    """Return the totals of a report after readings were compared and expectations checked.

    judged: the heap graph's verdict on each subject, compared with its measured lifetime.
    """
    comparisons = report.comparisons
    pairs = pair_totals(comparisons, report.systems, report.against)
    faithful = [pair for pair in pairs if pair.faithful]
    distinguishing = distinguishing_keys(report.runs)
    compared = faithful_keys(comparisons, {pair.system for pair in faithful})
    verdicts = Counter(result.verdict for result in report.expectations)
    by_graph = Counter(result.verdict for result in judged)
    return Totals(
        systems=len(report.systems),
        scenarios=len(report.scenarios),
        runs=len(report.runs),
        readings=sum(len(run.readings) for run in report.runs),
        compared=sum(pair.compared for pair in faithful),
        same=sum(pair.same for pair in faithful),
        differs=sum(pair.differs for pair in faithful),
        expected=sum(pair.expected for pair in faithful),
        not_available=sum(pair.not_available for pair in faithful),
        unstable=sum(pair.unstable for pair in faithful),
        distinguishing=len(distinguishing & compared),
        distinguishing_any=len(distinguishing),
        expectations_met=verdicts[Verdict.MET],
        contradictions=verdicts[Verdict.CONTRADICTED],
        failures=len(report.failures),
        unavailable=sum(isinstance(run, RunUnavailable) for run in report.runs),
        graph_judged=by_graph[Verdict.MET] + by_graph[Verdict.CONTRADICTED],
        graph_agrees=by_graph[Verdict.MET],
        graph_inconclusive=by_graph[Verdict.NOT_AVAILABLE],
        seconds=round(seconds, 3),
        pairs=pairs,
    )


def pair_totals(
    comparisons: Iterable[Comparison], systems: Sequence[SystemInfo], against: str | None
) -> tuple[PairTotals, ...]:
    """Count how the readings of each system and probe compare, in the order of systems and probes."""
    counts = Counter((each.system, each.key.probe, each.status) for each in comparisons)
    profiles = {system.name: system.profile for system in systems}
    return tuple(
        PairTotals(
            system=system.name,
            against=against or "",
            probe=probe.name,
            faithful=is_imitation(system, profiles[against or ""]),
            same=counts[system.name, probe.name, Status.SAME],
            differs=counts[system.name, probe.name, Status.DIFFERS],
            expected=counts[system.name, probe.name, Status.EXPECTED],
            not_available=counts[system.name, probe.name, Status.NOT_AVAILABLE],
            unstable=counts[system.name, probe.name, Status.UNSTABLE],
        )
        for system in systems
        for probe in PROBES
        if any((system.name, probe.name, status) in counts for status in (*_COMPARED, *_UNDECIDED))
    )


def is_imitation(system: SystemInfo, profile: str) -> bool:
    """Whether the system claims to behave like this profile. A mutant does not."""
    return system.profile == profile and "+" not in system.name


def faithful_keys(comparisons: Iterable[Comparison], systems: set[str]) -> set[ReadingKey]:
    """Return the keys compared between systems of one profile."""
    return {each.key for each in comparisons if each.system in systems and each.status in _COMPARED}


def distinguishing_keys(runs: Iterable[ScenarioRun]) -> set[ReadingKey]:
    """Return the readings that distinguish at least two systems, without those that only the engine has."""
    engine_only = {probe.name for probe in PROBES if probe.engine_only}
    values: dict[ReadingKey, list[Json]] = defaultdict(list)
    for run in runs:
        for reading in run.readings:
            is_sure = reading.is_conclusive and reading.is_stable
            is_usable = is_sure and is_comparable(reading.probe, reading.subject)
            if is_usable and reading.probe not in engine_only:
                values[reading.key].append(reading.value)
    return {key for key, found in values.items() if any(not same_value(found[0], other) for other in found[1:])}
