"""The first screen of a hunt: the verdict, then for each finding its cause, the line, the advice and the path.

A screen has at most `LINES` lines at 80 columns. If several findings need more, the last blocks lose their path first,
then the advice, then the line. `gradlife hunt --full` prints everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gradlife.model.hunt import BOUNDED, CALLED, ChangeKind, Finding, FindingKind, HuntReport, HuntVerdict, Severity
from gradlife.reports.document.blocks import Block, Code, Diff, Paragraph, Span, plain_words
from gradlife.reports.document.terminal import STYLES, text_of
from gradlife.reports.hunt.answer import (
    ARROW,
    BESIDE,
    answer_blocks,
    can_be_proven,
    holder_of,
    name_of_holder,
    path,
    place_text,
    proof_line,
)
from gradlife.reports.hunt.changes import PLACE, SIGNS
from gradlife.reports.hunt.growth import growth
from gradlife.reports.hunt.held_memory import owners_at_the_end, ran_out_of_memory
from gradlife.reports.hunt.next_try import details_command, what_next
from gradlife.reports.hunt.ranks import leaking_ranks, unexplained_skew
from gradlife.reports.hunt.sentences import (
    change_words,
    headline,
    how_sure,
    listed,
    resident_sentence,
    small_containers,
    verdict_word,
)
from gradlife.reports.hunt.workers import leaking_workers, worker_notes
from gradlife.reports.layout import middle_out
from gradlife.reports.source_places import first_place
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import GAP, size
from gradlife.reports.visible_report import shows_report

LINES = 15
MAX_FINDINGS = 5
#: Most findings that are compared with an earlier hunt, and what is better than there.
MAX_CHANGES = 4
BETTER = frozenset({ChangeKind.SMALLER, ChangeKind.GONE})
#: Most lines of a piece of advice, and of its code.
MAX_ADVICE, MAX_CODE = 3, 5
#: Most rows of a line of code.
MAX_ROWS = 2
#: Stands before a piece of advice.
LEAD = "do: "
#: The most lines of the notes below the findings: on worker processes, and on how ranks differ.
MAX_NOTE, MAX_SKEW = 4, 2
INDENT = "   "
#: Most owners of memory to name when it ran out, and beside leaks.
MAX_HELD, MAX_HELD_BESIDE = 5, 3
#: Most lines of a command: one that is cut cannot be typed. There is no room for that on a screen of fewer columns.
MAX_COMMAND, NARROW = 5, 60
#: Most lines of a path.
MAX_PATH = 2


@shows_report
def print_first_screen(console: Console, report: HuntReport) -> None:
    """Print the screen."""
    console.print(FirstScreen(report), end="")


@dataclass(frozen=True)
class FirstScreen:
    """The screen, laid out for the width of the console."""

    report: HuntReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in screen_lines(self.report, options.max_width):
            line.no_wrap = True
            yield line


def screen_lines(report: HuntReport, width: int) -> list[Text]:
    """Return the lines of the whole screen."""
    head = folded_lines(head_text(report, width), width, 2)
    head += changes_of(report, width)
    if not report.findings or report.verdict is HuntVerdict.INCONCLUSIVE:
        notes = (*worker_notes(report), *garbage_places(report))
        is_told = report.verdict is HuntVerdict.INCONCLUSIVE  # how it ended is in the first line then
        ends = unread_note(report) if is_told else end_notes(report)
        texts = [
            *ends,
            *(Text(line, NOTE) for line in unexplained_skew(report)),
            *(Text(f"Seen: {title_of(one, width)}") for one in report.findings if report.rests_on_unread),
            *filling(report),
            *(Text(sentence(note)) for note in notes),
        ]
        lines = [line for text in texts for line in folded_lines(text, width, MAX_NOTE)]
        lines += held_lines(report, MAX_HELD, width)
        return [*head, *lines, *command_lines(what_next(report), width)]
    foot = list(foot_lines(report, width))
    shown = shown_findings(report)
    middle = blocks(report, shown, width, LINES - len(head) - len(foot) - 1)
    return [*head, Text(""), *middle, *foot]


def changes_of(report: HuntReport, width: int) -> Iterator[Text]:
    """Yield what became of each finding since the earlier hunt, the worst first."""
    changes = report.against.changes if report.against is not None and not report.against.trouble else ()
    for change in changes[:MAX_CHANGES]:
        style = BAD if change.is_failure else GOOD if change.kind in BETTER else QUIET
        text = Text.assemble((f"{change.kind.value}: ", style), change_words(change, holder_of(change, report)))
        yield from (Text.assemble(INDENT, row) for row in folded_lines(text, width - len(INDENT), 2))
    if changes[MAX_CHANGES:]:
        yield Text(f"{INDENT}{len(changes) - MAX_CHANGES:,} more: --full", QUIET)


def shown_findings(report: HuntReport) -> Sequence[Finding]:
    """Return the findings with a block: of a comparison, those that are worse."""
    worse = [one for one in report.findings if report.against is None or report.is_failure(one)]
    return (worse or report.findings)[:MAX_FINDINGS]


def filling(report: HuntReport) -> Iterator[Text]:
    """Yield a line for each container that grows up to a declared bound, one for those with small growth, and one for what
    else makes resident memory grow.
    """
    yield from (Text(one.what) for one in report.explained if one.kind == BOUNDED)
    yield from (Text(line) for line in (small_containers(report), resident_sentence(report)) if line)


def garbage_places(report: HuntReport) -> Iterator[str]:
    """Yield where the garbage beside unexplained growth is created: often the same statement makes both."""
    for one in report.findings if report.unexplained else ():
        place = place_text(first_place(one, report), one)
        if one.kind is FindingKind.NEEDS_GC and place:
            yield f"garbage that the collector frees is {place}"


def held_lines(report: HuntReport, most: int, width: int) -> Iterator[Text]:
    """Yield who held the memory when it ran out."""
    rows = owners_at_the_end(report)[:most]
    column = max((len(size(one.bytes)) for one in rows), default=0)
    if rows:
        yield Text("Held when memory ran out:" if ran_out_of_memory(report) else "Held shortly before:")
    for one in rows:
        lead = f"{INDENT}{size(one.bytes):>{column}}  "
        yield Text(lead + middle_out(one.what, width - len(lead)))


def head_text(report: HuntReport, width: int) -> Text:
    """Return the verdict with the rate. The target gets at most one line, so that the rate fits on the second."""
    word, tone = verdict_word(report)
    target = middle_out(report.target, width - len(word) - 2)
    text = Text.assemble((word, STYLES[tone]), "  ", (target, TITLE))
    is_told = report.verdict in (HuntVerdict.CLEAN, HuntVerdict.INCONCLUSIVE) or report.against is not None
    if is_told or not report.findings:
        return text.append(f": {headline(report)}")
    if report.ranks:
        text.append(f", {leaking_ranks(report)},")
    elif leaking_workers(report):
        text.append(f", {leaking_workers(report)},")
    return text.append(f" {growth(report)}{how_sure(report)}")


@shows_report
def plain_blocks(report: HuntReport, width: int, room: int) -> list[str]:
    """Return the blocks of a report's findings in at most ``room`` lines, without colours."""
    return [line.plain.rstrip() for line in blocks(report, report.findings, width, room)]


