"""Compare readings with the scenario's declarations, and the heap graph's predictions with measured lifetimes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradlife.model.comparison import ExpectationResult, Verdict
from gradlife.model.reading import Reading, ReadingKey
from gradlife.model.run import RunOk, ScenarioRun
from gradlife.model.story import Declared, ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.runner.compare import same_value
from gradlife.scenario import applies_on

GRAPH = "graph"
LIVENESS = "liveness"


def check_expectations(
    runs: Iterable[ScenarioRun], systems: Sequence[SystemInfo], scenarios: Sequence[ScenarioInfo]
) -> tuple[ExpectationResult, ...]:
    """Check every declared reading of every run: met, contradicted or not available."""
    by_name = {system.name: system for system in systems}
    by_id = {scenario.id: scenario for scenario in scenarios}
    return tuple(result for run in runs for result in check_run(run, by_name[run.system], by_id[run.scenario]))


def check_run(run: ScenarioRun, system: SystemInfo, scenario: ScenarioInfo) -> Iterator[ExpectationResult]:
    """Check the declared readings of one run."""
    for declared in applicable(scenario, system):
        reading = find_reading(run.readings, declared)
        yield ExpectationResult(
            scenario=scenario.id,
            system=system.name,
            stage=reading.stage if reading is not None else declared.stage or "",
            subject=declared.subject,
            probe=declared.probe,
            declared=declared.value,
            got=reading.value if reading is not None else None,
            because=declared.because,
            verdict=verdict(run, declared, reading).value,
        )


def applicable(scenario: ScenarioInfo, system: SystemInfo) -> tuple[Declared, ...]:
    """Return the first declaration for each subject, probe and stage that applies to the system."""
    chosen: dict[tuple[str, str, str | None], Declared] = {}
    for declared in scenario.expects:
        if applies_on(declared.on, system.name, system.profile):
            chosen.setdefault((declared.subject, declared.probe, declared.stage), declared)
    return tuple(chosen.values())


def check_graph(runs: Iterable[ScenarioRun]) -> tuple[ExpectationResult, ...]:
    """Compare what the heap graph predicted of every subject with its measured lifetime."""
    return tuple(result for run in runs for result in check_graph_of(run))


def check_graph_of(run: ScenarioRun) -> Iterator[ExpectationResult]:
    """Compare the readings of the probe `graph` in one run with those of `liveness`."""
    measured = {reading.key: reading for reading in run.readings if reading.probe == LIVENESS}
    for reading in run.readings:
        lifetime = measured.get(ReadingKey(reading.scenario, reading.stage, reading.subject, LIVENESS))
        if reading.probe != GRAPH or lifetime is None:
            continue
        is_conclusive = reading.is_conclusive and lifetime.is_conclusive
        is_same = same_value(reading.value, lifetime.value)
        yield ExpectationResult(
            scenario=run.scenario,
            system=run.system,
            stage=reading.stage,
            subject=reading.subject,
            probe=GRAPH,
            declared=lifetime.value,
            got=reading.value,
            because="",
            verdict=(
                Verdict.NOT_AVAILABLE if not is_conclusive else Verdict.MET if is_same else Verdict.CONTRADICTED
            ).value,
            is_of_graph=True,
        )


def find_reading(readings: Iterable[Reading], declared: Declared) -> Reading | None:
    """Return the reading that a declaration means: the last one if it names no stage."""
    found = None
    for reading in readings:
        is_about = (reading.subject, reading.probe) == (declared.subject, declared.probe)
        if is_about and declared.stage in (None, reading.stage):
            found = reading
    return found


def verdict(run: ScenarioRun, declared: Declared, reading: Reading | None) -> Verdict:
    """Judge a declaration. If a finished story never took the declared reading, the declaration is contradicted: a name in
    it is probably misspelled.
    """
    if not isinstance(run, RunOk) or (
        reading is not None and not reading.is_conclusive and declared.value != reading.value
    ):
        return Verdict.NOT_AVAILABLE
    if reading is not None and not reading.is_stable:
        return Verdict.NOT_AVAILABLE
    if reading is not None and same_value(reading.value, declared.value):
        return Verdict.MET
    return Verdict.CONTRADICTED
