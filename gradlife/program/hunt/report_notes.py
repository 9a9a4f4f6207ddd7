"""What a report says beside its findings: how the program ended, how to count other steps, who holds most memory."""

from __future__ import annotations

import os
from dataclasses import replace

from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.process.memory_limits import system_limit
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import snapshots_at_return
from gradlife.model.heap import Owner
from gradlife.model.hunt import ARGUMENTS, Finding, FindingKind, HuntReport, Severity
from gradlife.safe_access import short_class_name

#: How traces name a local variable that is no argument, and what is said of one of a running function.
LOCAL = "local variable "
RUNNING_CALL = (
    "If `{function}` is one long call, such as the generation of a text, it frees this at its end{count}. Otherwise: "
)


def trouble_of(error: BaseException | None, steps: int) -> str:
    """Describe the error that ended the program, on one line; empty if there is none."""
    return "" if error is None else f"the program ended with {short_class_name(error)} after {steps} counted steps"


def with_limit(report: HuntReport, limit: int | None) -> HuntReport:
    """Add the memory limit in bytes to the report if a finding would reach it. ``limit``: the requested limit."""
    if all(one.steps_to_limit is None or one.fills for one in report.findings):
        return report
    return replace(report, settings={**report.settings, "memory_limit": str(limit or system_limit())})


def with_arguments(report: HuntReport, given: int) -> HuntReport:
    """Note how many arguments the program was given, and leave room for them in commands to type."""
    if not given:
        return report
    noted = replace(report, settings={**report.settings, ARGUMENTS: str(given)})
    end = f" {report.target}"
    typed = (f"{one.removesuffix(end)} {noted.typed_target}" if one.endswith(end) else one for one in report.limits)
    return replace(noted, limits=tuple(typed))


def with_steps_named(report: HuntReport, seconds: float | None) -> HuntReport:
    """Add how the steps were found and how to choose others."""
    if not report.stepped_by:
        return report
    limit = f"steps other than {report.stepped_by} → gradlife hunt --step-on MODULE:FUNCTION {report.typed_target}"
    settings = {**report.settings, "steps": "sampled", **({"step_seconds": str(seconds)} if seconds else {})}
    findings = tuple(with_running_call(one, report.target) for one in report.findings)
    limits = tuple(dict.fromkeys([*report.limits, limit]))  # an answer to which later steps add has it already
    return replace(report, limits=limits, settings=settings, findings=findings)


def with_running_call(one: Finding, target: str) -> Finding:
    """Say of what only a local variable of a running function keeps that it is freed when the function returns.

    Nothing tells a loop that goes on for ever from one long call, such as the generation of a text with its cache.
    """
    root = one.trace.steps[0] if one.trace.steps else None
    if one.kind is not FindingKind.GROWTH or root is None or root.object != RUNNING_FRAME or one.also_held_by:
        return one
    function, _, place = root.detail.partition(" ")
    if root.relation != "local" or not root.via.startswith(LOCAL) or function.startswith("<"):
        return one
    module = "__main__" if place.strip("()").partition(":")[0] == os.path.basename(target) else "MODULE"
    count = "" if "<locals>" in function else f": --step-on {module}:{function} counts its calls"
    advice = one.diagnosis.advice
    before = RUNNING_CALL.format(function=function, count=count)
    words = before + advice.text.removeprefix(before)
    diagnosis = replace(one.diagnosis, advice=replace(advice, text=words))
    severity = Severity.MAJOR if one.severity is Severity.CRITICAL else one.severity
    return replace(one, diagnosis=diagnosis, severity=severity)


def with_failure(report: HuntReport, error: BaseException) -> HuntReport:
    """Add what the failed step still holds to the report."""
    try:
        from gradlife.hunting.findings.failed_program import describe_failure

        return replace(report, explained=(*describe_failure(error), *report.explained))
    except Exception as own:  # memory may be short
        limit = f"what the failed step holds is unknown: {type(own).__name__}"
        return replace(report, limits=(limit, *report.limits))


def with_owners(report: HuntReport) -> HuntReport:
    """Add the largest owners of memory to the report, before growth is known."""
    try:
        from gradlife.hunting.findings.failed_program import owners_now

        return replace(report, explained=(*owners_now(), *report.explained))
    except Exception:  # memory may be short: report the rest
        return report


def compared_with_ranks(hunt: Hunt, report: HuntReport) -> HuntReport:
    """Add the largest owners at the last snapshot with names, by which a rank is compared with the others."""
    named = next((one for one in reversed(snapshots_at_return(hunt) or hunt.snapshots) if one.has_labels), None)
    if named is None:
        return report
    snapshot = named

    def work() -> tuple[Owner, ...]:
        from gradlife.hunting.findings.failed_program import largest_owners

        return tuple(largest_owners(snapshot.graph))

    try:
        return replace(report, owners=in_fork(work))
    except Exception:  # memory may be short
        return report
