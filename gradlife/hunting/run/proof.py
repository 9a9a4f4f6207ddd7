"""Cut and prove: the program is run again with one reference cut after each step, and the rates are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradlife.hunting.findings.reference_cuts import cut_of
from gradlife.hunting.process.settings import Settings
from gradlife.model.hunt import Finding, FindingKind, HuntReport, PerStep, Proof

#: Findings that are proven, the worst first: each takes a run.
MOST_PROVEN = 3

#: A rate that has fallen to less than this part of what it was is gone.
REST = 0.05

Run = Callable[[Settings], HuntReport | None]


def proven(report: HuntReport, settings: Settings, run: Run) -> HuntReport:
    """The report, its worst findings with their proofs. ``run`` hunts once more in a child."""
    findings = list(report.findings)
    for number, finding in enumerate(findings[:MOST_PROVEN]):
        if finding.kind is not FindingKind.NEEDS_GC and finding.in_workers is None:
            findings[number] = replace(finding, proof=proof_of(finding, settings, run))
    return replace(report, findings=tuple(findings))


def proof_of(finding: Finding, settings: Settings, run: Run) -> Proof | None:
    """Run the program with the finding's reference cut; None if that is not possible."""
    cut = cut_of(finding)
    after = run(replace(settings, cut=cut.dump())) if cut is not None else None
    return judged(finding, cut.text, after) if cut is not None and after is not None else None


def judged(finding: Finding, text: str, after: HuntReport) -> Proof:
    """Rates before and after the cut. Without rounds there is no rate, and nothing is proven."""
    if len(after.rounds) < 2:
        return Proof(text, finding.per_step, finding.per_step, False, f"the second run has no rate: {after.trouble}")
    same = next((one for one in after.findings if one.fingerprint == finding.fingerprint), None)
    rest = same or heir_of(finding, after)
    rate = rest.per_step if rest is not None else PerStep()
    return Proof(text, finding.per_step, rate, rest is None, still_held(rest))


def heir_of(finding: Finding, after: HuntReport) -> Finding | None:
    """Find the finding that now holds a good part of what this one held."""
    return next((one for one in after.findings if is_large(one.per_step, finding.per_step)), None)


def is_large(rate: PerStep, before: PerStep) -> bool:
    """Is this more than a rest of the rate before?"""
    amounts = [(rate.bytes, before.bytes), (rate.tensors, before.tensors), (rate.objects, before.objects)]
    return any(old > 0 and new > REST * old for new, old in amounts)


def still_held(rest: Finding | None) -> str:
    """Return the object that still holds the survivors."""
    if rest is None:
        return ""
    path = "".join(step.via if step.via[:1] in {".", "["} else f" {step.via}" for step in rest.trace.steps[:-1])
    return f"still held by{path}" if path else "still held, by nothing that a root leads to"
