"""Proves findings: runs the program again with a patch, or with references cut after each step, and compares rates."""

from __future__ import annotations

from dataclasses import replace

from gradlife.errors import GradlifeError
from gradlife.hunting.findings.reference_cuts import cuts_of, dump_cuts, text_of
from gradlife.hunting.process.settings import Settings
from gradlife.model.hunt import NO_RATE, NOT_TRIED, Amounts, Finding, FindingKind, HuntReport, Proof
from gradlife.model.trace import as_written
from gradlife.patterns.wording import expression
from gradlife.program.hunt.patch_trial import Run, changed_files, patch_proof, rest_of, try_texts

#: Most findings that are proven, worst first: each takes a run.
MAX_PROVEN = 3


def proven(report: HuntReport, settings: Settings, run: Run) -> HuntReport:
    """Add proofs to the worst findings. ``run`` hunts once more in a child; ``settings`` are those of a trial."""
    findings = list(report.findings)
    for number, finding in enumerate(findings[:MAX_PROVEN]):
        is_cut_useless = finding.kind is FindingKind.NEEDS_GC and finding.patch is None
        if not is_cut_useless and finding.in_workers is None:
            findings[number] = replace(finding, proof=proof_of(finding, report, settings, run))
    return replace(report, findings=tuple(findings))


def proof_of(finding: Finding, before: HuntReport, settings: Settings, run: Run) -> Proof | None:
    """Run the program with the finding's patch, else with its references cut; None if neither is possible. A patch that does
    not fit the file any more proves nothing.
    """
    if finding.patch is not None:
        try:
            return patch_proof(finding, try_texts(changed_files([finding]), settings, run), before)
        except (GradlifeError, OSError) as error:
            return Proof("nothing changed", finding.per_step, finding.per_step, False, f"{NOT_TRIED}: {error}")
    cuts = cuts_of(finding)
    after = run(replace(settings, cuts=dump_cuts(cuts), trial="")).report if cuts else None
    return judged(finding, text_of(cuts), before, after) if after is not None else None


def judged(finding: Finding, text: str, before: HuntReport, after: HuntReport) -> Proof:
    """Compare rates before and after the cut. A run without rounds has no rate and proves nothing."""
    if len(after.rounds) < 2:
        return Proof(text, finding.per_step, finding.per_step, False, f"{NO_RATE}: {after.trouble}")
    rest = rest_of(finding, before, after)
    rate = rest.per_step if rest is not None else Amounts()
    return Proof(text, finding.per_step, rate, rest is None, still_held(rest))


def still_held(rest: Finding | None) -> str:
    """Describe the path that still holds the survivors; empty if they are gone."""
    if rest is None:
        return ""
    steps = rest.trace.steps
    path = "".join(step.via if step.via[:1] in {".", "["} else f" {step.via}" for step in steps[:-1])
    named = expression(steps, len(steps) - 1) if steps else ""
    return (
        f"still held by {named or as_written(path.strip())}" if path else "still held, by nothing that a root leads to"
    )