def blocks(report: HuntReport, findings: Sequence[Finding], width: int, room: int) -> list[Text]:
    """Return a block for each finding, all in at most ``room`` lines."""
    return fit([block(finding, number, report, width) for number, finding in enumerate(findings, 1)], room)


def fit(blocks: Sequence[Sequence[Text]], room: int) -> list[Text]:
    """Shorten blocks, the longest and last first, until they fit; no block loses its title."""
    kept = [list(one) for one in blocks]
    while sum(map(len, kept)) > room and max(map(len, kept)) > 1:
        longest = max(map(len, kept))
        last = max(number for number, one in enumerate(kept) if len(one) == longest)
        kept[last].pop()
    spare = room - sum(map(len, kept))
    lines: list[Text] = []
    for number, one in enumerate(kept):
        if number and spare >= len(kept) - 1:
            lines.append(Text(""))
        lines += one
    return lines


def block(finding: Finding, number: int, report: HuntReport, width: int) -> list[Text]:
    """Return the lines of a finding: title, source line, change or advice, path."""
    lines = title_lines(finding, number, width)
    for part in answer_blocks(finding, report):
        lines += (clipped(line, width) for line in part_lines(part, width - len(INDENT)))
    shown = path(finding.trace, finding.grows_at)
    lines += (Text(INDENT + line, QUIET) for line in path_lines(shown, width - len(INDENT)))
    return lines


