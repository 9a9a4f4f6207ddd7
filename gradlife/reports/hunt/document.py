"""What the report of a hunt says, section by section, for every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gradlife.model.hunt import ChangeKind, Explained, Finding, HuntReport, HuntVerdict
from gradlife.reports.document.blocks import (
    WIDE,
    Block,
    Commands,
    Document,
    Drawing,
    Facts,
    Item,
    List,
    Paragraph,
    Section,
    Span,
    Summary,
    Tone,
    Words,
)
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.hunt.answer import can_be_proven, holder_of, proof_line
from gradlife.reports.hunt.finding import answer_card, finding_card
from gradlife.reports.hunt.growth import growth
from gradlife.reports.hunt.ranks import rank_section
from gradlife.reports.hunt.resident_memory import resident_section
from gradlife.reports.hunt.rounds import round_section
from gradlife.reports.hunt.sentences import (
    KINDS,
    amounts,
    by_whose_bug,
    change_words,
    headline,
    judged,
    method,
    next_commands,
    verdict_word,
)
from gradlife.reports.hunt.shared_memory import shared_memory_section
from gradlife.reports.hunt.workers import worker_section
from gradlife.reports.values import short, size
from gradlife.reports.visible_report import shows_report

#: Most findings with a card, the others are rows of a table; and most at the top of a page.
CARDS, ANSWERS = 60, 5
#: Stands for the controls of a hunt that has none.
NO_CONTROLS = "no control was judged: the hunt did not come that far"
#: The sign before the command that lifts a limit.
ARROW = " → "
#: The next commands, each with its purpose.
NextCommands = Callable[[HuntReport], Sequence[tuple[str, str]]]


@shows_report
def hunt_document(
    report: HuntReport, cards: int = CARDS, more: str = "", then: NextCommands = next_commands
) -> Document:
    """Return the whole report. `cards` findings are shown in full, and `more` says how to see the others."""
    word, tone = verdict_word(report)
    sections = (
        *comparison_section(report),
        *answer_section(report, min(cards, ANSWERS)),
        *rank_section(report),
        *worker_section(report),
        *shared_memory_section(report),
        *round_section(report),
        *resident_section(report),
        *retained_section(report, cards),
        *finding_sections(report, cards, more),
        *explained_section("Who held the memory", report.at_failure, "failure"),
        *explained_section("Growth that is meant", report.meant, "meant"),
        *control_section(report),
        *limit_section(report),
        *next_section(then(report)),
    )
    head = (Facts(tuple(head_facts(report))),)
    return Document(f"Hunt in {report.target}", "gradlife", word, tone, report.target, headline(report), head, sections)


@shows_report
def hunt_digest(report: HuntReport, cards: int) -> Document:
    """Return the report for a notebook: what grew, the first findings, and what is not covered."""
    whole = hunt_document(report, cards)
    first = (*round_section(report), *finding_sections(report, cards, ""))
    return replace(whole, sections=(*first, *limit_section(report)))


def head_facts(report: HuntReport) -> Iterator[tuple[str, Words]]:
    """Yield the growth, what counts as a step, the method, and any problem of the hunt."""
    if is_leak(report):
        yield "memory", growth(report)
    if report.stepped_by:
        is_sampled = report.settings.get("steps") == "sampled"
        hint = ", found by sampling (to count others: --step-on MODULE:FUNCTION)" if is_sampled else ""
        yield "a step is", (Span(report.stepped_by, is_code=True), hint)
    yield "method", method(report)
    if report.unread is not None:
        yield "unread", Span(str(report.unread), "note")
    if report.trouble:
        yield "trouble", Span(report.trouble, "note")
    if report.script_status:
        yield "script", Span(f"ended with status {report.script_status}", "note")


def is_leak(report: HuntReport) -> bool:
    """Whether the report begins with the change to make."""
    return bool(report.findings) and report.verdict in (HuntVerdict.LEAK, HuntVerdict.NEEDS_GC)


def numbered(report: HuntReport) -> list[tuple[int, Finding]]:
    """Return the findings in the order of their sections."""
    return [*enumerate((finding for _, findings in by_whose_bug(report) for finding in findings), 1)]


def comparison_section(report: HuntReport) -> Iterator[Section]:
    """Yield what became of each finding since an earlier hunt."""
    if report.against is None or not report.against.changes:
        return
    tones: dict[ChangeKind, Tone] = {ChangeKind.SMALLER: "good", ChangeKind.GONE: "good"}
    rows = tuple(
        Item(
            change_words(one, holder_of(one, report)),
            lead=one.kind.value,
            tone="bad" if one.is_failure else tones.get(one.kind, "quiet"),
        )
        for one in report.against.changes
    )
    yield Section(f"Compared with {report.against.file}", (List(rows),), "comparison")


def answer_section(report: HuntReport, most: int) -> Iterator[Section]:
    """Yield what to change, and the growth with the change, or the command that measures it."""

    def answers() -> tuple[Block, ...]:
        cards = [answer_card(finding, number, report) for number, finding in numbered(report)[:most]]
        return *cards, *([Paragraph(proof_line(report))] if can_be_proven(report) else [])

    if is_leak(report):
        yield Section("What to change", (Summary(answers),), "answer")


def retained_section(report: HuntReport, cards: int) -> Iterator[Section]:
    """Yield a treemap of what is kept."""

    def draw(width: float) -> str:
        from gradlife.reports.hunt.retained_map import retained_map  # only pages draw

        return retained_map(numbered(report), report.meant, cards, width)

    if any(one.retained_bytes for one in report.findings) or any(one.bytes for one in report.meant):
        caption = "Each area is what would be freed with a finding's holder. A click leads to the finding."
        yield Section("What is kept, by retained bytes", (Drawing(draw, caption, WIDE + 260),), "retained")


def finding_sections(report: HuntReport, cards: int, more: str) -> Iterator[Section]:
    """Yield the findings by whose bug they are, then a table of those without a card."""
    number = 0
    for title, findings in by_whose_bug(report):
        shown = findings[: max(0, cards - number)]
        if shown:
            found = tuple(finding_card(finding, number + at, report) for at, finding in enumerate(shown, 1))
            yield Section(title, found, f"findings-{number + 1}")
        number += len(shown)
    if rest := numbered(report)[cards:]:
        table = rest_table([finding for _, finding in rest], report.step)
        blocks = (table, Paragraph(more, tone="quiet")) if more else (table,)
        yield Section(f"{len(rest):,} more findings, after the first {number:,}", blocks, "rest")


def rest_table(findings: Sequence[Finding], step: str) -> Table:
    """Return the findings without a card, a row each."""
    numbers = ("survivors", "retained")
    columns = [Column(head, head in numbers) for head in ("finding", "title", "kind", f"a {step}", *numbers)]
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
    return Table("Findings without a card", columns, rows, key="more-findings")


def explained_section(title: str, explained: Sequence[Explained], key: str) -> Iterator[Section]:
    """Yield each growth and its reason, or what was held."""
    if explained:
        rows = tuple((one.kind, one.what + (f", {size(one.bytes)}" if one.bytes else "")) for one in explained)
        yield Section(title, (Facts(rows),), key)


def control_section(report: HuntReport) -> Iterator[Section]:
    """Yield the planted leaks and clean twins, and whether the verdicts on them were right."""
    items = tuple(
        Item(judged(one), "✔" if one.is_right else "✘", tone="good" if one.is_right else "bad")
        for one in report.controls
    )
    yield Section("Self-check: planted leaks", (List(items or (Item(NO_CONTROLS, "-"),)),), "controls")


def limit_section(report: HuntReport) -> Iterator[Section]:
    """Yield what is not covered, and the commands that cover it."""
    if report.limits:
        yield Section("Not covered", (List(tuple(map(limit_item, report.limits))),), "limits")


def limit_item(limit: str) -> Item:
    """Return a limit, and the command that lifts it."""
    what, arrow, command = limit.rpartition(ARROW)
    return Item((what, arrow, Span(command, "title", is_code=True)) if arrow else limit, "-")


def next_section(commands: Sequence[tuple[str, str]]) -> Iterator[Section]:
    """Yield the next commands."""
    if commands:
        yield Section("Next", (Commands(tuple(commands)),), "next")
