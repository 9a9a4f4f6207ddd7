"""A hunt as versioned JSON and back: decode(encode(report)) == report.

`gradlife.hunt/1` is the hunt of one process; `gradlife.hunt/2` adds `ranks` or `workers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from gradlife._version import __version__
from gradlife.model.codec import CodecError
from gradlife.model.from_json import built, encodable, parsed
from gradlife.model.hunt import Finding, HuntReport
from gradlife.model.ranks import SharedLedger
from gradlife.model.trace import PathStep, Trace

FORMAT = "gradlife.hunt/1"
RANKS_FORMAT = "gradlife.hunt/2"

#: The fields of a trace that hold steps.
PATHS = ("steps", "cycle", "tail", "lead")


def no_text(trace: Trace) -> str:
    """Return no text, which a trace does not need to be read back."""
    return ""


def dumps(report: HuntReport, text_of: Callable[[Trace], str] = no_text) -> str:
    """Return the report as JSON text; `text_of` formats a trace for people."""
    return encodable(json.dumps(encode(report, text_of), ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def loads(text: str) -> HuntReport:
    """Read a report from JSON text. Raises `CodecError`."""
    try:
        document = parsed(text)
    except ValueError as error:
        raise CodecError(f"this is not JSON: {error}", "gradlife hunt TARGET --json FILE makes one") from None
    return decode(document)


def encode(report: HuntReport, text_of: Callable[[Trace], str] = no_text) -> dict[str, Any]:
    """Return the report as a JSON object."""
    return {
        "format": RANKS_FORMAT if report.ranks or report.workers else FORMAT,
        "gradlife": __version__,
        "verdict": report.verdict.value,
        "exit_status": report.exit_status,
        "script_status": report.script_status,
        "target": report.target,
        "stepped_by": report.stepped_by,
        "warmup_steps": report.warmup_steps,
        "rounds": [asdict(one) for one in report.rounds],
        "findings": [encode_finding(finding, text_of) for finding in report.findings],
        "explained": [asdict(one) for one in report.explained],
        "unexplained": report.unexplained,
        "resident_growth": {part.value: rate for part, rate in report.resident_growth.items()},
        **({"mapped_file": report.mapped_file} if report.mapped_file else {}),
        "small_growth": [asdict(one) for one in report.small_growth],
        "more_steps": report.more_steps,
        "controls": [{**asdict(control), "is_right": control.is_right} for control in report.controls],
        "limits": list(report.limits),
        **({"unread": asdict(report.unread)} if report.unread is not None else {}),
        "trouble": report.trouble,
        "settings": report.settings,
        "fail_on": report.fail_on.value,
        **(encode_ranks(report) if report.ranks else {}),
        **({"workers": [asdict(row) for row in report.workers]} if report.workers else {}),
        **({"shared_memory": asdict(report.shared_memory)} if report.shared_memory != SharedLedger() else {}),
        **({"owners": [asdict(one) for one in report.owners]} if report.owners else {}),
        **({"against": asdict(report.against)} if report.against is not None else {}),
    }


def encode_ranks(report: HuntReport) -> dict[str, Any]:
    """Return the fields that `gradlife.hunt/2` adds to `/1`."""
    return {
        "world_size": report.world_size,
        "ranks": [asdict(row) for row in report.ranks],
        "skew": [asdict(one) for one in report.skew],
        "look_cost": asdict(report.snapshot_cost) if report.snapshot_cost is not None else None,
    }


def encode_finding(finding: Finding, text_of: Callable[[Trace], str]) -> dict[str, Any]:
    """Encode a finding, its code and title first."""
    diagnosis = finding.diagnosis
    return {
        "code": diagnosis.code,
        "title": diagnosis.title,
        "kind": finding.kind.value,
        "lifetime": finding.lifetime.value,
        "severity": finding.severity.value,
        "steps_to_limit": finding.steps_to_limit,
        "fills": finding.fills,
        "reason": diagnosis.reason,
        "library": diagnosis.library,
        "per_step": asdict(finding.per_step),
        "survivors": finding.survivors,
        "retained_bytes": finding.retained_bytes,
        "retained_types": [asdict(one) for one in finding.retained_types],
        "device_bytes": finding.device_bytes,
        "fingerprint": finding.fingerprint,
        "legacy_fingerprint": finding.legacy_fingerprint,
        "grows_at": finding.grows_at,
        "arrivals": asdict(finding.arrivals) if finding.arrivals is not None else None,
        "consequences": finding.consequences,
        "created_at": list(finding.created_at),
        "also_held_by": list(finding.also_held_by),
        "stored_at": asdict(finding.stored_at) if finding.stored_at is not None else None,
        "patch": asdict(finding.patch) if finding.patch is not None else None,
        "advice": asdict(diagnosis.advice),
        "proof": asdict(finding.proof) if finding.proof is not None else None,
        "trace": encode_trace(finding.trace, text_of),
        **({"waits": asdict(finding.waits)} if finding.waits is not None else {}),
        **({"also_grows": [encode_trace(one, text_of) for one in finding.also_grows]} if finding.also_grows else {}),
        **({"emptied_at": finding.emptied_at} if finding.emptied_at else {}),
        **({"is_running": True} if finding.is_running else {}),
        **({"expectation": finding.expectation} if finding.expectation else {}),
        **({"on_ranks": asdict(finding.on_ranks)} if finding.on_ranks is not None else {}),
        **({"in_workers": asdict(finding.in_workers)} if finding.in_workers is not None else {}),
    }


def encode_trace(trace: Trace, text_of: Callable[[Trace], str]) -> dict[str, Any]:
    """Encode a trace; the `label` of an object is its detail."""
    first = trace.steps[0] if trace.steps else None
    return {
        "root": f"{first.object} {first.detail}".strip() if first is not None else None,
        "object": trace.object,
        "label": trace.detail,
        "lifetime": trace.lifetime.value,
        **{name: [encode_step(step) for step in getattr(trace, name)] for name in PATHS},
        "legs": list(trace.hidden_references),
        "keepers": [asdict(holder) for holder in trace.keepers],
        "ledger": {**asdict(trace.ledger), "unaccounted": trace.ledger.unaccounted},
        "limits": list(trace.limits),
        "tensor": asdict(trace.tensor) if trace.tensor is not None else None,
        "text": text_of(trace),
    }


def encode_step(step: PathStep) -> dict[str, Any]:
    """Encode one object on the path and its reference to the next."""
    item = asdict(step)
    item["label"] = item.pop("detail")
    return item


def decode(document: Any) -> HuntReport:
    """Read a report from a JSON object. Raises `CodecError`."""
    if not isinstance(document, dict) or not str(document.get("format", "")).startswith("gradlife.hunt/"):
        raise CodecError("this is not a report of a hunt", "gradlife hunt TARGET --json FILE makes one")
    if document["format"] not in (FORMAT, RANKS_FORMAT):
        raise CodecError(f"its format is {document['format']}; this gradlife reads {FORMAT} and {RANKS_FORMAT}")
    try:
        return decode_report(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CodecError(f"the report is damaged: {type(error).__name__}: {error}") from None


def decode_report(document: dict[str, Any]) -> HuntReport:
    """Build the report from checked JSON."""
    findings = [finding_item(item) for item in document["findings"]]
    fields = {**document, "findings": findings, "snapshot_cost": document.get("look_cost")}
    report: HuntReport = built(HuntReport, fields)
    if any(one.grows_at is not None and not 0 <= one.grows_at < len(one.trace.steps) for one in report.findings):
        raise ValueError("grows_at is no step of the trace")
    return report


def finding_item(item: dict[str, Any]) -> dict[str, Any]:
    """Convert a finding to the model's fields: a separate diagnosis."""
    trace = trace_item(item["trace"])
    also_grows = [trace_item(one) for one in item.get("also_grows", ())]
    return {**item, "diagnosis": item, "trace": trace, "also_grows": also_grows}


def trace_item(item: dict[str, Any]) -> dict[str, Any]:
    """Convert a trace to the model's fields: `detail` for `label`."""
    steps = {name: [step_item(step) for step in item[name]] for name in PATHS if name in item}
    return {**item, **steps, "detail": item["label"], "hidden_references": item.get("legs", [])}


def step_item(item: dict[str, Any]) -> dict[str, Any]:
    """Convert a step to the model's fields."""
    return {**item, "detail": item["label"]}
