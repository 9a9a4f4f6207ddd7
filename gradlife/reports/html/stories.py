"""The data of a run's page: one packed block for each story, unpacked when the story is opened."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gradlife.model import Event, OwnerEdge, OwnerGraph, RunOk, ScenarioInfo, ScenarioRun
from gradlife.reports.run.timeline import make_lanes
from gradlife.reports.run.view import RunView
from gradlife.reports.values import plain
from gradlife.reports.visible_report import visible_report

#: Stories that are compressed together. Their texts are similar, and the page unpacks them together.
BATCH = 16

#: Most lanes and events of one story on one system. The subjects get theirs first, then the oldest objects.
MAX_LANES, MAX_EVENTS = 40, 400

#: Most characters of a reading's value.
VALUE_LIMIT = 240


def packed_stories(view: RunView) -> list[str]:
    """Pack all stories, `BATCH` at a time: JSON, deflated, in base64."""
    scenarios = view.report.scenarios
    batches = [scenarios[start : start + BATCH] for start in range(0, len(scenarios), BATCH)]
    return [packed([story_data(view, scenario) for scenario in batch]) for batch in batches]


def packed(data: object) -> str:
    """Pack plain values as text that a browser can unpack without a library."""
    text = json.dumps(
        visible_report(data, is_one_line=False), ensure_ascii=True, allow_nan=False, separators=(",", ":")
    )
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")


def story_data(view: RunView, scenario: ScenarioInfo) -> dict[str, Any]:
    """Return the data of one story: its texts, its stages, and the readings on each system."""
    runs = [view.runs.get((scenario.id, system.name)) for system in view.systems]
    stages = stages_of(view, scenario, runs)
    return {
        "title": scenario.title,
        "story": scenario.story,
        "fix": scenario.fix,
        "fixes": scenario.fixed_of or "",
        "pattern": scenario.pattern or "",
        "origin": list(scenario.origin),
        "stages": stages,
        "runs": [run and run_data(view, run, stages) for run in runs],
    }


def stages_of(view: RunView, scenario: ScenarioInfo, runs: Sequence[ScenarioRun | None]) -> list[str]:
    """Return the stages that any system reached, in order."""
    stages = dict.fromkeys(key.stage for key in view.keys.get(scenario.id, ()))
    for run in runs:
        if isinstance(run, RunOk):
            stages.update(dict.fromkeys(graph.stage for graph in run.graphs))
    return list(stages)


def run_data(view: RunView, run: ScenarioRun, stages: list[str]) -> dict[str, Any]:
    """Return the data of a story on one system."""
    order = {stage: number for number, stage in enumerate(stages)}
    events, graphs = (run.events, run.graphs) if isinstance(run, RunOk) else ((), ())
    return {
        "outcome": run.outcome,
        "reason": run.reason,
        "readings": [
            [order[one.stage], one.subject, one.probe, clipped(plain(one.value)), view.mark(one.key, run.system)]
            for one in run.readings
        ],
        "events": event_data(events, order) if events else None,
        "graphs": [graph_data(graph, order) for graph in graphs],
    }


def clipped(text: str) -> str:
    """Return a value, shortened to `VALUE_LIMIT` characters."""
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"


def event_data(events: Sequence[Event], order: dict[str, int]) -> dict[str, Any]:
    """Return the event log as lanes, one for each object, and rows, one for each event.

    A lane is a label, and whether the object is a subject; `event_row` makes the rows.
    """
    lanes = make_lanes(events)
    names = {(event.object_kind, str(event.object)): event.subject for event in events}
    keys = list(dict.fromkeys((event.object_kind, str(event.object)) for event in events))
    numbers = sorted(range(len(keys)), key=lambda number: (not names[keys[number]], number))[:MAX_LANES]
    place = {keys[number]: lane for lane, number in enumerate(sorted(numbers))}
    drawn = [event for event in events if (event.object_kind, str(event.object)) in place]
    rows = [event_row(event, place, order) for event in drawn[:MAX_EVENTS]]
    return {
        "lanes": [[lanes[number].label, bool(names[keys[number]])] for number in sorted(numbers)],
        "rows": rows,
        "objects_left_out": len(keys) - len(place),
        "events_left_out": len(events) - len(rows),
    }


def event_row(event: Event, place: dict[tuple[str, str], int], order: dict[str, int]) -> list[Any]:
    """Return the row of one event."""
    lane = place[event.object_kind, str(event.object)]
    return [lane, order.get(event.stage, 0), event.kind, event.detail, event.strong, event.weak]


def graph_data(graph: OwnerGraph, order: dict[str, int]) -> dict[str, Any]:
    """Return a graph of owners, without empty fields."""
    return {
        "stage": order[graph.stage],
        "nodes": [{name: value for name, value in asdict(node).items() if value} for node in graph.nodes],
        "edges": [
            [one.source, one.target, one.label, one.ownership, *map(int, edge_flags(one))] for one in graph.edges
        ],
        "left_out": graph.left_out,
        "source": graph.source,
    }


def edge_flags(edge: OwnerEdge) -> tuple[bool, bool, bool]:
    """Return whether an edge is from a wrapper, whether it is to a wrapper, and whether the collector does not see it."""
    return edge.is_from_wrapper, edge.is_to_wrapper, edge.is_unseen
