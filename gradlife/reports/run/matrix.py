"""The matrix: the verdict on the main subject of every story, on every system."""

from __future__ import annotations

import re

from gradlife.model import ScenarioInfo
from gradlife.model.reading import ReadingKey
from gradlife.reports.run.grid import Cell, Grid
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import (
    BAD,
    CONTRADICTED,
    DIFFERS,
    EXPLAINED,
    GOOD,
    MARK_STYLES,
    NOT_AVAILABLE,
    NOTE,
    VERDICT_STYLES,
)

#: The cell of a story without a lifetime verdict.
AS_DECLARED = "ok"

QUIET_TWINS = re.compile(r" \+\d+$")

ENDINGS = {
    "raised": "the story raised",
    "crash": "the process died amid the story",
    "hang": "the story did not end in time",
}

VERDICT_MEANINGS = {
    "del": "freed when its last name went",
    "gc": "freed only by the cyclic collector",
    "never": "not freed at all",
    "held": "kept by a declared holder",
}


def make_matrix(view: RunView, in_full: bool = False) -> Grid:
    """Return a row per story and a column per system. Twins that work are counted, others have rows of their own."""
    grid = Grid(view.headings)
    for suite, families in view.suites.items():
        grid.title(suite)
        for family in families:
            twins = [(twin, story_cells(view, twin)) for twin in family.twins]
            lines = [(twin, cells) for twin, cells in twins if in_full or not all(map(is_fine, cells))]
            quiet = len(twins) - len(lines)
            label = family.story.name + (f" +{quiet}" if quiet else "")
            grid.row(label, story_cells(view, family.story), indent=2, note=subject_of(view, family.story))
            for twin, cells in lines:
                grid.row("+ " + twin.name, cells, indent=4, note=subject_of(view, twin))
    return grid


def subject_of(view: RunView, scenario: ScenarioInfo) -> str:
    """Return the subject of the verdict in a story's row, in brackets."""
    key = view.main_key(scenario)
    return f" ({key.subject})" if key else ""


def story_cells(view: RunView, scenario: ScenarioInfo) -> list[Cell]:
    """Return the row of one story."""
    key = view.main_key(scenario)
    return [matrix_cell(view, scenario.id, key, system.name) for system in view.systems]


def is_fine(cell: Cell) -> bool:
    """Whether a repaired story has the verdict that it should have."""
    return cell.text in ("del", AS_DECLARED, NOT_AVAILABLE) and cell.mark != CONTRADICTED


def matrix_cell(view: RunView, scenario: str, key: ReadingKey | None, system: str) -> Cell:
    """Return the verdict, how the story ended, or that its values are as declared."""
    run = view.runs.get((scenario, system))
    if run is None or run.is_failure or not run.readings:
        return view.empty_cell(scenario, system)
    if key is None:
        return value_cell(view, scenario, system)
    reading = view.readings.get((key, system))
    if reading is None:
        return view.empty_cell(scenario, system)
    verdict = "?" if not reading.is_conclusive else str(reading.value)
    return view.cell(key, system, verdict, VERDICT_STYLES.get(str(reading.value), ""))


def value_cell(view: RunView, scenario: str, system: str) -> Cell:
    """Summarize a story without verdicts by its worst mark."""
    marks = {view.mark(key, system) for key in view.keys.get(scenario, ())}
    for mark in (CONTRADICTED, DIFFERS, EXPLAINED):
        if mark in marks:
            return Cell("bad" if mark == CONTRADICTED else AS_DECLARED, mark, "", MARK_STYLES[mark])
    return Cell(AS_DECLARED, "", GOOD)


def legend(grid: Grid) -> list[tuple[str, str, str]]:
    """Return the meaning of the words and marks that occur in the matrix: (word, style, meaning)."""
    words = {cell.text for row in grid.rows for cell in row.cells}
    labels = [row.label for row in grid.rows]
    lines = [(word, VERDICT_STYLES[word], meaning) for word, meaning in VERDICT_MEANINGS.items() if word in words]
    if AS_DECLARED in words:
        lines.append((AS_DECLARED, GOOD, "no verdict in this story; its values are as declared"))
    if "?" in words:
        lines.append(("?", "", "inconclusive"))
    if NOT_AVAILABLE in words:
        lines.append((NOT_AVAILABLE, "", "not available there"))
    lines += [(word, BAD, meaning) for word, meaning in ENDINGS.items() if word in words]
    if any(label.startswith("+ ") for label in labels):
        lines.append(("+", NOTE, "the story above, repaired"))
    if any(QUIET_TWINS.search(label) for label in labels):
        lines.append(
            ("+1", NOTE, "so many repaired twins, with nothing left to tell (rows of their own: --stage-detail)")
        )
    return lines
