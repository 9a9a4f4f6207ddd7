"""A table per suite: a row per reading, a column per system, with differing cells marked.

The short form has only the significant rows: systems disagree about the subject of a story, a system differs from what
it imitates, or a reading contradicts a declaration. The long form has every row of every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gradlife.model import ScenarioInfo
from gradlife.model.reading import ReadingKey
from gradlife.reports.run.grid import GAP, MIN_LABEL, Cell, Grid
from gradlife.reports.run.view import LIVENESS, Family, RunView
from gradlife.reports.theme import QUIET, VERDICT_STYLES
from gradlife.reports.values import Notes, counted

#: Probes that answer the question of a story. The others (counts, bytes, events) explain the answer.
ANSWERS = ("liveness", "identity", "value", "exit")

#: Most characters of a value in a cell; a longer one gets a letter and is shown below its story.
NARROWEST_CELL, WIDEST_CELL = 6, 16

#: Most characters of a value printed below its story, in the short form.
NOTE_LIMIT = 140


@dataclass(frozen=True)
class Detail:
    """The detail of a table: all readings or the significant ones, and the width of a cell."""

    in_full: bool
    cell_limit: int


def detail_for(width: int, columns: int, in_full: bool) -> Detail:
    """Return the detail that fits a terminal of this width."""
    room = (width - MIN_LABEL) // max(columns, 1) - GAP - 1
    return Detail(in_full, max(NARROWEST_CELL, min(WIDEST_CELL, room)))


def make_suite(view: RunView, families: list[Family], detail: Detail) -> Grid:
    """Return the table of one suite."""
    grid = Grid(view.headings)
    for family in families:
        for member in family.members:
            add_scenario(grid, view, member, detail)
    return grid


def add_scenario(grid: Grid, view: RunView, scenario: ScenarioInfo, detail: Detail) -> None:
    """Add a title and the rows of one story; in the short form nothing if all systems agree."""
    keys = view.keys.get(scenario.id, [])
    shown = keys if detail.in_full else [key for key in keys if is_significant(view, scenario, key)]
    if not shown and not detail.in_full:
        return
    grid.title(f"{scenario.name}: {scenario.title}")
    add_stages(grid, view, shown, detail)


def add_stages(grid: Grid, view: RunView, keys: Sequence[ReadingKey], detail: Detail) -> None:
    """Add a row per reading, in the long form under its stage, and below them the values too long for a cell."""
    notes = Notes(detail.cell_limit)
    stage = None
    for key in keys:
        if detail.in_full and key.stage != stage:
            grid.title(f"at {key.stage!r}", QUIET, indent=2)
        stage = key.stage
        label = f"{key.probe:9} {key.subject}" + stage_note(view, key, detail.in_full)
        grid.row(label, [reading_cell(view, key, system.name, notes) for system in view.systems], indent=2)
    for letter, value in notes.lettered:
        grid.title(f"{letter} {value if detail.in_full else clipped(value)}", QUIET, indent=4)


def clipped(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= NOTE_LIMIT else text[: NOTE_LIMIT - 3].rstrip() + "..."


def is_significant(view: RunView, scenario: ScenarioInfo, key: ReadingKey) -> bool:
    """Whether a row belongs in the short form."""
    for system in view.systems:
        if (key, system.name) in view.contradicted or (system.name in view.faithful and view.mark(key, system.name)):
            return True
    if key.probe not in ANSWERS or not view.tells_apart(key):
        return False
    return key.probe != LIVENESS or key != view.main_key(scenario)


def stage_note(view: RunView, key: ReadingKey, in_full: bool) -> str:
    """Return the stage of a row in the short form, if it is not the last one."""
    return "" if in_full or key.stage == view.last_stage(key.scenario) else f" at {key.stage!r}"


def reading_cell(view: RunView, key: ReadingKey, system: str, notes: Notes) -> Cell:
    """Return the cell of one reading."""
    reading = view.readings.get((key, system))
    if reading is None:
        return view.empty_cell(key.scenario, system)
    text = notes.short(reading.value) if reading.is_conclusive else "?"
    return view.cell(key, system, text, VERDICT_STYLES.get(text, "") if key.probe == LIVENESS else "")


def count_of_rows(view: RunView, families: list[Family], grid: Grid) -> str:
    """Return how many of the readings a table shows."""
    shown = sum(1 for row in grid.rows if row.cells)
    total = sum(len(view.keys.get(member.id, ())) for family in families for member in family.members)
    return f"{shown:,} of {counted(total, 'row')}" if shown < total else counted(total, "row")
