"""A hunt as a page: the verdict, the change to make with its proof, growth, a card per finding, and the limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.model.hunt import Explained, Finding, HuntReport, HuntVerdict
from gradlife.reports.drawing import Series, Svg, growth_chart
from gradlife.reports.html.hunt_answers import Answer, answers, proof_of
from gradlife.reports.html.hunt_cards import CardView, card_of
from gradlife.reports.html.hunt_retained import retained_map
from gradlife.reports.html.page import render_page
from gradlife.reports.html.tables import Cell, Column, Table
from gradlife.reports.html.traces import Drawn
from gradlife.reports.html.words import short
from gradlife.reports.hunt.first_screen import MAX_FINDINGS, growth
from gradlife.reports.hunt.ranks import HEADS, NUMBERS, cells, cost_words, rounds_title, shown_ranks, skew_words
from gradlife.reports.hunt.rounds import MEASURES, conclusion_text, figure, row, value_of
from gradlife.reports.hunt.sentences import (
    KINDS,
    amounts,
    by_whose_bug,
    headline,
    judged,
    method,
    next_commands,
    verdict_word,
)
from gradlife.reports.hunt.shared_memory import (
    HEADS as SHARED_HEADS,
    NUMBERS as SHARED_NUMBERS,
    cells as shared_cells,
    leftover_words,
    shared_title,
)
from gradlife.reports.hunt.terminal import ARROW
from gradlife.reports.hunt.workers import (
    HEADS as WORKER_HEADS,
    NUMBERS as WORKER_NUMBERS,
    cells as worker_cells,
    worker_notes,
)
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report

#: Most findings with a card; the others are rows of a table.
CARDS = 60
#: Most charts side by side.
CHARTS = 3
STYLES = {
    HuntVerdict.LEAK: "bad",
    HuntVerdict.NEEDS_GC: "gc",
    HuntVerdict.CLEAN: "good",
    HuntVerdict.INCONCLUSIVE: "gc",
}


@dataclass(frozen=True)
class HuntView:
    """The data of a hunt's page."""

    report: HuntReport
    word: str
    style: str
    headline: str
    growth: str  # empty if nothing leaks
    answers: Sequence[Answer]
    proof: tuple[str, str]  # the sentence and its style; two empty texts if no proof is possible
    facts: Sequence[tuple[str, str]]
    trouble: Sequence[str]
    ranks: Table | None
    rank_notes: Sequence[str]
    workers: Table | None
    worker_notes: Sequence[str]
    shared: Table | None  # memory that processes share
    left: Sequence[str]
    rounds_title: str
    charts: Sequence[Svg]
    conclusions: Sequence[tuple[str, bool]]
    rounds: Table | None
    retained: Drawn | None
    sections: Sequence[tuple[str, Sequence[CardView]]]
    rest: Table | None
    explained: Sequence[tuple[str, str]]
    at_failure: Sequence[tuple[str, str]]
    limits: Sequence[tuple[str, str]]  # what is unknown, and the command that finds out
    controls: Sequence[tuple[bool, str]]  # whether the hunt judged it rightly, and how
    commands: Sequence[tuple[str, str]]


@shows_report
def hunt_page(report: HuntReport) -> str:
    """Return the page."""
    return render_page(
        f"Hunt in {short(os.path.basename(report.target) or report.target, 100)}", "hunt.html", view=hunt_view(report)
    )


def hunt_view(report: HuntReport, cards: int = CARDS) -> HuntView:
    """Collect all data of the page."""
    numbered = list(enumerate(in_order(report), 1))
    return HuntView(
        report=report,
        word=verdict_word(report)[0],
        style=STYLES[report.verdict],
        headline=short(headline(report)),
        growth=short(f"{report.target} {growth(report)}") if is_leak(report) else "",
        answers=answers(report, min(cards, MAX_FINDINGS)) if is_leak(report) else [],
        proof=proof_of(report) if is_leak(report) else ("", ""),
        facts=list(facts(report)),
        trouble=troubles(report),
        ranks=rank_table(report),
        rank_notes=list(rank_notes(report)),
        workers=worker_table(report),
        worker_notes=[short(note) for note in worker_notes(report)],
        shared=shared_table(report),
        left=[short(leftover_words(one)) for one in report.shared_memory.leftovers],
        rounds_title=rounds_title(report),
        charts=charts(report),
        conclusions=list(conclusion_text(report)) if report.rounds else [],
        rounds=round_table(report),
        retained=retained_map(numbered, report.meant, cards),
        sections=sections(report, cards),
        rest=rest_table(in_order(report)[cards:], cards, report.step),
        explained=explained_rows(report.meant),
        at_failure=explained_rows(report.at_failure),
        limits=[limit_parts(limit) for limit in report.limits],
        controls=[(one.is_right, judged(one)) for one in report.controls],
        commands=[(short(command), what_for) for command, what_for in next_commands(report)],
    )


def explained_rows(explained: Sequence[Explained]) -> list[tuple[str, str]]:
    """Return the kind and the words of each."""
    return [(one.kind, short(one.what) + (f", {size(one.bytes)}" if one.bytes else "")) for one in explained]


def is_leak(report: HuntReport) -> bool:
    """Whether the page begins with the change to make."""
    return bool(report.findings) and report.verdict in (HuntVerdict.LEAK, HuntVerdict.NEEDS_GC)


