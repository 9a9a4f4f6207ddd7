"""What is said of a trace that no pattern fits: where it is held, and that nobody knows more."""

from __future__ import annotations

from gradlife.model.hunt import UNKNOWN_CODE, Advice, Diagnosis
from gradlife.patterns.pattern import Case, Fit
from gradlife.patterns.wording import Wording


def unknown(case: Case) -> Diagnosis:
    """No name, but the reference to look at."""
    return Diagnosis(
        UNKNOWN_CODE,
        "no known pattern",
        f"No known pattern fits this trace. {suspicion(case)}",
        Advice(
            "Follow the trace from the reference that is marked: ask of each step whether it should still be there."
        ),
    )


def suspicion(case: Case) -> str:
    """The reference that is most likely the one too many."""
    if case.trace.cycle:
        words = Wording(case, Fit(case.trace.cycle, 0, len(case.trace.cycle) - 1))
        return f"{words.ring} hold one another, and no root leads to them."
    if not case.steps:
        return "Nothing that can be seen leads to the object."
    first = next((i for i, step in enumerate(case.steps) if step.is_suspect), 0)
    words = Wording(case, Fit(case.steps, first, first))
    return f"The first reference that need not be there is {words.reference}."
