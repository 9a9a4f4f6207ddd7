"""The first screen of a run: the stories and systems, how many stories behave as on the reference, and what differs
most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from gradlife.model import RunReport, Status, SystemInfo
from gradlife.reports.document.blocks import List
from gradlife.reports.document.terminal import lines_of
from gradlife.reports.layout import Hanging
from gradlife.reports.run import problems, release_differences
from gradlife.reports.run.document import problem_item
from gradlife.reports.run.grid import GAP, MIN_COLUMN, Cell, Grid
from gradlife.reports.run.run import closing_part, parts
from gradlife.reports.run.suites import ANSWERS, detail_for
from gradlife.reports.run.totals import sums
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import GOOD, NOT_AVAILABLE, NOTE, QUIET, TITLE
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

#: Most lines of the first screen. A report with at most as many is shown in full.
SCREEN = 60

#: Most stories whose whole report could be that short.
FEW_STORIES = 30

DIFFERENCES_SHOWN = 12
SUITES_SHOWN = 14
SYSTEM_LINES = 3
NAMES_SHOWN = 8

#: Least columns of a story's title beside a long statement.
MIN_TITLE = 30

#: Most lines for problems.
TROUBLE_LINES = 10

#: Counts of stories: all, and for each system those that behave like the reference and those compared.
Counts = tuple[int, dict[str, tuple[int, int]]]

INDENT = 2

COMPARED = {Status.SAME, Status.DIFFERS, Status.EXPECTED}


@shows_report
def print_summary(console: Console, report: RunReport) -> None:
    """Print the first screen, or the whole report if that is as short."""
    view = RunView(report)
    shown = whole(console, view) if len(report.scenarios) <= FEW_STORIES else None
    for part in first_screen(view, console.width) if shown is None else shown:
        console.print(part, end="\n" if isinstance(part, Text) else "")


def whole(console: Console, view: RunView) -> list[RenderableType] | None:
    """Return the parts of the whole report if they fit."""
    found = list(parts(view, detail_for(console.width, len(view.systems), in_full=False)))
    lines = sum(len(console.render_lines(part, pad=False)) for part in found)
    return found if lines <= SCREEN else None


def first_screen(view: RunView, width: int) -> Iterator[RenderableType]:
    """Yield the parts of the first screen."""
    yield from head(view)
    grid, left_out = make_table(view, width)
    yield Text("")
    yield Hanging(Text(""), Text(table_title(view), TITLE))
    yield grid
    for line in left_out:
        yield Hanging(Text("  "), Text(line, QUIET))
    yield from trouble(view, width)
    yield from differences(view, width)
    yield Text("")
    yield from list(closing_part(view.report))[-1:]
    yield from more(view)


def head(view: RunView) -> Iterator[RenderableType]:
    """Yield which stories ran on which systems."""
    yield Hanging(Text(""), Text(sums(view.report), TITLE))
    kinds: dict[str, list[str]] = {}
    for system in view.systems:
        kinds.setdefault(f"{system.framework} {system.version}", []).append(system.name)
    width = max(map(len, kinds), default=0)
    for kind, names in list(kinds.items())[:SYSTEM_LINES]:
        yield Hanging(Text(f"  {kind.ljust(width)}  ", QUIET), Text(listed(names)))
    if len(kinds) > SYSTEM_LINES:
        yield Text(f"  and {counted(len(kinds) - SYSTEM_LINES, 'more framework')}: --full", QUIET)
    grounds = {f"Python {system.python}, {system.platform}": None for system in view.systems}
    if len(grounds) == 1:
        yield Text(f"  on {next(iter(grounds))}", QUIET)


def listed(names: Sequence[str]) -> str:
    """Join names, as many as a reader takes in."""
    rest = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + rest


def table_title(view: RunView) -> str:
    """Return the title of the table: the quantity that it counts."""
    reference = view.systems[0]
    if view.report.against is None:
        return "Stories that ran to their end"
    release = f"{reference.framework} {reference.version.partition('+')[0]}"
    release = reference.name if ":" in reference.name else release  # an imitation, or a recording
    return f"Stories that behave as in {release}, of those that can be compared"


def make_table(view: RunView, width: int) -> tuple[Grid, list[str]]:
    """Return a row per suite and a column per system, as far as they fit, and what has no room."""
    counts = {suite: suite_counts(view, [member.id for one in families for member in one.members])
              for suite, families in view.suites.items()}  # fmt: skip
    total = summed(counts.values())
    systems = compared_systems(view)
    columns = fitting(view, systems, total, width - max(map(len, counts), default=0))
    grid = Grid([("stories",), *(view.headings[view.systems.index(one)] for one in columns)], keeps_headings=True)
    shown = list(counts.items())[:SUITES_SHOWN]
    for suite, found in shown:
        grid.row(suite, row_cells(found, columns), indent=INDENT)
    grid.row("all suites" if len(counts) > 1 else "all", row_cells(total, columns))
    left_out = []
    if len(shown) < len(counts):
        left_out.append(f"{counted(len(counts) - len(shown), 'more suite')}, counted in the last row: --full")
    if len(columns) < len(systems):
        left_out.append(f"{counted(len(systems) - len(columns), 'more system')}: --full")
    return grid, left_out


def compared_systems(view: RunView) -> list[SystemInfo]:
    """Return the systems other than the reference; all if there is none."""
    return [one for one in view.systems if one.name != view.report.against]


def fitting(view: RunView, systems: Sequence[SystemInfo], total: Counts, width: int) -> list[SystemInfo]:
    """Return the systems whose columns fit into a width, beside the column of stories."""
    room = width - INDENT - GAP - len("stories")
    chosen = []
    for system in systems:
        heading = view.headings[view.systems.index(system)]
        room -= GAP + max(MIN_COLUMN, share(*total[1][system.name]).width, *map(cell_len, heading))
        if room < 0:
            break
        chosen.append(system)
    return chosen


def suite_counts(view: RunView, stories: Sequence[str]) -> Counts:
    """Count the stories of a suite that behave alike."""
    found = {}
    for system in compared_systems(view):
        judged = [alike for story in stories if (alike := is_alike(view, story, system.name)) is not None]
        found[system.name] = (sum(judged), len(judged))
    return len(stories), found


def is_alike(view: RunView, story: str, system: str) -> bool | None:
    """Whether all answers of a story equal the reference's; None if none can be compared."""
    run = view.runs.get((story, system))
    if run is None or run.outcome == "not available":
        return None
    if view.report.against is None:
        return not run.is_failure
    if run.is_failure:
        return False
    statuses = {reading.status for reading in run.readings if reading.probe in ANSWERS} & COMPARED
    return statuses == {Status.SAME} if statuses else None