def part_lines(part: Block, room: int) -> Iterator[Text]:
    """Yield a part of the answer, in as many lines as it may have."""
    match part:
        case Diff():
            for row in part.text.split("\n"):
                sign = PLACE if row.startswith(PLACE) else row[:1]
                rows = folded_lines(Text(row[len(sign) + 1 :]), room - 2, MAX_ROWS)
                style = STYLES[SIGNS[sign]]
                yield from (
                    Text(f"{INDENT}{' ' if number else sign} {line}", style) for number, line in enumerate(rows)
                )
        case Code():
            for code in part.text.split("\n")[:MAX_CODE]:
                rows = folded_lines(Text(code), room - len(LEAD), MAX_ROWS)
                yield from (Text.assemble(INDENT, " " * len(LEAD), (row.plain, GOOD)) for row in rows)
        case Paragraph(lead="What to do"):
            rows = folded_lines(text_of(part.words), room - len(LEAD), MAX_ADVICE)
            yield from (
                Text.assemble(INDENT, " " * len(LEAD) if number else LEAD, row) for number, row in enumerate(rows)
            )
        case Paragraph(words=Span(is_code=True)):
            yield Text(INDENT + with_short_file(plain_words(part.words), room))
        case Paragraph():
            rows = folded_lines(Text(plain_words(part.words)), room, MAX_ADVICE)
            yield from (Text(INDENT + row.plain, STYLES[part.tone]) for row in rows)


def path_lines(text: str, width: int) -> list[str]:
    """Wrap a path into at most `MAX_PATH` lines. A longer one loses its middle: its root and its survivor say most."""
    words = text.split(ARROW)
    while len(lines := broken(ARROW.join(words), width)) > MAX_PATH and len(words) > 3:
        at = len(words) // 2
        words = [*words[: at - (words[at] == GAP)], GAP, *words[at + 1 :]]
        words = [word for number, word in enumerate(words) if word != GAP or words[number - 1] != GAP]
    return [middle_out(line, width) for line in lines[:MAX_PATH]]


def broken(text: str, width: int) -> list[str]:
    """Wrap a path before its arrows, into as many lines as it needs."""
    lines = [""]
    for number, word in enumerate(text.split(ARROW)):
        more = f"{ARROW if number else ''}{word}"
        if number and cell_len(lines[-1] + more) > width:
            lines.append(more.lstrip())
        else:
            lines[-1] += more
    return lines


