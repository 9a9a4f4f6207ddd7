"""The document of each kind of report."""

from __future__ import annotations

from gradlife.model import RunReport
from gradlife.model.bisection import Bisected
from gradlife.model.hunt import HuntReport
from gradlife.model.peak.report import PeakReport
from gradlife.reports.document.blocks import Document
from gradlife.reports.hunt.bisection import bisection_document
from gradlife.reports.hunt.document import hunt_document
from gradlife.reports.peak.document import peak_document
from gradlife.reports.run.document import run_document


def document_of(report: object) -> Document:
    """Return what a report says. Raises TypeError for anything but a report."""
    match report:
        case HuntReport():
            return hunt_document(report)
        case RunReport():
            return run_document(report)
        case Bisected():
            return bisection_document(report)
        case PeakReport():
            return peak_document(report)
    raise TypeError(f"a {type(report).__name__} is no report")
