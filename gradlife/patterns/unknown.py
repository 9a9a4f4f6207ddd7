"""Diagnosis of a trace that no pattern fits: the reference to look at."""

from __future__ import annotations

from gradlife.model.hunt import UNKNOWN_CODE, Advice, Diagnosis
from gradlife.patterns.matching.pattern import Case, Fit
from gradlife.patterns.wording import Wording


def unknown(case: Case) -> Diagnosis:
    """Return a diagnosis with code GL000."""
    return Diagnosis(
        UNKNOWN_CODE,
        "no known pattern",
        f"No known pattern fits this trace. {suspicion(case)}",
        Advice("Follow the trace from the marked reference, and check of each step whether it should still exist."),
    )


def suspicion(case: Case) -> str:
    """Name the first suspect reference."""
    if case.trace.cycle:
        words = Wording(case, Fit(case.trace.cycle, 0, len(case.trace.cycle) - 1))
        return f"{words.cycle} hold one another, and no root leads to them."
    if not case.steps:
        return "No visible object leads to it."
    first = next((i for i, step in enumerate(case.steps) if step.is_suspect), 0)
    words = Wording(case, Fit(case.steps, first, first))
    return f"The first suspect reference is {words.reference}."
