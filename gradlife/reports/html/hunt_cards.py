"""A finding as a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradlife.model.hunt import Finding, FindingKind, HuntReport
from gradlife.reports.html.code import code_markup
from gradlife.reports.html.traces import TraceView, trace_view
from gradlife.reports.html.words import short
from gradlife.reports.hunt.finding import grown
from gradlife.reports.hunt.ranks import who_has
from gradlife.reports.hunt.sentences import KINDS, amounts, keywords, problem
from gradlife.reports.values import size


@dataclass(frozen=True, slots=True)
class ProofView:
    """The reference that a proof cut, and the growth without it."""

    cut: str
    before: str
    after: str
    is_sufficient: bool
    note: str


@dataclass(frozen=True, slots=True)
class CardView:
    """The data of a finding's card."""

    number: int
    code: str
    title: str
    style: str
    facts: Sequence[tuple[str, str]]
    problem: str
    reason: str
    library: str
    trace: TraceView
    proof: ProofView | None
    advice: str
    code_markup: Markup
    links: Sequence[tuple[str, str]]  # text, and its address if it is a link
    keywords: str


def card_of(finding: Finding, number: int, report: HuntReport) -> CardView:
    """Return the card of a finding."""
    diagnosis = finding.diagnosis
    return CardView(
        number=number,
        code=finding.code,
        title=short(finding.title),
        style="gc" if finding.kind is FindingKind.NEEDS_GC else "bad",
        facts=list(facts(finding, report.step)),
        problem=short(" ".join(problem(finding, report)), 4000),
        reason=short(diagnosis.reason, 2000),
        library=short(diagnosis.library),
        trace=trace_view(finding.trace),
        proof=proof_view(finding),
        advice=short(diagnosis.advice.text, 2000),
        code_markup=code_markup(short(diagnosis.advice.code, 4000)),
        links=[(link, address_of(link)) for link in map(short, diagnosis.advice.links)],
        keywords=short(", ".join(keywords(finding))),
    )


def facts(finding: Finding, step: str) -> list[tuple[str, str]]:
    """Yield the figures of a finding."""
    lines = [("Kind", KINDS[finding.kind])]
    if finding.kind is not FindingKind.RETAINED:
        lines.append((f"Each {step} adds", amounts(finding.per_step)))
    lines += [("Processes", short(who_has(finding)))] if who_has(finding) else []
    lines.append(("Survivors", f"{finding.survivors:,}" + (", one of them shown" if finding.survivors > 1 else "")))
    lines += [("Retained", size(finding.retained_bytes))] if finding.retained_bytes else []
    return lines + ([("Fingerprint", short(finding.fingerprint, 40))] if finding.fingerprint else [])


def proof_view(finding: Finding) -> ProofView | None:
    """Return the proof, if there is one."""
    proof = finding.proof
    if proof is None:
        return None
    after = grown(proof.after) if proof.has_rate else "unknown"
    return ProofView(short(proof.cut), grown(proof.before), after, proof.is_sufficient, short(proof.note))


def address_of(link: str) -> str:
    """Return the address of a link: a URL as it is, an issue of a repository on GitHub; empty for other text."""
    if link.startswith(("https://", "http://")):
        return link
    repository, mark, number = link.partition("#")
    is_issue = mark and number.isdecimal() and repository.count("/") == 1 and " " not in repository
    return f"https://github.com/{repository}/issues/{number}" if is_issue else ""