def with_short_file(text: str, room: int) -> str:
    """Return a place and its source with the middle of a long file name left out, so that the line number stays."""
    place, gap, source = text.partition(BESIDE)
    return middle_out(place, max(room - len(gap + source), room // 2)) + gap + source


def title_lines(finding: Finding, number: int, width: int) -> list[Text]:
    """Return the title, with code and severity at the right edge of its first line."""
    right = f"{finding.code}, {finding.severity.value}"
    lead = f"{number}. "
    room = max(16, width - len(right) - 2 - len(lead))
    first, *more = folded_lines(Text(title_of(finding, room), TITLE), room, 2)
    space = " " * max(2, width - len(lead) - first.cell_len - len(right))
    style = QUIET if finding.severity in (Severity.MINOR, Severity.NOTE) else BAD
    return [Text.assemble(lead, first, space, (right, style)), *(Text.assemble(INDENT, one) for one in more)]


def title_of(finding: Finding, room: int) -> str:
    """Return the title with the name of the holder, unless that is long: the path has long names."""
    named = name_of_holder(finding.trace, finding.grows_at)
    return f"{named}: {finding.title}" if named and len(named) <= room // 2 else finding.title


def foot_lines(report: HuntReport, width: int) -> Iterator[Text]:
    """Yield the other findings, doubts about the verdict, the proof, and where to read on."""
    rest = report.findings[MAX_FINDINGS:]
    if rest:
        severities = listed(dict.fromkeys(one.severity.value for one in rest))
        yield clipped(Text(f"{len(rest):,} more, {severities}", QUIET), width)
    yield Text("")
    yield from (part for line in unexplained_skew(report) for part in folded_lines(Text(line, NOTE), width, MAX_SKEW))
    yield from (part for note in worker_notes(report) for part in folded_lines(Text(sentence(note)), width, MAX_SKEW))
    yield from (part for line in end_notes(report) for part in folded_lines(line, width, MAX_SKEW))
    yield from held_lines(report, MAX_HELD_BESIDE, width)
    if report.settings.get("steps") == "sampled" and report.findings[0].in_workers is None:
        hint = " (to count others: --step-on MODULE:FUNCTION)"
        yield Text(f"Steps: {middle_out(report.stepped_by, width - len('Steps: ' + hint))}{hint}", QUIET)
    if can_be_proven(report):
        yield from command_lines(text_of(proof_line(report)), width)
    page = "" if CALLED in report.settings else ", or --html report.html"
    yield from command_lines(Text(f"Details: {details_command(report)}{page}"), width)


def end_notes(report: HuntReport) -> Iterator[Text]:
    """Yield how the program or its ranks ended, if not well."""
    yield from unread_note(report)
    if report.trouble:
        yield Text(f"Note: {report.trouble}", NOTE)
    if report.script_status and "ended with" not in report.trouble:
        yield Text(f"Note: the script ended with status {report.script_status}", NOTE)


def unread_note(report: HuntReport) -> Iterator[Text]:
    """Yield what could not be read of PyTorch, unless that is why there is no verdict: the first line says so then."""
    if report.unread is not None and not report.rests_on_unread:
        yield Text(f"Note: {report.unread}", NOTE)


def sentence(note: str) -> str:
    """Return a note as a sentence of its own."""
    return f"{note[:1].upper()}{note[1:]}"


def command_lines(text: Text, width: int) -> list[Text]:
    """Wrap a line with a command, which is cut on a narrow screen only."""
    return folded_lines(text, width, MAX_COMMAND) if width >= NARROW else [clipped(text, width)]


def folded_lines(text: Text, width: int, most: int) -> list[Text]:
    """Wrap the text into at most ``most`` lines; the last one is clipped."""
    console = Console(width=width)
    lines = list(text.wrap(console, width, overflow="fold"))
    for line in lines:
        line.rstrip()
    if len(lines) > most:
        lines[most - 1] = clipped(Text.assemble(lines[most - 1], " ..."), width)
    return lines[:most] or [Text("")]


def clipped(text: Text, width: int) -> Text:
    """Return the text on one line; dots replace the end that does not fit."""
    if text.cell_len <= width:
        return text
    room = width - 3
    kept = len(set_cell_size(text.plain, room).rstrip())
    short = text[: min(kept, len(text))]
    while cell_len(short.plain) > room:
        short = short[:-1]
    return Text.assemble(short, "...")
