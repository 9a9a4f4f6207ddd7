"""Compare the readings of each system with those of the baseline system, reading by reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gradlife.model.comparison import Status
from gradlife.model.reading import Json, Reading, ReadingKey
from gradlife.model.run import ScenarioRun
from gradlife.model.story import DeclaredDifference, ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.probes import is_comparable
from gradlife.scenario import Differs


def same_value(one: Json, other: Json) -> bool:
    """Whether two values are the same: 1 and 1.0 are, 1 and True are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other)


def format_values(values: Sequence[Json]) -> str:
    """Format the values from repetitions of one story, as in `1 or 3`; a single value was missing in the others."""
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    return " or ".join(texts) if len(texts) > 1 else f"{texts[0]} in some runs and no reading in others"


def compare(
    runs: Iterable[ScenarioRun],
    systems: Sequence[SystemInfo],
    scenarios: Sequence[ScenarioInfo],
    against: str,
) -> tuple[ScenarioRun, ...]:
    """Return the runs with a status for each reading, from comparing it with the baseline system's reading."""
    runs = tuple(runs)
    baseline = _Baseline(runs, systems, scenarios, against)
    return tuple(run if run.system == against else baseline.compared(run) for run in runs)


class _Baseline:
    """The baseline system's readings, indexed."""

    def __init__(
        self,
        runs: Sequence[ScenarioRun],
        systems: Sequence[SystemInfo],
        scenarios: Sequence[ScenarioInfo],
        against: str,
    ) -> None:
        self.system = next(system for system in systems if system.name == against)
        self.runs = {run.scenario: run for run in runs if run.system == against}
        self.probes = {reading.probe for run in self.runs.values() for reading in run.readings}
        self.systems = {system.name: system for system in systems}
        self.differs = {scenario.id: scenario.differs for scenario in scenarios}

    def compared(self, run: ScenarioRun) -> ScenarioRun:
        """Return a run with its readings' statuses."""
        other = self.runs.get(run.scenario)
        readings = {reading.key: reading for reading in other.readings} if other is not None else {}
        why_missing = other.reason if other is not None else ""
        return replace(run, readings=tuple(self._compare(reading, readings, why_missing) for reading in run.readings))

    def _compare(self, reading: Reading, baseline: Mapping[ReadingKey, Reading], why_missing: str) -> Reading:
        status, reason = self._status(reading, baseline.get(reading.key), why_missing)
        return replace(reading, status=status.value, reason=reason)

    def _status(self, mine: Reading, other: Reading | None, why_missing: str) -> tuple[Status, str]:
        if mine.status or not is_comparable(mine.probe, mine.subject) or mine.probe not in self.probes:
            return Status.NOT_COMPARED, ""
        if other is None:
            return Status.NOT_AVAILABLE, f"{self.system.name}: {why_missing or 'no such reading'}"
        for reading in (mine, other):
            if not reading.is_conclusive:
                return Status.NOT_AVAILABLE, f"inconclusive on {reading.system}"
        for reading in (mine, other):
            if not reading.is_stable:
                return Status.UNSTABLE, f"{reading.system} gave {format_values(reading.seen)}"
        if same_value(mine.value, other.value):
            return Status.SAME, ""
        declared = self._declared(mine)
        return (Status.EXPECTED, declared.because) if declared is not None else (Status.DIFFERS, "")

    def _declared(self, mine: Reading) -> DeclaredDifference | None:
        """Return the declaration that covers this difference."""
        system = self.systems[mine.system]
        pair = (system.name, system.profile), (self.system.name, self.system.profile)
        for declared in self.differs.get(mine.scenario, ()):
            rule = Differs(declared.subject, declared.probe, declared.between, declared.because, declared.stage)
            if rule.covers(mine.subject, mine.probe, mine.stage) and rule.is_about(*pair):
                return declared
        return None
