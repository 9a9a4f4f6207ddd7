"""A run, indexed as reports need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from gradlife.model import Reading, RunReport, ScenarioInfo, ScenarioRun, Status, SystemInfo
from gradlife.model.reading import ReadingKey
from gradlife.reports.run.grid import Cell, Grid
from gradlife.reports.run.names import Heading, heading
from gradlife.reports.theme import (
    BAD,
    CONTRADICTED,
    DIFFERS,
    EXPLAINED,
    MARK_MEANINGS,
    MARK_STYLES,
    NOT_AVAILABLE,
    QUIET,
    UNSTABLE,
)

LIVENESS = "liveness"

#: The order of probes: first the answers, then their explanation.
PROBE_ORDER = {
    probe: number
    for number, probe in enumerate(
        ("liveness", "graph", "expiry", "identity", "value", "exit", "refcount", "memory", "events", "live")
    )
}

#: The cell of a run that gave no reading.
OUTCOME_WORDS = {"failed": "raised", "crashed": "crash", "timed out": "hang", "not available": NOT_AVAILABLE}

MARKS = {Status.DIFFERS: DIFFERS, Status.EXPECTED: EXPLAINED, Status.UNSTABLE: UNSTABLE}


@dataclass(frozen=True)
class Family:
    """A story and the twins that repair it."""

    story: ScenarioInfo
    twins: tuple[ScenarioInfo, ...]

    @property
    def members(self) -> tuple[ScenarioInfo, ...]:
        """The story first, then its twins."""
        return (self.story, *self.twins)


class RunView:
    """Readings, runs and contradictions of a report, indexed by their subjects."""

    def __init__(self, report: RunReport) -> None:
        self.report = report
        self.runs: dict[tuple[str, str], ScenarioRun] = {(run.scenario, run.system): run for run in report.runs}
        self.readings: dict[tuple[ReadingKey, str], Reading] = {
            (reading.key, reading.system): reading for reading in report.readings
        }
        self.contradicted = {
            (ReadingKey(one.scenario, one.stage, one.subject, one.probe), one.system) for one in report.contradictions
        }

    @cached_property
    def systems(self) -> tuple[SystemInfo, ...]:
        """The systems: the reference, its imitations, the others."""
        against, imitations = self.report.against, self.faithful
        return tuple(sorted(self.report.systems, key=lambda one: (one.name != against, one.name not in imitations)))

    @cached_property
    def headings(self) -> list[Heading]:
        """A heading for each system."""
        return [heading(system.name, system.version) for system in self.systems]

    def mark_meanings(self, grids: Iterable[Grid]) -> Iterator[tuple[str, str]]:
        """Yield the marks that occur in tables, each with its meaning."""
        marks = {cell.mark for grid in grids for row in grid.rows for cell in row.cells}
        reference = self.report.against or "the first system"
        yield from ((mark, text.format(reference=reference)) for mark, text in MARK_MEANINGS.items() if mark in marks)

    @cached_property
    def suites(self) -> dict[str, list[Family]]:
        """The families of each suite, in the order of the report."""
        chosen = {scenario.name for scenario in self.report.scenarios}
        suites: dict[str, list[Family]] = {}
        for scenario in self.report.scenarios:
            if scenario.fixed_of in chosen:
                continue
            twins = tuple(twin for twin in self.report.scenarios if twin.fixed_of == scenario.name)
            suites.setdefault(scenario.suite, []).append(Family(scenario, twins))
        return suites

    @cached_property
    def keys(self) -> dict[str, list[ReadingKey]]:
        """The readings of each scenario in any system: by stage, then by probe."""
        found: dict[str, dict[ReadingKey, None]] = {}
        for system in self.systems:
            for scenario in self.report.scenarios:
                run = self.runs.get((scenario.id, system.name))
                for reading in run.readings if run else ():
                    found.setdefault(scenario.id, {}).setdefault(reading.key)
        return {scenario: in_order(list(keys)) for scenario, keys in found.items()}

    @cached_property
    def faithful(self) -> frozenset[str]:
        """The systems that imitate, or are, the release that they are compared with."""
        return frozenset(pair.system for pair in self.report.totals.pairs if pair.faithful)

    def last_stage(self, scenario: str) -> str:
        """Return the last stage that the story reached."""
        keys = self.keys.get(scenario, [])
        return keys[-1].stage if keys else ""

    def main_key(self, scenario: ScenarioInfo) -> ReadingKey | None:
        """Return the verdict that the story is about: on the subject declared first, else on the one watched first."""
        verdicts = [key for key in self.keys.get(scenario.id, ()) if key.probe == LIVENESS]
        declared = next((one.subject for one in scenario.expects if one.probe == LIVENESS), "")
        subjects = [key.subject for key in verdicts]
        subject = declared if declared in subjects else next(iter(subjects), None)
        return next((key for key in reversed(verdicts) if key.subject == subject), None)

    def values(self, key: ReadingKey) -> list[Reading | None]:
        """Return the reading of each system; None if it has none."""
        return [self.readings.get((key, system.name)) for system in self.systems]

    def tells_apart(self, key: ReadingKey) -> bool:
        """Whether two systems disagree and both are sure."""
        readings = [reading for reading in self.values(key) if reading is not None and reading.is_stable]
        found = [reading.value for reading in readings if reading.is_conclusive]
        return any(value != found[0] for value in found[1:])

    def mark(self, key: ReadingKey, system: str) -> str:
        """Return the mark of a reading."""
        if (key, system) in self.contradicted:
            return CONTRADICTED
        reading = self.readings.get((key, system))
        if reading is None:
            return ""
        if not reading.is_stable:
            return UNSTABLE
        return MARKS.get(Status(reading.status), "") if reading.status else ""

    def cell(self, key: ReadingKey, system: str, text: str, style: str = "") -> Cell:
        """Return the cell of a reading, with its mark."""
        mark = self.mark(key, system)
        return Cell(text, mark, style, MARK_STYLES.get(mark, ""))

    def empty_cell(self, scenario: str, system: str) -> Cell:
        """Return the cell of a system without this reading: how its run ended, if badly."""
        run = self.runs.get((scenario, system))
        if run is None or not run.is_failure:
            return Cell(NOT_AVAILABLE, "", QUIET)
        return Cell(OUTCOME_WORDS.get(run.outcome, run.outcome), "", BAD)


def in_order(keys: list[ReadingKey]) -> list[ReadingKey]:
    """Sort by stage in the order of first use, then by probe, then by order of reading."""
    stages = list(dict.fromkeys(key.stage for key in keys))
    return sorted(keys, key=lambda key: (stages.index(key.stage), PROBE_ORDER.get(key.probe, len(PROBE_ORDER))))
