"""Cycles that no collection frees, because the program has switched the collector off or has frozen them: leaks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from gradlife.hunting.findings.builder import together
from gradlife.model.hunt import Advice, Diagnosis, Finding, FindingKind
from gradlife.patterns import patterns_of

#: Garbage that `gc.freeze()` keeps.
FROZEN = "GL529"

#: What to do besides breaking the cycle.
ADVICE = "Call gc.enable(), or gc.collect() now and then. To need neither: "


def as_leak(waiting: Finding) -> Finding:
    """Return garbage that waits for the collector as a leak."""
    known = waiting.diagnosis
    reason = f"{known.reason} The collector is off, and the program did not call gc.collect() in the steps seen."
    advice = replace(known.advice, text=ADVICE + known.advice.text[:1].lower() + known.advice.text[1:])
    title = f"{known.title}, and gc is disabled"
    return replace(waiting, kind=FindingKind.NEVER, diagnosis=replace(known, title=title, reason=reason, advice=advice))


def is_of_python_alone(finding: Finding) -> bool:
    """Whether it is a cycle of Python objects that nothing reaches: a collection would free it."""
    return finding.kind is FindingKind.NEVER and all(step.kind == "python" for step in finding.trace.cycle)


def as_frozen(finding: Finding) -> Finding:
    """Return the finding of a cycle with the code of frozen garbage, and its advice."""
    [row] = patterns_of(FROZEN)
    found = Diagnosis(FROZEN, row.title, row.reason, Advice(row.advice, row.fix))
    return replace(finding, diagnosis=found, patch=None)


def with_one_frozen(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with all that is frozen as one: the calls of `gc.freeze()` are the cause."""
    frozen = [one for one in findings if one.code == FROZEN]
    if not frozen:
        return [*findings]
    return [functools.reduce(together, frozen), *(one for one in findings if one.code != FROZEN)]
