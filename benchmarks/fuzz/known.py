"""Accepted differences with their reasons; docs/fidelity.md lists them for readers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.fuzz.program import Difference, Program


@dataclass(frozen=True)
class Known:
    """An accepted difference: its kind, and patterns for its step, an earlier step and both sides (regular
    expressions).
    """

    kind: str
    step: str
    first: str
    second: str
    reason: str
    after: str = ""

    def covers(self, program: Program, difference: Difference) -> bool:
        done = [step.text for step in program.steps[: difference.step + 1]]
        text = done[-1] if difference.step < len(program.steps) else "the end"
        return (
            re.fullmatch(self.kind, difference.kind) is not None
            and re.search(self.step, text) is not None
            and (not self.after or any(re.search(self.after, text) for text in done))
            and re.search(self.first, str(difference.one)) is not None
            and re.search(self.second, str(difference.other)) is not None
        )


KNOWN: tuple[Known, ...] = (
    Known(
        kind="error|values|notes",
        step="",
        first="",
        second=r"shouldn't be called on a tensor with unallocated storage",
        reason="PyTorch gives zeros without memory where a second derivative is zero everywhere, and cannot show them",
    ),
    Known(
        kind="values",
        step=r"\.(prod|sum|mean)\(",
        first="",
        second="",  # uninitialized memory looks like any number
        reason="PyTorch reads memory that nothing was written to where a saved number is reduced",
        after=r"= \w+\._saved_(other|self)$",
    ),
    Known(
        kind="values",
        step="",
        first=r"\d{12}\.|e\+",
        second=r"\d{12}\.|e\+",
        reason="the last bit of a number so large is many turns of its sine: each side has its own exp",
        after=r"\.(sin|cos)_?\(",
    ),
    Known(
        kind="error|notes",
        step="",
        first="",
        second="INTERNAL ASSERT FAILED",
        reason="an assertion inside PyTorch fails, with a request to report it",
    ),
)


def known_reason(program: Program, difference: Difference) -> str:
    """Return why this difference is accepted; "" if it is not."""
    return next((known.reason for known in KNOWN if known.covers(program, difference)), "")
