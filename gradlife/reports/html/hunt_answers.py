"""The first part of a hunt's page: for each finding its line, the change and the path; then the proof."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from gradlife.model.hunt import Finding, HuntReport
from gradlife.reports.html.code import code_markup
from gradlife.reports.html.words import short
from gradlife.reports.hunt.changes import changed_rows
from gradlife.reports.hunt.first_screen import (
    can_be_proven,
    name_of_holder,
    pasted_code,
    path,
    place_text,
    proof_line,
)
from gradlife.reports.hunt.sentences import by_whose_bug
from gradlife.reports.source_places import first_place


@dataclass(frozen=True, slots=True)
class Answer:
    """A finding in five lines."""

    number: int  # the link to its card
    code: str
    severity: str
    title: str
    where: str
    advice: str  # empty if there is a patch
    change: Markup
    remains: str  # after the change
    path: str


def answers(report: HuntReport, most: int) -> list[Answer]:
    """Return the first findings, in the order of their cards."""
    found = [finding for _, findings in by_whose_bug(report) for finding in findings]
    return [answer_of(finding, number, report) for number, finding in enumerate(found[:most], 1)]


def answer_of(finding: Finding, number: int, report: HuntReport) -> Answer:
    """Return the five lines of a finding."""
    named = name_of_holder(finding.trace, finding.grows_at)
    advice = finding.diagnosis.advice
    return Answer(
        number=number,
        code=finding.code,
        severity=finding.severity.value,
        title=short(f"{named}: {finding.title}" if named else finding.title),
        where=short(place_text(first_place(finding, report), finding)),
        advice="" if finding.patch is not None else short(advice.text, 2000),
        change=code_markup(
            "\n".join(map(" ".join, changed_rows(finding))) or short("\n".join(pasted_code(finding)), 2000)
        ),
        remains=short(finding.patch.remains) if finding.patch is not None else "",
        path=short(path(finding.trace, finding.grows_at), 2000),
    )


def proof_of(report: HuntReport) -> tuple[str, str]:
    """Return the growth with the line changed, or the command that measures it, and whether that is good."""
    if not can_be_proven(report):
        return "", ""
    proof = report.findings[0].proof
    style = "" if proof is None else "good-proof" if proof.is_sufficient else "bad-proof"
    return short(proof_line(report).plain, 2000), style
