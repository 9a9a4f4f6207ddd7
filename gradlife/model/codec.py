"""A run as versioned JSON, `gradlife.run/1`, and back: decode(encode(report)) == report."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from gradlife._version import __version__
from gradlife.errors import GradlifeError
from gradlife.model.comparison import ExpectationResult
from gradlife.model.from_json import parsed
from gradlife.model.reading import Event, OwnerEdge, OwnerGraph, OwnerNode, Ownership, Reading
from gradlife.model.report import RunReport
from gradlife.model.run import OUTCOMES, RunOk, ScenarioRun
from gradlife.model.story import Declared, DeclaredDifference, ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.model.totals import PairTotals, Totals

FORMAT = "gradlife.run/1"

#: Former names of totals, which are still written because a format version only gains keys.
OLD_NAMES = {"distinguishing": "telling", "distinguishing_any": "telling_any"}

T = TypeVar("T")


class CodecError(GradlifeError):
    """The file is not a recorded run, or its version is unknown to this gradlife."""


def dumps(report: RunReport) -> str:
    """Return the report as JSON text, one line per reading."""
    document = encode(report)
    blocks = [f"{json.dumps(key)}: {_block(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def loads(text: str) -> RunReport:
    """Read a report from JSON text. Raises `CodecError`."""
    try:
        document = parsed(text)
    except ValueError as error:
        raise CodecError(f"this is not JSON: {error}") from None
    return decode(document)


def encode(report: RunReport) -> dict[str, Any]:
    """Return the report as a JSON object."""
    return {
        "format": FORMAT,
        "gradlife": __version__,
        "exit_status": report.exit_status,
        "against": report.against,
        "totals": _encode_totals(report.totals),
        "contradictions": [asdict(result) for result in report.contradictions],
        "failures": [
            {"scenario": run.scenario, "system": run.system, "outcome": run.outcome, "reason": run.reason}
            for run in report.failures
        ],
        "systems": [asdict(system) for system in report.systems],
        "scenarios": [asdict(scenario) for scenario in report.scenarios],
        "runs": [_encode_run(run) for run in report.runs],
        "expectations": [asdict(result) for result in report.expectations],
        "readings": [_without_blanks(asdict(reading)) for reading in report.readings],
    }


def decode(document: Any) -> RunReport:
    """Read a report from a JSON object. Raises `CodecError`."""
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("gradlife.run/"):
        raise CodecError("this is not a recorded run", "gradlife run --json FILE makes one")
    if document["format"] != FORMAT:
        raise CodecError(f"its format is {document['format']}; this gradlife reads {FORMAT}")
    try:
        return _decode(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CodecError(f"the recording is damaged: {type(error).__name__}: {error}") from None


def _decode(document: dict[str, Any]) -> RunReport:
    readings: dict[tuple[str, str], list[Reading]] = {}
    for item in document["readings"]:
        reading = _build(Reading, item)
        reading = replace(reading, seen=tuple(reading.seen)) if reading.seen else reading
        readings.setdefault((reading.scenario, reading.system), []).append(reading)
    totals = _decode_totals(document["totals"])
    totals["pairs"] = tuple(_build(PairTotals, pair) for pair in totals["pairs"])
    return RunReport(
        systems=tuple(_build(SystemInfo, item) for item in document["systems"]),
        scenarios=tuple(_decode_scenario(item) for item in document["scenarios"]),
        runs=tuple(_decode_run(item, readings) for item in document["runs"]),
        against=document["against"],
        expectations=tuple(_build(ExpectationResult, item) for item in document["expectations"]),
        totals=_build(Totals, totals),
    )


def _encode_totals(totals: Totals) -> dict[str, Any]:
    item = asdict(totals)
    return {**item, **{old: item[name] for name, old in OLD_NAMES.items()}}


def _decode_totals(item: dict[str, Any]) -> dict[str, Any]:
    return {**{name: item[old] for name, old in OLD_NAMES.items() if old in item}, **item}


def _encode_run(run: ScenarioRun) -> dict[str, Any]:
    item = asdict(run)
    del item["readings"]
    for name in ("events", "owners", "graphs"):
        if not item.get(name, True):
            del item[name]
    return {"outcome": run.outcome, **item}


def _decode_run(item: dict[str, Any], readings: dict[tuple[str, str], list[Reading]]) -> ScenarioRun:
    item = dict(item)
    kind = OUTCOMES[item.pop("outcome")]
    item["readings"] = tuple(readings.get((item["scenario"], item["system"]), ()))
    if kind is RunOk:
        item["events"] = tuple(_build(Event, event) for event in item.get("events", ()))
        item["owners"] = tuple(_build(Ownership, owners) for owners in item.get("owners", ()))
        item["graphs"] = tuple(map(_decode_graph, item.get("graphs", ())))
    return _build(kind, item)


def _decode_graph(item: dict[str, Any]) -> OwnerGraph:
    nodes = tuple(_build(OwnerNode, node) for node in item["nodes"])
    edges = tuple(_build(OwnerEdge, edge) for edge in item["edges"])
    return _build(OwnerGraph, {**item, "nodes": nodes, "edges": edges})


def _decode_scenario(item: dict[str, Any]) -> ScenarioInfo:
    item = dict(item)
    item["origin"] = tuple(item["origin"])
    item["expects"] = tuple(_build(Declared, expect) for expect in item["expects"])
    item["differs"] = tuple(_build(DeclaredDifference, differs) for differs in item["differs"])
    return _build(ScenarioInfo, item)


def _build(kind: type[T], item: dict[str, Any]) -> T:
    """Build a value from its fields. Unknown fields, which a later minor version may add, are ignored."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in item.items() if name in known})


def _without_blanks(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if value or name not in ("reason", "seen")}


def _block(value: Any) -> str:
    """Format a list with one item per line, and anything else on one line."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_dump(item) for item in value) + "\n]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