def summed(counts: Iterable[Counts]) -> Counts:
    """Add up the counts of several suites."""
    total, found = 0, dict[str, tuple[int, int]]()
    for stories, systems in counts:
        total += stories
        for name, (same, judged) in systems.items():
            before = found.get(name, (0, 0))
            found[name] = (before[0] + same, before[1] + judged)
    return total, found


def row_cells(counts: Counts, columns: Sequence[SystemInfo]) -> list[Cell]:
    """Return the cells of a row."""
    return [Cell(str(counts[0])), *(share(*counts[1][system.name]) for system in columns)]


def share(same: int, judged: int) -> Cell:
    """Return the cell of a share: ``3/4``."""
    if not judged:
        return Cell(NOT_AVAILABLE, "", QUIET)
    return Cell(f"{same}/{judged}", "", GOOD if same == judged else NOTE)


def trouble(view: RunView, width: int) -> Iterator[RenderableType]:
    """Yield the problems: contradictions, runs that failed, differences between a release and its profile."""
    report = view.report
    unexplained = problems.differences(report, view.faithful, Status.DIFFERS)
    found = [
        *problems.contradictions(report),
        *problems.disagreements(report),
        *problems.failures(report),
        *unexplained,
    ]
    if not found:
        return
    yield Text("")
    lines = lines_of([List(tuple(map(problem_item, found)))])
    rows = [line for part in lines for line in Console(width=width).render_lines(part, pad=False)]
    for row in rows[:TROUBLE_LINES]:
        yield Text("".join(segment.text for segment in row).rstrip(), no_wrap=True)
    if len(rows) > TROUBLE_LINES:
        yield Text(f"  {counted(len(found), 'problem')} in all: --full", QUIET)


def differences(view: RunView, width: int) -> Iterator[RenderableType]:
    """Yield the differences between releases that are most worth knowing."""
    found, total = release_differences.choose(view, DIFFERENCES_SHOWN)
    if not found:
        return
    yield Text("")
    rest = f" ({len(found)} of {total:,})" if total > len(found) else ""
    yield Text(f"What differs most between releases{rest}", TITLE)
    for one in found:
        yield Text.assemble("  ", one_line(one, width - 2), no_wrap=True)


def one_line(one: release_differences.Difference, width: int) -> Text:
    """Return a difference in one line: a long title is cut for the first statement; others are added if they fit."""
    count = f" ({counted(one.alike, 'story', 'stories')})" if one.alike > 1 else ""
    room = width - len(": ") - len(count)
    statement, *rest = one.statements
    statement = clipped(statement, max(room - len(one.story.title), room - MIN_TITLE))
    for more in rest:
        if len(statement) + len(f", {more}") + len(one.story.title) <= room:
            statement += f", {more}"
    title = clipped(one.story.title, room - len(statement))
    return Text.assemble((title, TITLE), ": ", statement, (count, QUIET))


def clipped(text: str, width: int) -> str:
    """Return a text that fits; a longer one ends in dots."""
    if len(text) <= width:
        return text
    return text[: max(1, width - 3)].rstrip(" ,(:") + "..."


def more(view: RunView) -> Iterator[RenderableType]:
    """Yield the commands that show more."""
    names = [one.story.name for one in release_differences.choose(view, 1)[0]]
    name = names[0] if names else next((story.name for story in view.report.scenarios), "NAME")
    lines = [
        "--full (every story), -k EXPR (some stories), --html FILE (drawings)",
        f"gradlife explain {name} (one story, stage by stage)",
    ]
    yield Hanging(Text("  more: ", QUIET), Text("\n".join(lines), QUIET))
