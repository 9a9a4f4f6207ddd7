"""The full report of a hunt in the terminal: the verdict, the counts, each leak, and how reliable it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gradlife.model.hunt import Control, Explained, Finding, HuntReport
from gradlife.reports.hunt.finding import brief_line, finding_part
from gradlife.reports.hunt.ranks import rank_table, rounds_title
from gradlife.reports.hunt.rounds import round_lines
from gradlife.reports.hunt.sentences import by_whose_bug, headline, judged, method, next_commands, verdict_word
from gradlife.reports.hunt.shared_memory import shared_table, shared_title
from gradlife.reports.hunt.workers import worker_table
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import size
from gradlife.reports.visible_report import shows_report

#: Most findings to show in full; the others get a line each.
IN_FULL = 5
#: The sign before the command that lifts a limit.
ARROW = " → "
#: The next commands, each with its purpose.
Commands = Sequence[tuple[str, str]]
#: Least columns of a terminal.
MIN_WIDTH = 80


@shows_report
def print_hunt(
    console: Console, report: HuntReport, in_full: bool = False, then: Callable[[HuntReport], Commands] = next_commands
) -> None:
    """Print the whole report."""
    console.print(render_hunt(report, in_full, then), end="")


@shows_report
def render_hunt(
    report: HuntReport, in_full: bool = False, then: Callable[[HuntReport], Commands] = next_commands
) -> RenderableType:
    """Return the whole report; `in_full` shows every finding with its trace, `then` has the next commands."""
    return Group(*parts(report, len(report.findings) if in_full else IN_FULL, then))


def parts(
    report: HuntReport, shown: int, then: Callable[[HuntReport], Commands] = next_commands
) -> Iterator[RenderableType]:
    """Yield the parts of the report that are not empty."""
    yield section("", head_lines(report))
    if report.ranks:
        yield section("Ranks", rank_table(report))
    if report.workers:
        yield section("Workers", worker_table(report))
    if report.shared_memory.segments:
        yield section(shared_title(report), shared_table(report))
    if report.rounds:
        yield section(rounds_title(report), round_lines(report))
    yield from finding_parts(report, shown)
    yield from optional_section("Who held the memory", explained_lines(report.at_failure))
    yield from optional_section("Growth that is meant", explained_lines(report.meant))
    yield from optional_section("Self-check: planted leaks", map(control_line, report.controls))
    yield from optional_section("Not covered", map(limit_line, report.limits))
    yield from optional_section("Next", next_lines(then(report)))
    yield last_line(report)


def optional_section(title: str, lines: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield a section if it has lines."""
    found = list(lines)
    if found:
        yield section(title, found)


def section(title: str, lines: Iterable[RenderableType]) -> Group:
    """Return a part with its title and a blank line after it."""
    return Group(*([Hanging(Text(""), Text(title, TITLE))] if title else []), *lines, Text(""))


def head_lines(report: HuntReport) -> Iterator[RenderableType]:
    """Yield the verdict, the target, and any problem of the hunt."""
    word, style = verdict_word(report)
    yield Hanging(Text(f"{word}  ", style), Text.assemble((report.target, TITLE), f"  {headline(report)}"))
    if report.stepped_by:
        is_sampled = report.settings.get("steps") == "sampled"
        found = ", found by sampling (to count others: --step-on MODULE:FUNCTION)" if is_sampled else ""
        yield Hanging(Text("  a step is  ", QUIET), Text(report.stepped_by + found))
    yield Hanging(Text("  method     ", QUIET), Text(method(report)))
    if report.unread is not None:
        yield Hanging(Text("  unread     ", QUIET), Text(str(report.unread), NOTE))
    if report.trouble:
        yield Hanging(Text("  trouble    ", QUIET), Text(report.trouble, NOTE))
    if report.script_status:
        yield Hanging(Text("  the script ", QUIET), Text(f"ended with status {report.script_status}", NOTE))


def finding_parts(report: HuntReport, shown: int) -> Iterator[RenderableType]:
    """Yield the findings by whose bug they are, the first ones in full."""
    number, total = 0, len(report.findings)
    for title, findings in by_whose_bug(report):
        yield Hanging(Text(""), Text(title, TITLE))
        brief: list[Finding] = []
        for finding in findings:
            number += 1
            if number <= shown:
                yield section("", finding_part(finding, number, total, report))
            else:
                brief.append(finding)
        if brief:
            more = Hanging(Text("  "), Text(f"and {len(brief):,} more: --full shows them all", QUIET))
            yield section("", [more, *(brief_line(one, step=report.step) for one in brief)])


def explained_lines(explained: Sequence[Explained]) -> Iterator[RenderableType]:
    """Yield each growth and its reason, or what was held."""
    width = max((len(one.kind) for one in explained), default=0)
    for one in explained:
        nbytes = f"  {size(one.bytes)}" if one.bytes else ""
        yield Hanging(Text(f"  {one.kind.ljust(width)}  ", QUIET), Text(f"{one.what}{nbytes}"))


def control_line(control: Control) -> RenderableType:
    """Return a planted leak or clean twin, and whether the verdict on it was right."""
    word, style = ("✔", GOOD) if control.is_right else ("✘", BAD)
    return Hanging(Text(f"  {word} ", style), Text(judged(control)))


def limit_line(limit: str) -> RenderableType:
    """Return a limit, and the command that lifts it."""
    what, arrow, command = limit.rpartition(ARROW)
    if not arrow:
        return Hanging(Text("  - ", QUIET), Text(limit))
    return Hanging(Text("  - ", QUIET), Text.assemble(what, (arrow, QUIET), (command, TITLE)))


def next_lines(commands: Commands) -> Iterator[RenderableType]:
    """Yield the next commands, each below its purpose if one is too long to stand before it."""
    is_long = any(len(command) + len(what_for) > MIN_WIDTH - 8 for command, what_for in commands)
    for command, what_for in commands:
        if is_long:
            yield Hanging(Text("  # ", QUIET), Text(what_for, QUIET))
            yield Hanging(Text("  "), Text(command, TITLE))
        else:
            yield Hanging(Text("  "), Text.assemble((command, TITLE), (f"   # {what_for}", QUIET)))


def last_line(report: HuntReport) -> RenderableType:
    """Return the verdict again, because readers see the last line first."""
    word, style = verdict_word(report)
    return Hanging(Text(f"{word}: ", style), Text(headline(report)))
