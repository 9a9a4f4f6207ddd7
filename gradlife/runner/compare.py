"""Compare the readings of each system with those of one system, reading by reading."""

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
    """Format the values of several runs: `1 or 3`; a single value means that the other runs had no such reading."""
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    return " or ".join(texts) if len(texts) > 1 else f"{texts[0]}, or no such reading"


def compare(
    runs: Iterable[ScenarioRun],
    systems: Sequence[SystemInfo],
    scenarios: Sequence[ScenarioInfo],
    against: str,
) -> tuple[ScenarioRun, ...]:
    """Return the runs with the status of each reading, compared with the same reading of the system compared against."""
    runs = tuple(runs)
    comparing = _Comparing(runs, systems, scenarios, against)
    return tuple(run if run.system == against else comparing.judged(run) for run in runs)


class _Comparing:
    """The system compared against, indexed for the comparison."""

    def __init__(
        self,
        runs: Sequence[ScenarioRun],
        systems: Sequence[SystemInfo],
        scenarios: Sequence[ScenarioInfo],
        against: str,
    ) -> None:
        self.against = next(system for system in systems if system.name == against)
        self.theirs = {run.scenario: run for run in runs if run.system == against}
        self.offered = {reading.probe for run in self.theirs.values() for reading in run.readings}
        self.systems = {system.name: system for system in systems}
        self.differs = {scenario.id: scenario.differs for scenario in scenarios}

    def judged(self, run: ScenarioRun) -> ScenarioRun:
        """Return a run with its readings' statuses."""
        other = self.theirs.get(run.scenario)
        readings = {reading.key: reading for reading in other.readings} if other is not None else {}
        why = other.reason if other is not None else ""
        return replace(run, readings=tuple(self._judge(reading, readings, why) for reading in run.readings))

    def _judge(self, reading: Reading, theirs: Mapping[ReadingKey, Reading], why: str) -> Reading:
        status, reason = self._status(reading, theirs.get(reading.key), why)
        return replace(reading, status=status.value, reason=reason)

    def _status(self, mine: Reading, other: Reading | None, why: str) -> tuple[Status, str]:
        if mine.status or not is_comparable(mine.probe, mine.subject) or mine.probe not in self.offered:
            return Status.NOT_COMPARED, ""
        if other is None:
            return Status.NOT_AVAILABLE, f"{self.against.name}: {why or 'no such reading'}"
        for reading in (mine, other):
            if not reading.is_conclusive:
                return Status.NOT_AVAILABLE, f"inconclusive in {reading.system}"
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
        pair = (system.name, system.profile), (self.against.name, self.against.profile)
        for declared in self.differs.get(mine.scenario, ()):
            rule = Differs(declared.subject, declared.probe, declared.between, declared.because, declared.stage)
            if rule.covers(mine.subject, mine.probe, mine.stage) and rule.speaks_of(*pair):
                return declared
        return None
