"""The full report of a run in the terminal: systems, matrix, differences, problems, sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gradlife.model import RunOk, RunReport, SystemInfo
from gradlife.reports.document.terminal import STYLES, lines_of
from gradlife.reports.layout import Hanging
from gradlife.reports.run import totals
from gradlife.reports.run.document import FOUND, VERDICTS, difference_section, problem_sections, unavailable_section
from gradlife.reports.run.grid import Grid
from gradlife.reports.run.matrix import legend, make_matrix
from gradlife.reports.run.suites import Detail, count_of_rows, detail_for, make_suite
from gradlife.reports.run.timeline import Timeline
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import MARK_STYLES, QUIET, TITLE
from gradlife.reports.visible_report import shows_report

BRACKETS = "in brackets, where there is room: the subject whose verdict it is (explain NAME has all)"


@shows_report
def print_report(console: Console, report: RunReport, in_full: bool = False) -> None:
    """Print the whole report."""
    view = RunView(report)
    for part in parts(view, detail_for(console.width, len(view.systems), in_full)):
        console.print(part, end="")


def parts(view: RunView, detail: Detail) -> Iterator[RenderableType]:
    """Yield the parts of the report, in the order in which a newcomer needs them."""
    yield section("Systems", system_lines(view.systems))
    yield section("When the subject of each story is freed", matrix_part(view, detail.in_full))
    yield from suite_parts(view, detail)
    report = view.report
    for found in (*difference_section(view), *problem_sections(report), *unavailable_section(report)):
        yield Group(*lines_of([found]), Text(""))
    yield Group(Text("Totals", TITLE), *closing_part(report))


def section(title: str, body: Iterable[RenderableType]) -> Group:
    """Return a titled part with a blank line after it."""
    return Group(Text(title, TITLE), *body, Text(""))


def system_lines(systems: tuple[SystemInfo, ...]) -> Iterator[RenderableType]:
    """Yield each system and its description; what all have in common is shown once."""
    grounds = {f"Python {system.python}, {system.platform}" for system in systems}
    width = max((len(system.name) for system in systems), default=0)
    for number, system in enumerate(systems, 1):
        what = f"{system.framework} {system.version}"
        if len(grounds) > 1:
            what += f", Python {system.python}, {system.platform}"
        yield Hanging(Text(f"  [{number}] ", QUIET), Text.assemble(system.name.ljust(width), (f"  {what}", QUIET)))
    if len(grounds) == 1:
        yield Text(f"  on {grounds.pop()}", QUIET)


def matrix_part(view: RunView, in_full: bool) -> Iterator[RenderableType]:
    """Yield the matrix and its legend."""
    grid = make_matrix(view, in_full)
    yield grid
    yield Text("")
    yield Hanging(Text(""), Text(BRACKETS, QUIET))
    for word, style, meaning in legend(grid):
        yield Hanging(Text(f"{word:6} ", style), Text(meaning, QUIET))
    yield from mark_legend(view, [grid])


def mark_legend(view: RunView, grids: Iterable[Grid]) -> Iterator[RenderableType]:
    """Return the meaning of the marks that occur."""
    for mark, meaning in view.mark_meanings(grids):
        yield Hanging(Text(f"{mark:6} ", MARK_STYLES[mark]), Text(meaning, QUIET))


def suite_parts(view: RunView, detail: Detail) -> Iterator[RenderableType]:
    """Yield a table per suite."""
    for suite, families in view.suites.items():
        grid = make_suite(view, families, detail)
        if any(row.cells for row in grid.rows):
            what = "every reading" if detail.in_full else "where systems differ"
            yield section(f"{suite}: {what} ({count_of_rows(view, families, grid)})", [grid])
    if not detail.in_full:
        yield Text("Every reading at every stage: --stage-detail\n\n", QUIET)


def closing_part(report: RunReport) -> Iterator[RenderableType]:
    """Yield the sums, and the last line, which says what the exit status says."""
    for sentence in totals.sentences(report):
        yield Hanging(Text("  "), Text(sentence))
    word, tone = VERDICTS.get(report.exit_status, FOUND)
    yield Hanging(Text("  "), Text.assemble((word, STYLES[tone]), ": ", totals.verdict(report)))


@shows_report
def print_timelines(console: Console, report: RunReport) -> None:
    """Draw the events of each story on the systems that record them; systems with the same drawing share it."""
    for scenario in report.scenarios:
        drawn = [run for run in report.runs if run.scenario == scenario.id and isinstance(run, RunOk) and run.events]
        for systems, run in alike(drawn):
            console.print(Timeline(f"{scenario.id} on {', '.join(systems)}", run.events))
            console.print()
        if not drawn:
            console.print(Timeline(scenario.id, ()))


def alike(runs: list[RunOk]) -> list[tuple[list[str], RunOk]]:
    """Group runs whose drawings are the same under one of them."""
    found: dict[tuple[tuple[str, str, str], ...], tuple[list[str], RunOk]] = {}
    for run in runs:
        first = min((event.object for event in run.events), default=0)
        drawing = tuple((event.kind, str(event.object - first), event.stage) for event in run.events)
        found.setdefault(drawing, ([], run))[0].append(run.system)
    return list(found.values())
