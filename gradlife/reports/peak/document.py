"""What the report of a peak says, section by section, for every format."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.peak.report import PeakReport, Proof, Saving, Use
from gradlife.reports.document.blocks import (
    WIDE,
    Bar,
    Bars,
    Block,
    Card,
    Diff,
    Document,
    Drawing,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    Span,
    Tone,
    Words,
)
from gradlife.reports.document.tables import Cell, table
from gradlife.reports.peak.ranks import rank_section
from gradlife.reports.peak.words import (
    TONES,
    change_words,
    gain,
    headline,
    life,
    memory_words,
    moment_words,
    owner_class,
    percent,
    proof_words,
    saving_title,
    signed,
    source_of,
    unread_title,
    verdict,
)
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report

MEANINGS = {
    Use.LAG: "held before it is first read",
    Use.DRAG: "held after it was last read",
    Use.VOID: "never read before it is freed",
    Use.REUSED: "overwritten before it is read again",
    Use.UNREAD: "not read in the recorded steps, and held longer than these",
}
#: The parts of a storage's life, by their CSS classes.
LIFE = (
    ("lag", "before its first use"),
    ("use", "in use"),
    ("drag", "after its last use"),
    ("void", "never read"),
)


@shows_report
def peak_document(report: PeakReport) -> Document:
    """Return the whole report; of a run without a peak, why there is none."""
    word = verdict(report)
    words = headline(report) if report.peak_bytes else report.trouble
    head = (Facts(tuple(head_facts(report))),) if report.peak_bytes else ()
    sections = tuple(sections_of(report)) if report.peak_bytes else ()
    title = f"Peak memory of {report.target}"
    return Document(title, "gradlife peak", word, TONES[word], report.target, words, head, sections, "peak")


def sections_of(report: PeakReport) -> Iterator[Section]:
    """Yield the sections that have something to say."""
    yield from comparison_section(report)
    yield from rank_section(report)
    if report.savings:
        cards = tuple(saving_card(saving, number, report) for number, saving in enumerate(report.savings, 1))
        yield Section("What to let go of", cards, "savings")
    if report.unread:
        rows = tuple(Item(f"{unread_title(row, report)}; {row.advice}", "?", tone="note") for row in report.unread)
        doubt = Paragraph(
            "No saving: gradlife cannot say whether a later step or an evaluation reads it.", tone="quiet"
        )
        yield Section("Not read in the recorded steps", (List(rows), doubt), "unread")
    yield from picture_section(report)
    yield from use_section(report)
    yield from owner_section(report)
    yield from checkpoint_section(report)
    if report.memory is not None:
        yield Section("Process memory", (Paragraph(memory_words(report.memory)),))
    if report.limits:
        yield Section("Not covered", (List(tuple(Item(limit, "-") for limit in report.limits)),), "limits")


def comparison_section(report: PeakReport) -> Iterator[Section]:
    """Yield what is larger than in an earlier report, and what is smaller."""
    against = report.against
    if against is None:
        return
    tones: dict[bool, Tone] = {True: "bad", False: "good"}
    rows = tuple(
        Item(change_words(change, report), lead=signed(change.more_bytes), tone=tones[change.more_bytes > 0])
        for change in against.changes
    )
    spread, allowed = size(against.spread_bytes), size(against.allowed_bytes)
    measured = f"Equal steps of one run differ by up to {spread}; {allowed} more is allowed."
    blocks = () if against.trouble else (List(rows), Paragraph(measured, tone="quiet"))
    yield Section(f"Compared with {against.file}", blocks, "comparison")


def head_facts(report: PeakReport) -> Iterator[tuple[str, Words]]:
    """Yield where the peak is, what can be saved of it, and the proof."""
    if report.peak_at is not None:
        yield "the peak is in", f"{moment_words(report.peak_at)} {source_of(report.peak_at.place)}".rstrip()
    yield "never read again", f"{size(report.unused_bytes)} ({percent(report.unused_bytes, report.peak_bytes)})"
    yield "all savings", size(report.saved_bytes)
    if report.proof is not None:
        yield "proof", Span(proof_words(report.proof), "good" if is_good(report.proof) else "bad")
    yield "lowest possible", f"{size(report.lower_bound_bytes)}, if each storage were freed at its last use"
    yield "a step is", Span(report.stepped_by, is_code=True)


def is_good(proof: Proof) -> bool:
    """Whether the program did the same with the edits."""
    return not proof.trouble and (proof.losses_equal or not proof.losses)


def saving_card(saving: Saving, number: int, report: PeakReport) -> Card:
    """Return the holder and what it holds, the lifetime, the saving, and the edits."""
    blocks: list[Block] = [Paragraph(life(saving, report.target)), Paragraph(gain(saving, report), tone="good")]
    for edit in saving.edits:
        blocks.append(Paragraph((edit.text, *((" of ", Span(edit.file, is_code=True)) if edit.file else ())), "edit"))
        blocks += [Diff(edit.patch)] if edit.patch else []
    return Card(number, saving_title(saving), tuple(blocks), tone="title")


def picture_section(report: PeakReport) -> Iterator[Section]:
    """Yield the live bytes over the step, and the lines that allocate them."""
    picture = report.picture
    if picture is None or not picture.marks:
        return

    def draw(width: float) -> str:
        from gradlife.reports.peak.picture import drawn  # only pages draw

        return drawn(picture, width)

    def bars() -> tuple[Bar, ...]:
        from gradlife.reports.peak.picture import bars_of

        return tuple(bars_of(picture, report.operations))

    owners = dict.fromkeys(band.owner for band in picture.bands)
    legend = tuple((owner_class(owner), owner.value) for owner in owners)
    chart = Drawing(draw, wide=1.2 * WIDE, legend=legend)
    caption = "Lines that make what is alive; the bar is the life of the largest storage over the step:"
    yield Section("Live bytes over the step", (chart, Bars(bars, caption, LIFE)), "step")


def use_section(report: PeakReport) -> Iterator[Section]:
    """Yield what the peak is used for, except for what a later operation reads."""
    uses = [(use, report.uses.get(use.value, 0)) for use in Use if use is not Use.READ_LATER]
    rows = tuple(
        Item(f"{size(nbytes)} ({percent(nbytes, report.peak_bytes)}), {MEANINGS[use]}", lead=use.value)
        for use, nbytes in uses
        if nbytes
    )
    if rows:
        yield Section("The peak by use", (List(rows),), "uses")


def owner_section(report: PeakReport) -> Iterator[Section]:
    """Yield the peak by owner."""
    rows = [
        [
            share.owner.value,
            Cell(size(share.bytes), share.bytes),
            Cell(percent(share.bytes, report.peak_bytes), share.bytes),
            Cell(f"{share.storages:,}", share.storages),
            Cell(size(share.unused_bytes) if share.unused_bytes else "", share.unused_bytes),
        ]
        for share in report.owners
    ]
    if rows:
        numbers = ("bytes", "of the peak", "storages", "never read again")
        owners = table("What takes the memory at the peak", ("owner", *numbers), numbers, rows, "owner-table")
        yield Section("The peak by owner", (owners,), "owners", is_folded=True)


def checkpoint_section(report: PeakReport) -> Iterator[Section]:
    """Yield what checkpointing saves, and what it costs."""
    rows: list[list[Cell | str]] = [
        [
            row.module,
            Cell(f"{row.modules:,}", row.modules),
            Cell(size(row.saved_bytes), row.saved_bytes),
            Cell(size(row.peak_lower), row.peak_lower),
            Cell(percent(row.peak_lower, report.peak_bytes), row.peak_lower),
            Cell(f"{row.recompute_percent:.1f} %", row.recompute_percent),
        ]
        for row in report.checkpoints
    ]
    if rows:
        numbers = ("modules", "saved for backward", "peak lower by", "of the peak", "of a step to compute again")
        modules = table(
            "If a module computes again what it saves", ("module", *numbers), numbers, rows, "checkpoint-table"
        )
        yield Section("Activation checkpointing", (modules,), "checkpoints", is_folded=True)
