"""A whole run, from which every report is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.comparison import MISSING, Comparison, ExpectationResult, Status
from gradlife.model.reading import Reading, ReadingKey
from gradlife.model.run import ScenarioRun
from gradlife.model.story import ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.model.totals import Totals


@dataclass(frozen=True)
class RunReport:
    """Systems, scenarios, a run for each pair, and their comparison."""

    systems: tuple[SystemInfo, ...]
    scenarios: tuple[ScenarioInfo, ...]
    runs: tuple[ScenarioRun, ...]
    against: str | None = None  # name of the system that the others are compared with
    expectations: tuple[ExpectationResult, ...] = ()
    totals: Totals = field(default_factory=Totals)

    @property
    def readings(self) -> Iterator[Reading]:
        """Yield all readings, run by run."""
        return (reading for run in self.runs for reading in run.readings)

    @property
    def contradictions(self) -> tuple[ExpectationResult, ...]:
        """Readings that contradict their declaration."""
        return tuple(result for result in self.expectations if result.is_contradiction)

    @property
    def failures(self) -> tuple[ScenarioRun, ...]:
        """Runs that raised, crashed or hung."""
        return tuple(run for run in self.runs if run.is_failure)

    @property
    def exit_status(self) -> int:
        """1 if a reading contradicts its declaration or a run failed, 3 if nothing could be read at all, else 0."""
        if self.contradictions or self.failures:
            return EXIT_FOUND
        return EXIT_CLEAN if any(True for _ in self.readings) else EXIT_COULD_NOT_TELL

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Yield every reading of every system with the same reading of the system compared against."""
        return tuple(self._compared()) if self.against is not None else ()

    def run_of(self, scenario: str, system: str) -> ScenarioRun | None:
        """Return the run of a scenario (by id) in a system (by name)."""
        return next((run for run in self.runs if (run.scenario, run.system) == (scenario, system)), None)

    def _compared(self) -> Iterator[Comparison]:
        assert self.against is not None
        theirs = {
            run.scenario: {reading.key: reading for reading in run.readings}
            for run in self.runs
            if run.system == self.against
        }
        for run in self.runs:
            if run.system != self.against:
                yield from self._beside(run, theirs.get(run.scenario, {}))

    def _beside(self, run: ScenarioRun, theirs: dict[ReadingKey, Reading]) -> Iterator[Comparison]:
        """Yield the readings of one run, then those that only the system compared against has."""
        for reading in run.readings:
            yield self._pair(reading.key, run.system, reading, theirs.get(reading.key))
        own = {reading.key for reading in run.readings}
        for key, other in theirs.items():
            if key not in own:
                yield self._pair(key, run.system, None, other, run.reason)

    def _pair(
        self, key: ReadingKey, system: str, mine: Reading | None, other: Reading | None, reason: str = ""
    ) -> Comparison:
        assert self.against is not None
        if mine is not None:
            status = Status(mine.status or Status.NOT_COMPARED)
        else:  # a reading that is never compared is not missed either
            is_missed = other is not None and other.status != Status.NOT_COMPARED
            status = Status.NOT_AVAILABLE if is_missed else Status.NOT_COMPARED
        return Comparison(
            key,
            system,
            self.against,
            MISSING if mine is None else mine.value,
            MISSING if other is None else other.value,
            status,
            reason if mine is None else mine.reason,
        )