def in_order(report: HuntReport) -> list[Finding]:
    """Return the findings in the order of their sections."""
    return [finding for _, findings in by_whose_bug(report) for finding in findings]


def facts(report: HuntReport) -> list[tuple[str, str]]:
    """Yield the target and the method of the hunt."""
    lines = [("Target", short(report.target))]
    lines += [("A step is", short(report.stepped_by))] if report.stepped_by else []
    return [*lines, ("Method", method(report))]


def troubles(report: HuntReport) -> list[str]:
    """Yield the problems of the hunt."""
    lines = [f"{short(str(report.unread))}."] if report.unread is not None else []
    lines += [short(report.trouble)] if report.trouble else []
    return lines + ([f"The script ended with status {report.script_status}."] if report.script_status else [])


def rank_table(report: HuntReport) -> Table | None:
    """Return a row for each rank, or for ranks that agree."""
    if not report.ranks:
        return None
    rows = [[*map(short, cells(one))] for one in report.ranks]
    return Table("How each rank ended", [Column(head, is_number=head in NUMBERS) for head in HEADS], rows)


def worker_table(report: HuntReport) -> Table | None:
    """Return a row for each group of workers that agree."""
    if not report.workers:
        return None
    rows = [[*map(short, worker_cells(one))] for one in report.workers]
    return Table(
        "What each worker kept", [Column(head, is_number=head in WORKER_NUMBERS) for head in WORKER_HEADS], rows
    )


def shared_table(report: HuntReport) -> Table | None:
    """Return a row for each maker of shared memory."""
    if not report.shared_memory.segments:
        return None
    rows = [[*map(short, shared_cells(one))] for one in report.shared_memory.rows]
    columns = [Column(head, is_number=head in SHARED_NUMBERS) for head in SHARED_HEADS]
    return Table(shared_title(report), columns, rows)


def rank_notes(report: HuntReport) -> Iterator[str]:
    """Yield problems of single ranks, skew, and the cost of snapshots."""
    for one in report.ranks:
        if one.trouble:
            yield f"Rank {shown_ranks(one.ranks)}: {short(one.trouble)}"
    yield from (f"Skew: {short(skew_words(skew))}" for skew in report.skew)
    if report.snapshot_cost is not None:
        yield f"Snapshots: {cost_words(report.snapshot_cost)}"


def charts(report: HuntReport) -> list[Svg]:
    """Return a chart for each of the first measures that grew; of bytes if none did."""
    grown = [one for one in MEASURES if any(value_of(each, one[0]) for each in report.rounds)] or MEASURES[:1]
    steps = [one.steps for one in report.rounds]
    return [
        growth_chart(
            Series(
                head, steps, [value_of(one, field) for one in report.rounds], Teller(field), chart_tone(report, field)
            )
        )
        for field, _, head in grown[:CHARTS]
        if report.rounds
    ]


def chart_tone(report: HuntReport, field: str) -> str:
    """Return the colour of a chart: bad if the measure grows in every round."""
    return "bad" if min(value_of(one, field) for one in report.rounds) > 0 else "good"


@dataclass(frozen=True)
class Teller:
    """Formats sums of one measure as words."""

    field: str

    def __call__(self, value: float) -> str:
        return figure(value, self.field)


def round_table(report: HuntReport) -> Table | None:
    """Return the table of rounds, with their additions."""
    shown = [one for one in MEASURES if any(value_of(each, one[0]) for each in report.rounds)]
    if not shown:
        return None
    heads = ["round", f"{report.step}s", *(head for _, _, head in shown), f"{shown[0][2]}/{report.step}"]
    fields = [field for field, _, _ in shown]
    rows = [row(number, one, fields) for number, one in enumerate(report.rounds, 1)]
    return Table(rounds_title(report), [Column(head, is_number=True) for head in heads], rows)


def sections(report: HuntReport, cards: int) -> list[tuple[str, Sequence[CardView]]]:
    """Return the cards, grouped by whether the program or a library has the bug."""
    found: list[tuple[str, Sequence[CardView]]] = []
    before = 0
    for title, findings in by_whose_bug(report):
        shown = [
            card_of(one, before + number, report) for number, one in enumerate(findings[: max(0, cards - before)], 1)
        ]
        found += [(title, shown)] if shown else []
        before += len(findings)
    return found


def rest_table(findings: Sequence[Finding], before: int, step: str) -> Table | None:
    """Return the findings without a card, a row each."""
    if not findings:
        return None
    columns = [
        Column("finding"),
        Column("title"),
        Column("kind"),
        Column(f"a {step}"),
        Column("survivors", True),
        Column("retained", True),
    ]
    rows: list[list[Cell | str | int | float]] = [
        [
            one.code,
            short(one.title, 120),
            KINDS[one.kind],
            amounts(one.per_step),
            one.survivors,
            Cell(size(one.retained_bytes), one.retained_bytes),
        ]
        for one in findings
    ]
    return Table(f"{len(findings):,} more findings, after the first {before:,}", columns, rows)


def limit_parts(limit: str) -> tuple[str, str]:
    """Split a limit into what is unknown and the command that finds out."""
    what, arrow, command = limit.rpartition(ARROW)
    return (what, command) if arrow else (limit, "")
