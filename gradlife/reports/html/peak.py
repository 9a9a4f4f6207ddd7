"""A peak as a page: the verdict, each saving with its edits, the picture over the step, and the owners."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gradlife.model.peak.report import Band, Owner, PeakReport, Saving
from gradlife.model.source_text import plain_rows
from gradlife.reports.document.blocks import NARROW, WIDE
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.drawing.areas import Area, AreaChart, Stretch, span_bar
from gradlife.reports.drawing.svg import Svg
from gradlife.reports.html.code import code_markup
from gradlife.reports.html.page import render_page
from gradlife.reports.html.traces import Drawn
from gradlife.reports.peak.ranks import HEADS, NUMBERS, cells, skew_words
from gradlife.reports.peak.words import (
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
from gradlife.reports.values import counted, short, size
from gradlife.reports.visible_report import shows_report

STYLES = {"DRAG": "bad", "drag": "gc", "clean": "good"}

#: Most bands with a row of their own below the picture.
MAX_BANDS = 24


@dataclass(frozen=True)
class SavingView:
    """The data of one saving."""

    title: str
    life: str
    gain: str
    edits: Sequence[tuple[str, Markup | None]]  # the advice, and the diff


@dataclass(frozen=True)
class BandView:
    """One band of the picture: its name, its bytes at the peak, its lifetime."""

    number: int
    tone: str
    owner: str
    where: str
    text: str
    bar: Svg


@dataclass(frozen=True)
class PeakView:
    """The data of a peak's page."""

    report: PeakReport
    word: str
    style: str
    headline: str
    facts: Sequence[tuple[str, str]]
    savings: Sequence[SavingView]
    unread: Sequence[tuple[str, str]]  # what, and the advice
    proof: str
    memory: str
    chart: Drawn | None
    bands: Sequence[BandView]
    legend: Sequence[tuple[str, str]]  # tone and owner
    owners: Table
    checkpoints: Table | None
    ranks: Table | None
    rank_notes: Sequence[str]


@shows_report
def peak_page(report: PeakReport) -> str:
    """Return the page."""
    name = short(os.path.basename(report.target) or report.target, 100)
    return render_page(f"Peak memory of {name}", "peak.html", view=peak_view(report))


def peak_view(report: PeakReport) -> PeakView:
    """Collect all data of the page."""
    word = verdict(report)
    return PeakView(
        report,
        word,
        STYLES.get(word, "gc"),
        short(headline(report) if report.peak_bytes else report.trouble),
        list(facts(report)),
        [saving_view(saving, report) for saving in report.savings],
        [(unread_title(row, report), row.advice) for row in report.unread],
        proof_words(report.proof) if report.proof is not None else "",
        memory_words(report.memory) if report.memory is not None else "",
        chart(report),
        list(band_views(report)),
        [(tone(owner), owner.value) for owner in Owner if any(band.owner is owner for band in bands(report))],
        owner_table(report),
        checkpoint_table(report),
        rank_table(report),
        rank_notes(report),
    )


def facts(report: PeakReport) -> Iterator[tuple[str, str]]:
    """Yield the numbers of the first lines."""
    if not report.peak_bytes:
        return
    yield "Peak", size(report.peak_bytes)
    if report.peak_at is not None:
        yield "At", short(moment_words(report.peak_at))
    unused = percent(report.unused_bytes, report.peak_bytes)
    yield "Never read again", f"{size(report.unused_bytes)} ({unused})"
    yield "All savings", size(report.saved_bytes)
    yield "Lowest possible peak", f"{size(report.lower_bound_bytes)}, if each storage were freed at its last use"
    yield "A step", short(report.stepped_by)


def saving_view(saving: Saving, report: PeakReport) -> SavingView:
    """Return the data of one saving."""
    edits = [
        (edit.text + (f" of {edit.file}" if edit.file else ""), diff_markup(edit.patch) if edit.patch else None)
        for edit in saving.edits
    ]
    return SavingView(saving_title(saving), life(saving, report.target), gain(saving, report), edits)


def diff_markup(patch: str) -> Markup:
    """Return the changed lines and those around them, without the diff's headers."""
    rows = [row for row in plain_rows(patch) if not row.startswith(("---", "+++", "@@"))]
    return code_markup("\n".join(rows))


def bands(report: PeakReport) -> Sequence[Band]:
    """Return the bands of the picture, the lowest first."""
    return report.picture.bands if report.picture is not None else ()


