"""Compare the test result of a wrapped program with its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.corpus.cases import Case

FAILS, PASSES = "fails", "passes"

#: Least bytes per run in cycles that fail a test whose marker does not mention cycles.
MIN_CYCLE = 4096


@dataclass(frozen=True)
class Judged:
    """One test file of one program."""

    slug: str
    way: str
    expected: str  # fails, passes; empty if the label does not say
    came: str  # fails, passes, or the error
    codes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    cpu_seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """Whether it matches the label, if that says anything."""
        return self.expected in ("", self.came)


def expected(case: Case, way: str, outliving: tuple[int, ...], bytes_a_step: int) -> str:
    """Return the test result that the label demands and, for --leaks, the number of objects that outlive a state."""
    if way == "swept_fixed":
        return PASSES if outliving[1:] == (0,) else ""
    if case.kind is None or way == "fixed":
        return PASSES
    if way == "allowed":
        return PASSES if case.kind == "needs-gc" else FAILS
    if way == "step" or case.kind in ("never", "native"):
        return FAILS
    if case.kind == "needs-gc":
        return FAILS if bytes_a_step >= MIN_CYCLE else PASSES
    return FAILS if outliving and outliving[0] > 0 else PASSES if outliving else ""


def judged(case: Case, way: str, wanted: str, tests: list[dict[str, Any]], said: str, cpu_seconds: float) -> Judged:
    """Judge a program by the worst of its tests."""
    if not tests:
        return Judged(case.slug, way, wanted, f"broken: {said}", cpu_seconds=cpu_seconds)
    worst = tests[0]
    shown = [one for one in worst["findings"] if one["section"] in ("new", "library")] or worst["findings"]
    came = FAILS if worst["is_failure"] else PASSES
    if worst["verdict"] in ("inconclusive", "not repeatable"):
        came = f"{worst['verdict']}: {worst['trouble']}"
    codes, kinds = (tuple(one[name] for one in shown) for name in ("code", "kind"))
    return Judged(case.slug, way, wanted, came, codes, kinds, cpu_seconds)
