"""A peak report as versioned JSON and back: loads(dumps(report)) == report."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gradlife._version import __version__
from gradlife.model.codec import CodecError
from gradlife.model.from_json import built, encodable, parsed
from gradlife.model.peak.report import PeakReport

FORMAT = "gradlife.peak/1"

#: The fields of a run of several processes.
RANKS = frozenset({"world_size", "worst_rank", "ranks", "skew"})

REMEDY = "gradlife peak TARGET --json FILE makes one"


def dumps(report: PeakReport) -> str:
    """Return the report as JSON text."""
    return encodable(json.dumps(encode(report), ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def loads(text: str) -> PeakReport:
    """Read a report from JSON text. Raises `CodecError`."""
    try:
        document = parsed(text)
    except ValueError as error:
        raise CodecError(f"this is not JSON: {error}", REMEDY) from None
    return decode(document)


def encode(report: PeakReport) -> dict[str, Any]:
    """Return the report as a JSON object, including derived fields."""
    return {
        "format": FORMAT,
        "gradlife": __version__,
        "exit_status": report.exit_status,
        "unused_bytes": report.unused_bytes,
        "unused_percent": round(report.unused_percent, 2),
        "saved_bytes": report.saved_bytes,
        **{name: value for name, value in asdict(report).items() if report.ranks or name not in RANKS},
    }


def decode(document: Any) -> PeakReport:
    """Read a report from a JSON object. Raises `CodecError`."""
    form = document.get("format") if isinstance(document, dict) else None
    if not str(form).startswith("gradlife.peak/"):
        raise CodecError("this is not a report of a peak", REMEDY)
    if form != FORMAT:
        raise CodecError(f"its format is {form}; this gradlife reads {FORMAT}")
    try:
        report: PeakReport = built(PeakReport, document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CodecError(f"the report is damaged: {type(error).__name__}: {error}") from None
    return report
