"""A peak report in the terminal: a first screen of at most `LINES` lines at 80 columns, or everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from gradlife.model.peak.report import PartChange, PeakReport, Proof, Saving, UnreadMemory
from gradlife.reports.document.terminal import STYLES, print_document
from gradlife.reports.hunt.first_screen import folded_lines
from gradlife.reports.layout import MIN_TEXT, middle_out
from gradlife.reports.peak.document import is_good, peak_document
from gradlife.reports.peak.ranks import rank_lines
from gradlife.reports.peak.words import (
    TONES,
    bound,
    change_words,
    gain,
    headline,
    life,
    moment_words,
    proof_words,
    saving_title,
    signed,
    source_of,
    unread_title,
    verdict,
)
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report

LINES = 15


#: Most savings on the first screen, three lines each.
MAX_SAVINGS = 3

#: Most columns of a word of a name on the first screen.
MAX_WORD = 48

#: What a line begins with: spaces, or the number of a saving.
MARK = re.compile(r"^(?: +|(?:\d+|\?)  |)")

#: Most parts that are larger than in an earlier report on the first screen.
MAX_CHANGES = 4

#: Most owners on the first screen, in one line.
MAX_OWNERS = 4


@shows_report
def print_peak(console: Console, report: PeakReport, in_full: bool = False) -> None:
    """Print the first screen, or everything."""
    if in_full:
        print_document(console, peak_document(report))
        return
    lines = list(first_screen(report))
    room = LINES - len(lines)
    for line in lines:
        rows = folded(line, console)
        if not report.peak_bytes or len(rows) - 1 <= room:
            room -= len(rows) - 1
            console.print(*rows, sep="\n", no_wrap=True)
        else:
            console.print(line, no_wrap=True, overflow="ellipsis")


def folded(line: Text, console: Console) -> list[Text]:
    """Wrap a line into as many rows as it needs, all with its indentation: the text after the mark of a numbered row."""
    [mark] = MARK.findall(line.plain)
    rows = folded_lines(line[len(mark) :], max(MIN_TEXT, console.width - len(mark)), len(line) + 1)
    return [Text.assemble(line[: len(mark)] if not at else " " * len(mark), row) for at, row in enumerate(rows)]


@shows_report
def first_screen(report: PeakReport) -> Iterator[Text]:
    """Yield the lines of the first screen."""
    yield from head_lines(report)
    if not report.peak_bytes:
        return
    yield from (change_line(change, report) for change in larger(report)[:MAX_CHANGES])
    yield Text("   " + owner_words(report), QUIET)
    yield from (Text(f"   {line}", NOTE) for line in (*rank_lines(report), *report.limits[:1]))
    for number, saving in enumerate(report.savings[: most_savings(report)], 1):
        yield from saving_lines(with_short_name(saving), number, report)
    for row in report.unread[: most_unread(report)]:
        yield from unread_lines(replace(row, holder=short_name(row.holder)), report)
    if report.proof is not None:
        yield proof_line(report.proof)
    yield Text(foot(report), QUIET)


def head_lines(report: PeakReport) -> Iterator[Text]:
    """Yield the verdict, and where the peak is."""
    if not report.peak_bytes:
        yield Text.assemble(("could not tell", NOTE), "  ", (short_name(report.target), TITLE), f": {report.trouble}")
        return
    if report.ranks and report.trouble:
        yield Text(f"   Note: {report.trouble}", NOTE)
    word = verdict(report)
    yield Text.assemble((word, STYLES[TONES[word]]), "  ", (short_name(report.target), TITLE), f": {headline(report)}")
    if report.peak_at is not None:
        yield Text(f"   {short_name(moment_words(report.peak_at))} {source_of(report.peak_at.place)}".rstrip())


def larger(report: PeakReport) -> list[PartChange]:
    """Return the parts that are larger than in the earlier report."""
    return [one for one in report.against.changes if one.more_bytes > 0] if report.against is not None else []


def change_line(change: PartChange, report: PeakReport) -> Text:
    """Return what a part of the peak was and is."""
    return Text.assemble((f"   {signed(change.more_bytes)}  ", BAD), short_name(change_words(change, report)))


def owner_words(report: PeakReport) -> str:
    """Return the largest owners in one line."""
    shown = report.owners[:MAX_OWNERS]
    return " · ".join(f"{share.owner.value} {size(share.bytes)}" for share in shown)


def most_savings(report: PeakReport) -> int:
    """Return how many savings the first screen shows: the last ones give way to memory that nothing reads, and to a
    comparison.
    """
    return MAX_SAVINGS - bool(report.unread) - (1 if report.against is not None else 0)


def most_unread(report: PeakReport) -> int:
    """Return how many rows of memory that nothing reads the first screen shows: more if there are few savings."""
    return 1 if report.savings[1:] else 2


def with_short_name(saving: Saving) -> Saving:
    """Return a saving with a short name."""
    return replace(saving, holder=short_name(saving.holder))


def short_name(name: str) -> str:
    """Return a name without the middle of its long words."""
    return " ".join(middle_out(word, MAX_WORD) for word in name.split(" "))


def unread_lines(row: UnreadMemory, report: PeakReport) -> Iterator[Text]:
    """Yield two lines: what nothing reads in the recorded steps, and what to do if nothing else does."""
    yield Text.assemble(("?  ", TITLE), (unread_title(row, report), TITLE))
    yield Text(f"   {row.advice}", NOTE)


def saving_lines(saving: Saving, number: int, report: PeakReport) -> Iterator[Text]:
    """Yield three lines: the holder and what it holds, the lifetime, the saving."""
    yield Text.assemble((f"{number}  ", TITLE), (saving_title(saving), TITLE))
    yield Text(f"   {life(saving, report.target)}")
    yield Text(f"   {gain(saving, report)}", GOOD)


def proof_line(proof: Proof) -> Text:
    """Return the result of the second run in one line."""
    return Text(f"   {proof_words(proof)}", GOOD if is_good(proof) else BAD)


def foot(report: PeakReport) -> str:
    """Return the last line: the lower bound of the peak, and how to see more."""
    more = max(0, len(report.savings) - most_savings(report)) + max(0, len(report.unread) - most_unread(report))
    rest = f"{more} more: --full" if more > 0 else "more: --full"
    return f"{bound(report)} · {rest}"
