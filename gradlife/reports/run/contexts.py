"""The matrix of stories and the contexts that they run in: which combinations leak, on which systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import RunReport, ScenarioInfo
from gradlife.reports.layout import Hanging
from gradlife.reports.run.grid import Cell, Grid
from gradlife.reports.run.matrix import legend, matrix_cell
from gradlife.reports.run.names import Heading
from gradlife.reports.run.run import mark_legend, section, system_lines
from gradlife.reports.run.totals import verdict
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import NOT_AVAILABLE, QUIET, TITLE, VERDICT_STYLES
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

#: Short names of contexts for narrow columns, and their meanings.
HEADINGS: dict[str, Heading] = {
    "plain": ("plain",),
    "no_grad": ("no_", "grad"),
    "checkpoint": ("check-", "point"),
    "reentrant": ("re-", "entrant"),
    "exception": ("excep-", "tion"),
    "skipped": ("skip-", "ped"),
    "thread": ("thread",),
    "compile": ("com-", "pile"),
}
MEANINGS = {
    "plain": "a forward and a backward",
    "no_grad": "the forward under no_grad",
    "checkpoint": "the forward under a checkpoint with use_reentrant=False",
    "reentrant": "the forward under a checkpoint with use_reentrant=True",
    "exception": "an exception breaks the backward off",
    "skipped": "there is no backward",
    "thread": "the forward in a thread of its own",
    "compile": "the forward under torch.compile",
}
LEAKS = ("never", "gc")


@shows_report
def print_contexts(console: Console, report: RunReport) -> None:
    """Print the matrix of each story, the meaning of its columns, and the sums."""
    view = RunView(report)
    for part in parts(view):
        console.print(part, end="")


def parts(view: RunView) -> Iterator[RenderableType]:
    """Yield the parts of the report."""
    yield section("Systems", system_lines(view.systems))
    families: dict[str, list[ScenarioInfo]] = {}
    for scenario in view.report.scenarios:
        families.setdefault(scenario.family, []).append(scenario)
    known = {scenario.context for scenario in view.report.scenarios}
    contexts = [context for context in MEANINGS if context in known]
    grid = Grid([HEADINGS[context] for context in contexts], keeps_headings=True)
    for name, members in families.items():
        grid.title(f"{name}: {members[0].title}")
        for system in view.systems:
            grid.row(system.name, [cell(view, members, context, system.name) for context in contexts], indent=2)
    yield grid
    yield Text("\n")
    for context in contexts:
        yield Hanging(Text(f"{context:11}", TITLE), Text(MEANINGS[context], QUIET))
    for word, style, meaning in legend(grid):
        yield Hanging(Text(f"{word:11}", style), Text(meaning, QUIET))
    yield from mark_legend(view, [grid])
    yield from sums(view, grid)


def cell(view: RunView, members: list[ScenarioInfo], context: str, system: str) -> Cell:
    """Return the reading of the story's subject in one context."""
    scenario = next((each for each in members if each.context == context), None)
    if scenario is None:
        return Cell(NOT_AVAILABLE, "", QUIET)
    return matrix_cell(view, scenario.id, view.main_key(scenario), system)


def sums(view: RunView, grid: Grid) -> Iterator[RenderableType]:
    """Count the combinations that leak, and the last line of every run."""
    words = Counter(cell.text for row in grid.rows for cell in row.cells if cell.text != NOT_AVAILABLE)
    line = Text(f"\nof {counted(sum(words.values()), 'combination')}: ")
    for number, word in enumerate(LEAKS):
        line.append(", " * bool(number) + f"{words[word]:,} ")
        line.append(word, VERDICT_STYLES[word])
    yield Hanging(Text(""), line)
    yield Hanging(Text(""), Text(verdict(view.report)))
