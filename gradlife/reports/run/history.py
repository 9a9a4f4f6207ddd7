"""A story's readings by release: a row per subject and probe, a column per release, then each change and its cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import SystemInfo
from gradlife.model.history import History, HistoryRow, Moment
from gradlife.model.reading import INCONCLUSIVE
from gradlife.reports.layout import Hanging
from gradlife.reports.run.grid import Cell, Grid
from gradlife.reports.run.names import Heading
from gradlife.reports.run.suites import ANSWERS
from gradlife.reports.run.view import LIVENESS
from gradlife.reports.theme import NOT_AVAILABLE, NOTE, QUIET, TITLE, UNSTABLE, VERDICT_STYLES
from gradlife.reports.values import Notes
from gradlife.reports.visible_report import shows_report

CHANGED = "*"

#: Most characters of a value in a cell.
CELL_LIMIT = 8

#: The heading of the columns of profiles.
ENGINE = "engine"


@shows_report
def print_history(console: Console, history: History, in_full: bool = False) -> None:
    """Print the table, the changes, and the missing releases."""
    for part in parts(history, in_full):
        console.print(part, end="")


def parts(history: History, in_full: bool) -> Iterator[RenderableType]:
    """Yield the parts of the report."""
    yield Hanging(Text(""), Text.assemble((history.scenario, TITLE), f": {history.title}"))
    yield Text("\n")
    shown = [row for row in history.rows if in_full or is_significant(row)]
    notes = Notes(CELL_LIMIT)
    grid = Grid([heading_of(system) for system in history.systems], keeps_headings=True)
    for row in shown:
        grid.row(label(row), [cell(row, moment, notes) for moment in row.moments])
    if shown:
        yield grid
    for letter, value in notes.lettered:
        yield Hanging(Text(f"  {letter} ", QUIET), Text(value, QUIET))
    yield Text("\n")
    yield from legend(history, grid)
    if len(shown) < len(history.rows):
        yield Text(f"{len(history.rows) - len(shown)} more that nothing changed: --stage-detail\n", QUIET)
    yield from changes(shown)
    yield from absent(history)


def is_significant(row: HistoryRow) -> bool:
    """Whether the row is an answer, or a count that differs between releases."""
    values = [moment.value for moment in row.moments if moment.is_there]
    return row.probe in (*ANSWERS, "expiry") or any(value != values[0] for value in values)


def heading_of(system: SystemInfo) -> Heading:
    """Return the lines of a column's heading: torch, 1.9.1; engine, torch, 1.9."""
    if system.name.startswith("mini:"):
        return (ENGINE, *system.profile.split("-", 1))
    release = system.framework.rpartition(".")[2], system.version.partition("+")[0]
    return release if system.name.startswith("recorded:") else ("here", *release)


def label(row: HistoryRow) -> str:
    """Return the subject and the probe as a label."""
    return f"{row.probe:9}{row.subject}"


def cell(row: HistoryRow, moment: Moment, notes: Notes) -> Cell:
    """Return the reading of one release."""
    if not moment.is_there:
        return Cell(NOT_AVAILABLE, CHANGED if moment.is_changed else "", QUIET, NOTE)
    text = "?" if moment.value == INCONCLUSIVE else notes.short(moment.value)
    mark = UNSTABLE if moment.is_unstable else CHANGED if moment.is_changed else ""
    return Cell(text, mark, VERDICT_STYLES.get(text, "") if row.probe == LIVENESS else "", NOTE)


def legend(history: History, grid: Grid) -> Iterator[RenderableType]:
    """Return the meaning of the marks that occur."""
    marks = {one.mark for row in grid.rows for one in row.cells}
    meanings = {
        CHANGED: "other than in the release before, of the same framework",
        UNSTABLE: "not the same in every round of the recording",
    }
    for mark, meaning in meanings.items():
        if mark in marks:
            yield Hanging(Text(f"{mark}  ", NOTE), Text(meaning, QUIET))
    if any(one.text == "?" for row in grid.rows for one in row.cells):
        yield Hanging(Text("?  ", QUIET), Text("inconclusive: the release gives no way to see it", QUIET))
    if any(one.text == NOT_AVAILABLE for row in grid.rows for one in row.cells):
        whys = dict.fromkeys(moment.why for row in history.rows for moment in row.moments if moment.why)
        yield Hanging(Text(f"{NOT_AVAILABLE}  ", QUIET), Text("; ".join(whys), QUIET))
    if any(system.name.startswith("mini:") for system in history.systems):
        text = "columns of the engine are its profiles, which imitate these releases; the others are real"
        yield Hanging(Text(""), Text(text, QUIET))


def changes(rows: Sequence[HistoryRow]) -> Iterator[RenderableType]:
    """Yield when each row changed, with the pull request if it is known; equal changes are listed together."""
    alike: dict[tuple[object, ...], list[HistoryRow]] = {}
    for row in rows:
        if row.is_changed:
            alike.setdefault((row.probe, row.stage, row.sentences, row.changes), []).append(row)
    if not alike:
        yield Text("nothing changed between these releases\n" if rows else "nothing was read\n", QUIET)
    for members in alike.values():
        row = members[0]
        subjects = ", ".join(member.subject for member in members)
        yield Hanging(Text(""), Text.assemble((subjects, TITLE), f", {row.probe} at {row.stage!r}"))
        for sentence in row.sentences:
            yield Hanging(Text("  "), highlighted(sentence))
        for change in row.changes:
            yield Hanging(Text("  "), Text(f"{change.first}: {change.pull}, {change.what}", QUIET))


def highlighted(sentence: str) -> Text:
    """Return a sentence with its verdicts in their colours."""
    text = Text(sentence)
    for found in re.finditer(r"`(\w+)`", sentence):
        text.stylize(VERDICT_STYLES.get(found.group(1), ""), *found.span())
    return text


def absent(history: History) -> Iterator[RenderableType]:
    """Yield the releases without readings, and how to get them."""
    if history.unrecorded:
        text = f"the story is not in {', '.join(history.unrecorded)}: gradlife record adds it"
        yield Hanging(Text(""), Text(text, QUIET))
    if history.missing:
        first = history.missing[0]
        framework, _, version = first.partition("-")
        text = f"not recorded: {', '.join(history.missing)}"
        yield Hanging(Text("\n"), Text(text, QUIET))
        made = f"gradlife env add {first} --python PYTHON {framework}=={version}"
        kept = f"gradlife record --backend {framework}@{first} -o FILE; or all of them: make atlas, in a checkout"
        yield Hanging(Text("  "), Text(f"{made}, then {kept}", QUIET))