def tone(owner: Owner) -> str:
    """Return the CSS class of an owner's colour."""
    return f"owner-{list(Owner).index(owner) + 1}"


def chart(report: PeakReport) -> Drawn | None:
    """Draw the picture for a wide page and for a narrow one."""
    picture = report.picture
    if picture is None or not picture.marks:
        return None
    areas = [Area(band_name(band), band.bytes, tone(band.owner)) for band in picture.bands]
    stretches = [Stretch(phase.name, phase.first, phase.end) for phase in picture.phases]
    wide, narrow = (
        AreaChart(areas, picture.marks, stretches, picture.peak, bytes_text, width, height).drawn("Live bytes by owner")
        for width, height in ((1.2 * WIDE, 320.0), (NARROW, 240.0))
    )
    return Drawn(wide, narrow)


def bytes_text(value: float) -> str:
    """Format bytes with their unit."""
    return size(round(value))


def band_name(band: Band) -> str:
    """Return the owner, and the line that allocates."""
    return band.owner.value + (f", {where(band)}" if where(band) else "")


def where(band: Band) -> str:
    """Return the line and the module that allocate."""
    place = f"{os.path.basename(band.place.file)}:{band.place.line}" if band.place.file else ""
    return short(" in ".join(part for part in (place, band.module) if part), 80)


def band_views(report: PeakReport) -> Iterator[BandView]:
    """Return the bands with their tooltips, the largest at the peak first."""
    picture = report.picture
    if picture is None:
        return
    numbered = sorted(enumerate(picture.bands), key=lambda one: -one[1].bytes[picture.peak])
    for number, band in numbered[:MAX_BANDS]:
        at_peak = band.bytes[picture.peak]
        share = (
            f"{size(at_peak)} of the peak in {counted(band.storages, 'storage')}" if at_peak else "nothing at the peak"
        )
        bar = span_bar(list(pieces(band, report.operations)), report.operations)
        yield BandView(number, tone(band.owner), band.owner.value, where(band) or "not made in the step", share, bar)


def pieces(band: Band, end: int) -> Iterator[tuple[str, float, float]]:
    """Return the parts of the lifetime of a band's largest storage: lag, use, drag."""
    died = band.died if band.died is not None else end
    if band.first_read is None or band.last_read is None:
        yield "void", band.born, died
        return
    yield "lag", band.born, band.first_read
    yield "use", band.first_read, band.last_read + 1
    if band.died is not None:
        yield "drag", band.last_read + 1, died


def owner_table(report: PeakReport) -> Table:
    """Return the peak by owner."""
    columns = [
        Column("Owner"),
        *(Column(name, True) for name in ("Bytes", "Of the peak", "Storages", "Never read again")),
    ]
    rows = [
        [
            share.owner.value,
            Cell(size(share.bytes), share.bytes),
            Cell(percent(share.bytes, report.peak_bytes), share.bytes),
            share.storages,
            Cell(size(share.unused_bytes) if share.unused_bytes else "", share.unused_bytes),
        ]
        for share in report.owners
    ]
    return Table("What takes the memory at the peak", columns, rows)


def checkpoint_table(report: PeakReport) -> Table | None:
    """Return what checkpointing saves, and what it costs."""
    if not report.checkpoints:
        return None
    names = ("Modules", "Saved for backward", "Peak lower by", "Of the peak", "Time of a step to compute again")
    rows: list[list[Cell | str | int | float]] = [
        [
            row.module,
            row.modules,
            Cell(size(row.saved_bytes), row.saved_bytes),
            Cell(size(row.peak_lower), row.peak_lower),
            Cell(percent(row.peak_lower, report.peak_bytes), row.peak_lower),
            Cell(f"{row.recompute_percent:.1f} %", row.recompute_percent),
        ]
        for row in report.checkpoints
    ]
    return Table("Activation checkpointing", [Column("Module"), *(Column(name, True) for name in names)], rows)


def rank_table(report: PeakReport) -> Table | None:
    """A row for each rank, or for ranks that agree."""
    if not report.ranks:
        return None
    rows = [[*map(short, cells(one))] for one in report.ranks]
    return Table("The peak of each rank", [Column(head, is_number=head in NUMBERS) for head in HEADS], rows)


def rank_notes(report: PeakReport) -> list[str]:
    """What differs between ranks, and ranks without a peak."""
    trouble = [report.trouble] if report.ranks and report.trouble else []
    return [short(words) for words in (*map(skew_words, report.skew), *trouble)]
