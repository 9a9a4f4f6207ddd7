"""One finding: its name, the problem in plain words, the trace, the proof, the advice."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.hunt import Advice, Amounts, Finding, FindingKind, HuntReport, Proof
from gradlife.reports.document.blocks import Block, Card, Code, Facts, Paragraph, Span, Tone, TraceBlock
from gradlife.reports.hunt.answer import DO, answer_blocks, name_of_holder, path
from gradlife.reports.hunt.ranks import who_has
from gradlife.reports.hunt.sentences import KINDS, amounts, keywords, problem
from gradlife.reports.values import counted, size

#: What the rate after a cut shows.
PROVEN, NOT_PROVEN = "✔ this was the whole cause", "✘ growth goes on: not the only cause"


def finding_card(finding: Finding, number: int, report: HuntReport) -> Card:
    """Return everything about a finding."""
    diagnosis = finding.diagnosis
    blocks: list[Block] = [Paragraph(" ".join(problem(finding, report)))]
    blocks += [Paragraph(diagnosis.reason)] if diagnosis.reason else []
    blocks += [Paragraph(Span(diagnosis.library, "title"), "a bug of")] if diagnosis.library else []
    blocks += [TraceBlock(finding.trace), *proof_facts(finding.proof), *advice_blocks(diagnosis.advice)]
    blocks.append(Paragraph(", ".join(keywords(finding)), "search terms", "quiet"))
    return Card(
        number,
        finding.title,
        tuple(blocks),
        f"Problem {number} of {len(report.findings)}",
        finding.code,
        cluster(finding, report.step),
        "note" if finding.kind is FindingKind.NEEDS_GC else "bad",
        f"finding-{number}",
    )


def cluster(finding: Finding, step: str) -> str:
    """Describe the survivors with the same fingerprint; one of them is shown."""
    is_after = finding.is_after_steps
    parts = ["grows after the last step" if is_after else KINDS[finding.kind]]
    if finding.kind is not FindingKind.RETAINED:
        parts.append(f"+{amounts(finding.per_step)} a {'result' if is_after else step}")
    if finding.survivors:
        more = "; one is shown" if finding.survivors > 1 else ""
        parts.append(f"{counted(finding.survivors, 'object')} survived{more}")
    if who_has(finding):
        parts.append(who_has(finding))
    if finding.retained_bytes:
        parts.append(f"{size(finding.retained_bytes)} retained")
    if finding.fingerprint:
        parts.append(f"fingerprint {finding.fingerprint}")
    return " · ".join(parts)


def proof_facts(proof: Proof | None) -> Iterator[Facts]:
    """Yield the rates before and after the reference was cut."""
    if proof is not None:
        after = grown(proof.after) if proof.has_rate else "unknown"
        word = (PROVEN if proof.is_sufficient else NOT_PROVEN) if proof.has_rate else "✘ not proven"
        tone: Tone = "good" if proof.is_sufficient else "bad"
        rows = (
            ("cut", proof.cut),
            ("rate", f"{grown(proof.before)} → {after} a step"),
            ("proof", (Span(word, tone), f"  {proof.note}".rstrip())),
        )
        yield Facts(rows, tone)


def grown(per_step: Amounts) -> str:
    """Return what a step adds."""
    text = amounts(per_step)
    return text if text == "nothing" else f"+{text}"


def advice_blocks(advice: Advice) -> Iterator[Block]:
    """Yield the advice, its code, and links."""
    if advice.text:
        yield Paragraph(advice.text, DO)
    if advice.code:
        yield from [Paragraph("For example:")] if advice.is_example else []
        yield Code(advice.code)
    if advice.links:
        first, *others = (Span(link, link=address_of(link)) for link in advice.links)
        yield Paragraph((first, *(part for link in others for part in (", ", link))), "see")


def address_of(link: str) -> str:
    """Return the address of a link: a URL as it is, an issue of a repository on GitHub; empty for other text."""
    if link.startswith(("https://", "http://")):
        return link
    repository, mark, number = link.partition("#")
    is_issue = mark and number.isdecimal() and repository.count("/") == 1 and " " not in repository
    return f"https://github.com/{repository}/issues/{number}" if is_issue else ""


def answer_card(finding: Finding, number: int, report: HuntReport) -> Card:
    """Return a finding as on the first screen: its line, the change and the path."""
    named = name_of_holder(finding.trace, finding.grows_at)
    blocks = (*answer_blocks(finding, report), Paragraph(path(finding.trace, finding.grows_at), tone="quiet"))
    title = Span(f"{named}: {finding.title}" if named else finding.title, link=f"#finding-{number}")
    return Card(number, title, blocks, code=f"{finding.code}, {finding.severity.value}:")
