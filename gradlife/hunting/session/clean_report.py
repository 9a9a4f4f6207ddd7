"""The report of a hunt that found no leak, and the facts that every report states about its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradlife.hunting.growth.suspects import CleanResult
from gradlife.hunting.session.method import Hunt
from gradlife.model.hunt import HuntReport


@dataclass(frozen=True)
class TargetFacts:
    """The facts about the target for a report."""

    target: str
    stepped_by: str
    script_status: int | None = None
    trouble: str = ""
    is_script: bool = False
    has_failed: bool = False  # objects of the failed step are reported separately
    is_test: bool = False  # objects from before the first step belong to fixtures
    memory_limit: int | None = None  # bytes; None: the system's limit
    step_on: str = ""  # the function whose calls are steps, if the user named one
    rounds: int = 0  # rounds that must all show growth; 0: the usual number


def clean_report_of(hunt: Hunt, clean: CleanResult, facts: TargetFacts) -> HuntReport:
    """Build the report of a hunt that found no leak."""
    return HuntReport(
        target=facts.target,
        stepped_by=facts.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=clean.rounds,
        findings=(),
        controls=clean.controls,
        limits=(*limits_of_waiting(hunt), *clean.limits),
        script_status=facts.script_status,
        trouble=facts.trouble,
    )


def limits_of_waiting(hunt: Hunt) -> Iterator[str]:
    """Yield a limit if the program ended before the steps without the collector."""
    if not hunt.has_looked_for_garbage:
        yield "cycles that wait for the collector: the program ended before they were looked for; a longer run shows them"
