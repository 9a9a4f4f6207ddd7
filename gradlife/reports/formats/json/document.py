"""Reports for machines: versioned JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from gradlife._version import __version__
from gradlife.model import RunOk, RunReport, ScenarioInfo, ScenarioRun, codec, hunt_codec
from gradlife.model.checkup import Checkup, encode
from gradlife.model.fidelity import FidelityReport
from gradlife.model.heap import HeapDiff, HeapView
from gradlife.model.history import History
from gradlife.model.hunt import HuntReport
from gradlife.model.system import EnvironmentInfo
from gradlife.model.trace import Trace
from gradlife.reports.document.terminal import trace_drawing

DOCTOR_FORMAT = "gradlife.doctor/1"
ENVIRONMENTS_FORMAT = "gradlife.environments/1"
LIST_FORMAT = "gradlife.list/1"
FIDELITY_FORMAT = "gradlife.fidelity/1"
HISTORY_FORMAT = "gradlife.history/1"
HEAP_FORMAT = "gradlife.heap/1"
DIFF_FORMAT = "gradlife.diff/1"
TRACE_FORMAT = "gradlife.why/1"


def run_text(report: RunReport, with_drawings: bool = True) -> str:
    """Format a run as `gradlife.run/1`, if requested without the drawings' data, which is most of it."""
    if not with_drawings:
        report = replace(report, runs=tuple(map(without_drawings, report.runs)))
    return codec.dumps(report)


def without_drawings(run: ScenarioRun) -> ScenarioRun:
    """Return a run without its events and ownership drawings."""
    return replace(run, events=(), owners=(), graphs=()) if isinstance(run, RunOk) else run


def fidelity_text(report: FidelityReport) -> str:
    """Format the fidelity of profiles to releases as `gradlife.fidelity/1`."""
    lines = [{**asdict(line), "per_cent": line.per_cent, "unexplained": len(line.unexplained)} for line in report.lines]
    return whole(FIDELITY_FORMAT, {"exit_status": report.exit_status, **asdict(report), "lines": lines})


def history_text(history: History) -> str:
    """Format the readings of a scenario in several releases as `gradlife.history/1`."""
    return whole(HISTORY_FORMAT, asdict(history))


def list_text(stories: Iterable[ScenarioInfo]) -> str:
    """Format scenarios, with everything that they declare, as `gradlife.list/1`: one scenario per line."""
    lines = ",\n".join(json.dumps(asdict(story), ensure_ascii=False) for story in stories)
    return f'{{\n"format": "{LIST_FORMAT}",\n"gradlife": "{__version__}",\n"scenarios": [\n{lines}\n]\n}}\n'


def environments_text(environments: Iterable[EnvironmentInfo]) -> str:
    """Format the registered environments as `gradlife.environments/1`."""
    return whole(ENVIRONMENTS_FORMAT, {"environments": [asdict(environment) for environment in environments]})


def checkup_text(checkup: Checkup) -> str:
    """Format the doctor's result as `gradlife.doctor/1`."""
    problems = [encode(sign) for sign in checkup.problems]
    sections = {title: [encode(sign) for sign in signs] for title, signs in checkup.sections.items()}
    return whole(DOCTOR_FORMAT, {"exit_status": checkup.exit_status, "problems": problems, "sections": sections})


def heap_text(view: HeapView) -> str:
    """Format the tables of a snapshot as `gradlife.heap/1`."""
    return whole(HEAP_FORMAT, asdict(view))


def diff_text(difference: HeapDiff) -> str:
    """Format the difference of two snapshots as `gradlife.diff/1`."""
    return whole(DIFF_FORMAT, asdict(difference))


def trace_text(trace: Trace) -> str:
    """Format the trace of a living object as `gradlife.why/1`."""
    ledger = {**asdict(trace.ledger), "unaccounted": trace.ledger.unaccounted}
    return whole(TRACE_FORMAT, {**asdict(trace), "ledger": ledger})


def hunt_text(report: HuntReport) -> str:
    """Format a report as `gradlife.hunt/1`, for ranks as `gradlife.hunt/2`; `model.hunt_codec` reads it back."""
    return hunt_codec.dumps(report, trace_drawing)


def whole(form: str, content: dict[str, Any]) -> str:
    """Return a document of one object, its format and the version of gradlife first."""
    return json.dumps({"format": form, "gradlife": __version__, **content}, ensure_ascii=False, indent=1) + "\n"
