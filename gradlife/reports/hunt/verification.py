"""The report of a verified fix: the result for each earlier leak."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL
from gradlife.model.fix_verification import Change, Verification
from gradlife.model.hunt import Finding
from gradlife.reports.hunt.finding import cluster, grown
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report


@shows_report
def print_verification(console: Console, found: Verification) -> None:
    """Print the report."""
    for line in lines(found):
        console.print(line, end="")


def lines(found: Verification) -> Iterator[RenderableType]:
    """Yield a line per leak, then the verdict."""
    before, after = found.rounds
    yield Hanging(Text("fix check  ", TITLE), Text(f"rates of {before} rounds before, {after} after", QUIET))
    yield from map(change_line, found.changes)
    if found.new:
        yield Hanging(Text("  "), Text("not there before:", BAD))
        yield from map(brief_line, found.new)
    if found.minor:
        yield Hanging(Text("  "), Text("not there before, and not counted (see --fail-on):", QUIET))
        yield from map(brief_line, found.minor)
    yield last_line(found)


def brief_line(finding: Finding, lead: str = "  ") -> RenderableType:
    """Return a finding in one line."""
    return Hanging(
        Text(lead), Text.assemble((finding.code, NOTE), f"  {finding.title}  ", (cluster(finding, "step"), QUIET))
    )


def change_line(change: Change) -> RenderableType:
    """Return a leak then and now."""
    mark, style = ("✔", GOOD) if change.is_gone else ("✘", BAD) if change.fails else ("·", QUIET)
    rates = f"{grown(change.before)} → {grown(change.after) if change.after is not None else 'nothing'} a step"
    return Hanging(Text(f"  {mark} ", style), Text.assemble((change.code, TITLE), f"  {change.title}: {rates}"))


def last_line(found: Verification) -> RenderableType:
    """Return the verdict."""
    if found.exit_status == EXIT_CLEAN:
        return Hanging(Text("fixed: ", GOOD), Text(f"{gone_words(found)}{not_counted(found)}"))
    if found.exit_status == EXIT_COULD_NOT_TELL:
        return Hanging(Text("could not tell: ", NOTE), Text(found.trouble))
    left = sum(change.is_left for change in found.changes)
    words = f"{left} of {counted(len(found.changes), 'leak')} left, {len(found.new)} new"
    return Hanging(Text("NOT FIXED: ", BAD), Text(f"{words}{not_counted(found)}"))


def gone_words(found: Verification) -> str:
    """Say what is gone."""
    gone = sum(change.is_gone for change in found.changes)
    if gone:
        return f"{counted(gone, 'leak is', 'leaks are')} gone"
    return "what grew is gone" if found.has_grown else "nothing leaked, and nothing does"


def not_counted(found: Verification) -> str:
    """Say how many findings are there that do not decide; empty if there is none."""
    count = sum(not change.is_gone and not change.fails for change in found.changes) + len(found.minor)
    return f"; {counted(count, 'finding is', 'findings are')} not counted (see --fail-on)" if count else ""
