"""A hunt as JUnit XML: a case per finding, and one for each planted control."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import Finding, HuntReport, HuntVerdict
from gradlife.reports.document.terminal import trace_drawing
from gradlife.reports.formats.junit.document import ERROR, FAILURE, Case, Ending, Suite, junit_text
from gradlife.reports.hunt.sentences import KINDS, headline, problem
from gradlife.reports.source_places import first_place
from gradlife.reports.visible_report import shows_report

#: Digits of a fingerprint that distinguish findings of the same name.
DIGITS = 8


@shows_report
def hunt_junit(report: HuntReport, is_strict: bool = False) -> str:
    """Format a hunt. Leaks fail; garbage that waits for the collector fails if `is_strict`, else its case passes."""
    suite = Suite(f"gradlife hunt {report.target}", tuple(cases(report, is_strict)), facts(report), growth(report))
    return junit_text("gradlife hunt", [suite])


def cases(report: HuntReport, is_strict: bool) -> Iterator[Case]:
    """Yield the verdict, the findings, the controls."""
    yield Case(report.target, "verdict", ending=verdict_ending(report), output=headline(report))
    yield from (finding_case(one, report, is_strict) for one in report.findings)
    for control in report.controls:
        text = f"observed {control.observed}, it is {control.expected}"
        ending = None if control.is_right else Ending(ERROR, "control", f"judged wrongly: {text}")
        yield Case("controls", control.name, ending=ending)


def verdict_ending(report: HuntReport) -> Ending | None:
    """Return the ending of the hunt's own case: why there is no verdict. Leaks have their own cases."""
    if report.verdict is HuntVerdict.INCONCLUSIVE:
        return Ending(ERROR, report.verdict.value, headline(report), report.trouble)
    if report.script_status:
        return Ending(ERROR, "script", f"the script ended with status {report.script_status}", report.trouble)
    return None


def finding_case(finding: Finding, report: HuntReport, is_strict: bool) -> Case:
    """Return the case of a finding. Its name is the same in each run, as long as the leak is the same."""
    text = "\n".join(lines(finding, report))
    is_failure = report.is_failure(finding, is_strict)
    sentence = f"{finding.title}: {KINDS[finding.kind]}"
    return Case(
        classname=report.target,
        name=f"{finding.code} {finding.title} [{finding.fingerprint[:DIGITS]}]",
        ending=Ending(FAILURE, finding.code, sentence, text) if is_failure else None,
        output="" if is_failure else text,
        place=first_place(finding, report),
        properties={"code": finding.code, "kind": finding.kind.value, "fingerprint": finding.fingerprint},
    )


def lines(finding: Finding, report: HuntReport) -> Iterator[str]:
    """Yield all lines of a finding."""
    yield " ".join(problem(finding, report))
    if finding.diagnosis.reason:
        yield finding.diagnosis.reason
    yield ""
    yield trace_drawing(finding.trace).rstrip()
    advice = finding.diagnosis.advice
    yield from ("", f"What to do: {advice.text}") if advice.text else ()
    yield from (f"    {line}" for line in advice.code.splitlines())
    yield from (f"See {', '.join(advice.links)}",) if advice.links else ()


def facts(report: HuntReport) -> dict[str, str]:
    """Yield the facts about the hunt."""
    named = {"verdict": report.verdict.value, "stepped by": report.stepped_by, "rounds": str(len(report.rounds))}
    return {name: value for name, value in named.items() if value}


def growth(report: HuntReport) -> str:
    """Yield growth with a known reason, and the limits."""
    lines = [f"meant: {one.kind}: {one.what}" for one in report.meant]
    lines += [f"held: {one.kind}: {one.what}" for one in report.at_failure]
    return "\n".join([*lines, *(f"limit: {limit}" for limit in report.limits)])
