"""Build the run of one scenario from a child's records and how the child ended."""

from __future__ import annotations

import signal
from typing import Any

from gradlife.model.comparison import Status
from gradlife.model.reading import Event, OwnerEdge, OwnerGraph, OwnerNode, Ownership, Reading, ReadingKey
from gradlife.model.run import RunCrashed, RunFailed, RunOk, RunTimedOut, RunUnavailable, ScenarioRun
from gradlife.model.story import ScenarioInfo
from gradlife.probes.exit import EXIT_MARK
from gradlife.runner.server import Ended
from gradlife.runner.worker.child import EXIT_MUTE
from gradlife.runner.worker.supervisor import RESULT_LIMIT

#: The stage of readings about interpreter exit.
EXIT_STAGE = "exit"

MUTE = "the story closed the lab's descriptor"
GARBLED = "something other than readings was written to the lab's descriptor"
OVERFLOWED = f"it reported more than {RESULT_LIMIT // 2**20} MB"


def run_of(info: ScenarioInfo, system: str, ended: Ended, limit: float) -> ScenarioRun:
    """Build the run from how the scenario ended in this system."""
    taken = Taken(info.id, system, ended.records)
    last = next((r for r in reversed(ended.records) if r["kind"] in ("done", "failed", "unavailable")), None)
    common: dict[str, Any] = {
        "scenario": info.id,
        "system": system,
        "readings": tuple(taken.readings.values()),
        "output": ended.output,
    }
    if ended.timed_out:
        return RunTimedOut(**common, seconds=limit)
    if ended.overflowed:
        return RunFailed(**common, error=OVERFLOWED)
    if last is None:
        return mute_or_crashed(common, ended.exit_code)
    if ended.is_garbled or not taken.is_sound:
        return RunFailed(**common, error=GARBLED)
    if last["kind"] == "failed":
        return RunFailed(**common, error=last["error"], line=last["line"], traceback=last["traceback"])
    if last["kind"] == "unavailable":
        return RunUnavailable(**common, why=last["reason"])
    if info.isolation == "fresh":
        common["readings"] += exit_readings(info.id, system, ended)
    if ended.exit_code != 0 and not declares_exit(info):
        return crashed(common, ended.exit_code)
    drawn: dict[str, Any] = {"owners": tuple(taken.owners), "graphs": tuple(taken.graphs)}
    return RunOk(**common, seconds=float(last["seconds"]), events=tuple(taken.events), **drawn)


class Taken:
    """The records of a child: readings (a later one of the same key replaces an earlier one), events, ownership graphs."""

    def __init__(self, scenario: str, system: str, records: tuple[dict[str, Any], ...]) -> None:
        self.readings: dict[ReadingKey, Reading] = {}
        self.events: list[Event] = []
        self.owners: list[Ownership] = []
        self.graphs: list[OwnerGraph] = []
        self.is_sound = True  # whether all records were well-formed
        for record in records:
            try:
                self._take(scenario, system, record)
            except (KeyError, TypeError):
                self.is_sound = False

    def _take(self, scenario: str, system: str, record: dict[str, Any]) -> None:
        if record["kind"] == "reading":
            reading = reading_of(scenario, system, record)
            self.readings[reading.key] = reading
        elif record["kind"] == "event":
            self.events.append(Event(stage=record["stage"], **record["event"]))
        elif record["kind"] == "owners":
            self.owners.append(Ownership(record["stage"], record["subject"], record["text"]))
        elif record["kind"] == "graph":
            self.graphs.append(graph_of(record["stage"], record["graph"]))


def reading_of(scenario: str, system: str, record: dict[str, Any]) -> Reading:
    """Build one reading from its record."""
    stage, subject, probe = record["stage"], record["subject"], record["probe"]
    if not all(isinstance(text, str) for text in (stage, subject, probe)):
        raise TypeError("a reading is about texts")
    status = Status.NOT_COMPARED.value if record["status"] else ""
    return Reading(scenario, stage, subject, probe, system, record["value"], status)


def graph_of(stage: str, drawing: dict[str, Any]) -> OwnerGraph:
    """Build an ownership graph from its record."""
    nodes = tuple(OwnerNode(**node) for node in drawing["nodes"])
    return OwnerGraph(
        stage, nodes, tuple(OwnerEdge(*edge) for edge in drawing["edges"]), drawing["left_out"], drawing["source"]
    )


def mute_or_crashed(common: dict[str, Any], exit_code: int) -> ScenarioRun:
    """Return the run of a child that ended without a final record."""
    return RunFailed(**common, error=MUTE) if exit_code == EXIT_MUTE else crashed(common, exit_code)


def crashed(common: dict[str, Any], exit_code: int) -> RunCrashed:
    """Return the run of a child that ended by a signal or with its own exit code."""
    return RunCrashed(**common, exit_code=exit_code, signal=signal_name(exit_code))


def signal_name(exit_code: int) -> str:
    """Return `SIGSEGV` for -11; empty if it is not a signal."""
    if exit_code >= 0:
        return ""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


def exit_readings(scenario: str, system: str, ended: Ended) -> tuple[Reading, ...]:
    """Return the readings of interpreter exit: exit code or signal, and the lines printed at exit."""
    lines = [line[len(EXIT_MARK) :] for line in ended.output.splitlines() if line.startswith(EXIT_MARK)]
    code = signal_name(ended.exit_code) or ended.exit_code
    return (
        Reading(scenario, EXIT_STAGE, "exit code", "exit", system, code),
        Reading(scenario, EXIT_STAGE, "stderr lines", "exit", system, lines),
    )


def declares_exit(info: ScenarioInfo) -> bool:
    """Whether the scenario declares the expected exit code."""
    return any((expect.probe, expect.subject) == ("exit", "exit code") for expect in info.expects)
