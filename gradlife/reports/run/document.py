"""What the report of a run says, section by section. The terminal has its own tables of readings."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL
from gradlife.model import RunReport, Status
from gradlife.reports.document.blocks import Document, Item, List, Section, Span, Tone
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.run import problems, totals
from gradlife.reports.run.grid import Row
from gradlife.reports.run.matrix import legend, make_matrix
from gradlife.reports.run.view import RunView
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

#: Most problems of one kind to list; the others are counted.
PROBLEMS_SHOWN = 25
#: The word and the tone of each exit status.
VERDICTS: dict[int, tuple[str, Tone]] = {EXIT_CLEAN: ("clean", "good"), EXIT_COULD_NOT_TELL: ("could not tell", "note")}
FOUND: tuple[str, Tone] = ("FOUND", "bad")


@shows_report
def run_document(report: RunReport) -> Document:
    """Return the verdict and the sums, the problems, and the matrix."""
    view = RunView(report)
    sections = (
        *problem_sections(report),
        *difference_section(view),
        *unavailable_section(report),
        system_section(view),
        matrix_section(view),
    )
    head = (List(tuple(Item(sentence, "-") for sentence in totals.sentences(report))),)
    word, tone = VERDICTS.get(report.exit_status, FOUND)
    return Document("Stories", "gradlife run", word, tone, "", totals.verdict(report), head, sections)


def problem_sections(report: RunReport, most: int = PROBLEMS_SHOWN) -> Iterator[Section]:
    """Yield the stories of which something is wrong."""
    sorts = {
        "Contradictions: a reading is other than its story declares": problems.contradictions(report),
        "Disagreements: the heap graph said other than what came": problems.disagreements(report),
        "Stories that did not come to their end": problems.failures(report),
    }
    for title, found in sorts.items():
        yield from problem_section(title, found, most)


def difference_section(view: RunView, most: int = PROBLEMS_SHOWN) -> Iterator[Section]:
    """Yield the unexplained differences, then the explained ones."""
    sorts = (Status.DIFFERS, Status.EXPECTED)
    found = [one for status in sorts for one in problems.differences(view.report, view.faithful, status)]
    yield from problem_section("Differences from the release that a system imitates", found, most)


def problem_section(title: str, found: list[problems.Problem], most: int) -> Iterator[Section]:
    """Yield a section of problems, if there are any."""
    items = [problem_item(problem) for problem in found[:most]]
    if len(found) > most:
        items.append(Item(Span(f"and {len(found) - most:,} more: --json FILE has them all", "quiet")))
    if items:
        yield Section(title, (List(tuple(items)),))


def problem_item(problem: problems.Problem) -> Item:
    """Return a headline, and the details below it."""
    tone: Tone = "held" if problem.word == "EXPLAINED" else "bad"
    on = f" on {', '.join(problem.systems)}" if problem.systems else ""
    words = (Span(problem.word, tone), " ", Span(problem.headline, "title"), on)
    return Item(words, below=tuple(problem.sentences))


def unavailable_section(report: RunReport) -> Iterator[Section]:
    """Yield the stories that could not run, grouped by reason."""
    items = tuple(
        Item((f"{why}: ", Span(f"{counted(count, 'story', 'stories')} on {', '.join(systems)}", "quiet")))
        for why, count, systems in problems.unavailable(report)
    )
    if items:
        yield Section("Not available", (List(items),), is_folded=True)


def system_section(view: RunView) -> Section:
    """Return a table of the systems and their descriptions."""
    columns = [*map(Column, ("system", "framework", "Python", "platform"))]
    rows = [[one.name, f"{one.framework} {one.version}", one.python, one.platform] for one in view.systems]
    return Section(f"Systems ({len(view.systems)})", (Table("Systems", columns, rows),), is_folded=True)


def matrix_section(view: RunView) -> Section:
    """Return the matrix, and the meanings of its words and marks."""
    grid = make_matrix(view)
    columns = [Column("story"), *(Column(" ".join(heading)) for heading in grid.headings)]
    meanings = [Item(meaning, lead=word) for word, _, meaning in legend(grid)]
    meanings += [Item(meaning, lead=mark) for mark, meaning in view.mark_meanings([grid])]
    table = Table("Verdicts", columns, [cells(row, len(columns)) for row in grid.rows])
    return Section("When the subject of each story is freed", (table, List(tuple(meanings))), is_folded=True)


def cells(row: Row, count: int) -> list[Cell | str]:
    """Return a row of the matrix; a suite's title has a row of its own."""
    if not row.cells:
        return [Cell(row.label, style="title"), *[""] * (count - 1)]
    return [row.label + row.note, *(cell.text + cell.mark for cell in row.cells)]
