"""One finding: its name, the problem in plain words, the trace, the proof, the advice."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from gradlife.model.hunt import Advice, Amounts, Finding, FindingKind, HuntReport, Proof
from gradlife.reports.coloured_code import coloured
from gradlife.reports.hunt.ranks import who_has
from gradlife.reports.hunt.sentences import KINDS, amounts, keywords, problem
from gradlife.reports.hunt.trace import trace_part
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted, size

MARGIN = "  "
#: What the rate after a cut shows.
PROVEN, NOT_PROVEN = "this was the whole cause", "growth goes on: not the only cause"


def finding_part(finding: Finding, number: int, total: int, report: HuntReport) -> Iterator[RenderableType]:
    """Yield everything about a finding."""
    yield title_line(finding, number, total)
    yield Hanging(Text(MARGIN), cluster(finding, report.step))
    yield Text("")
    yield Hanging(Text(MARGIN), Text(" ".join(problem(finding, report))))
    if finding.diagnosis.reason:
        yield Hanging(Text(MARGIN), Text(finding.diagnosis.reason))
    if finding.diagnosis.library:
        yield Hanging(Text(f"{MARGIN}a bug of: "), Text(finding.diagnosis.library, TITLE))
    yield Hanging(Text(f"{MARGIN}search terms: ", QUIET), Text(", ".join(keywords(finding)), QUIET))
    yield Text("")
    yield from trace_part(finding.trace)
    yield Text("")
    yield from proof_lines(finding.proof)
    yield from advice_lines(finding.diagnosis.advice)


def title_line(finding: Finding, number: int, total: int) -> RenderableType:
    """Return the title: Problem 1 of 2: GL402 and its title."""
    style = NOTE if finding.kind is FindingKind.NEEDS_GC else BAD
    lead = Text(f"Problem {number} of {total}  ", style)
    return Hanging(lead, Text.assemble((finding.code, style), "  ", (finding.title, TITLE)))


def cluster(finding: Finding, step: str) -> Text:
    """Describe the survivors with the same fingerprint; one of them is shown."""
    is_after = finding.is_after_steps
    parts = ["grows after the last step" if is_after else KINDS[finding.kind]]
    if finding.kind is not FindingKind.RETAINED:
        parts.append(f"+{amounts(finding.per_step)} a {'result' if is_after else step}")
    elif finding.survivors:
        more = "; one is shown" if finding.survivors > 1 else ""
        parts.append(f"{counted(finding.survivors, 'object')} survived{more}")
    if who_has(finding):
        parts.append(who_has(finding))
    if finding.retained_bytes:
        parts.append(f"{size(finding.retained_bytes)} retained")
    if finding.fingerprint:
        parts.append(f"fingerprint {finding.fingerprint}")
    return Text(" · ".join(parts), QUIET)


def brief_line(finding: Finding, lead: str = MARGIN, step: str = "step") -> RenderableType:
    """Return a finding in one line."""
    line = Text.assemble((finding.code, NOTE), f"  {finding.title}  ")
    return Hanging(Text(lead), line.append_text(cluster(finding, step)))


def proof_lines(proof: Proof | None) -> Iterator[RenderableType]:
    """Yield the rates before and after the reference was cut."""
    if proof is None:
        return
    lead = Text(f"{MARGIN}cut    ", QUIET)
    yield Hanging(lead, Text(proof.cut))
    after = grown(proof.after) if proof.has_rate else "unknown"
    yield Hanging(Text(f"{MARGIN}rate   ", QUIET), Text(f"{grown(proof.before)} → {after} a step"))
    word, style = (f"✔ {PROVEN}", GOOD) if proof.is_sufficient else (f"✘ {NOT_PROVEN}", BAD)
    word = word if proof.has_rate else "✘ not proven"
    yield Hanging(Text(f"{MARGIN}proof  ", QUIET), Text.assemble((word, style), f"  {proof.note}".rstrip()))
    yield Text("")


def grown(per_step: Amounts) -> str:
    """Return what a step adds."""
    text = amounts(per_step)
    return text if text == "nothing" else f"+{text}"


def advice_lines(advice: Advice) -> Iterator[RenderableType]:
    """Yield the advice, its code, and links."""
    if advice.text:
        yield Hanging(Text(f"{MARGIN}What to do: ", TITLE), Text(advice.text))
    if advice.code:
        yield Text(f"{MARGIN}For example:" if advice.is_example else "")
        for line in coloured(advice.code):
            yield Hanging(Text(MARGIN * 2), line) if line else Text("")
        yield Text("")
    if advice.links:
        yield Hanging(Text(f"{MARGIN}see: ", QUIET), Text(", ".join(advice.links), QUIET))
