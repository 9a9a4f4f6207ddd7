"""A peak as Markdown: for an issue, or for the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.peak.report import PeakReport, Saving
from gradlife.reports.formats.markdown.document import code_span, fenced, folded, plain, table
from gradlife.reports.peak.ranks import HEADS, cells, skew_words
from gradlife.reports.peak.words import (
    bound,
    gain,
    headline,
    life,
    memory_words,
    moment_words,
    percent,
    proof_words,
    saving_title,
    unread_title,
    verdict,
)
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report


@shows_report
def peak_markdown(report: PeakReport) -> str:
    """Return the whole report; text of the program is in code or escaped."""
    return "\n".join(lines(report)).rstrip() + "\n"


def lines(report: PeakReport) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"## gradlife peak: {verdict(report)} in {code_span(report.target)}"
    if not report.peak_bytes:
        yield f"\n{plain(report.trouble)}"
        return
    yield f"\n{plain(headline(report))}."
    if report.peak_at is not None:
        yield f"\nThe peak is in {plain(moment_words(report.peak_at))}."
    yield from rank_rows(report)
    for number, saving in enumerate(report.savings, 1):
        yield from saving_lines(number, saving, report)
    if report.unread:
        yield "\n### Not read in the recorded steps\n"
        yield from (f"- {plain(unread_title(row, report))}; {plain(row.advice)}" for row in report.unread)
    if report.proof is not None:
        yield f"\n**Proof:** {plain(proof_words(report.proof))}"
    yield from folded("The peak by owner", owner_rows(report))
    if report.checkpoints:
        yield from folded("Activation checkpointing", checkpoint_rows(report))
    if report.memory is not None:
        yield f"\nProcess memory: {plain(memory_words(report.memory))}."
    yield from (f"\n{plain(limit)}" for limit in report.limits)
    yield f"\n{plain(bound(report))}"


def saving_lines(number: int, saving: Saving, report: PeakReport) -> Iterator[str]:
    """Yield one saving with its edits."""
    yield f"\n### {number}. {plain(saving_title(saving))}\n"
    yield f"{plain(life(saving, report.target))}. **{plain(gain(saving, report))}**"
    for edit in saving.edits:
        yield f"\n{plain(edit.text)}" + (f" of {code_span(edit.file)}" if edit.file else "")
        if edit.patch:
            yield "\n" + fenced(edit.patch, "diff")


def rank_rows(report: PeakReport) -> Iterator[str]:
    """A row for each rank, or for ranks that agree, and what differs between them."""
    if not report.ranks:
        return
    yield "\n### Ranks\n"
    yield from table(HEADS, ([plain(cell) for cell in cells(row)] for row in report.ranks))
    yield ""
    yield from (f"- {plain(skew_words(one))}" for one in report.skew)
    yield from ([f"- {plain(report.trouble)}"] if report.trouble else [])


def owner_rows(report: PeakReport) -> Iterator[str]:
    """Yield the peak by owner."""
    rows = (
        (
            share.owner.value,
            size(share.bytes),
            percent(share.bytes, report.peak_bytes),
            size(share.unused_bytes) if share.unused_bytes else "",
        )
        for share in report.owners
    )
    yield from table(("owner", "bytes", "of the peak", "never read again"), rows)


def checkpoint_rows(report: PeakReport) -> Iterator[str]:
    """Yield what checkpointing saves, and what it costs."""
    rows = (
        (code_span(row.module), size(row.saved_bytes), size(row.peak_lower), f"{row.recompute_percent:.1f} %")
        for row in report.checkpoints
    )
    yield from table(("module", "saved for backward", "peak lower by", "of a step to compute again"), rows)
