"""A run as Markdown: the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL
from gradlife.model import RunReport
from gradlife.reports.formats.markdown.document import code_span, folded, plain, table
from gradlife.reports.run import problems, totals
from gradlife.reports.run.grid import Row
from gradlife.reports.run.matrix import legend, make_matrix
from gradlife.reports.run.run import PROBLEMS_SHOWN, differing
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import MARK_MEANINGS
from gradlife.reports.values import counted
from gradlife.reports.visible_report import shows_report

WORDS = {EXIT_CLEAN: "clean", EXIT_COULD_NOT_TELL: "could not tell"}


@shows_report
def run_markdown(report: RunReport) -> str:
    """Return the verdict and the sums, the problems, and the matrix folded away."""
    return "\n".join(lines(report)).rstrip() + "\n"


def lines(report: RunReport) -> Iterator[str]:
    """Yield the lines of the report."""
    view = RunView(report)
    yield f"## gradlife run: {WORDS.get(report.exit_status, 'FOUND')}"
    yield f"\n{plain(totals.verdict(report))}.\n"
    entries = (
        totals.sums(report),
        *totals.faithfulness(report),
        *totals.agreement(report),
        *totals.python_tools(report),
    )
    yield from (f"- {plain(sentence)}" for sentence in entries)
    yield from problem_part("Contradictions", problems.contradictions(report))
    yield from problem_part("Disagreements of the heap graph", problems.disagreements(report))
    yield from problem_part("Stories that did not come to their end", problems.failures(report))
    yield from problem_part("Differences from the release that a system imitates", differing(view))
    yield from unavailable_part(report)
    yield from folded(f"Systems ({len(view.systems)})", system_table(view))
    yield from folded("When the subject of each story is freed", matrix_part(view))


def problem_part(title: str, found: list[problems.Problem]) -> Iterator[str]:
    """Yield the problems of one kind as a table, if there are any."""
    if not found:
        return
    yield f"\n### {title}\n"
    rows = (
        [plain(one.headline), plain(", ".join(one.systems)), "<br>".join(map(plain, one.sentences))]
        for one in found[:PROBLEMS_SHOWN]
    )
    yield from table(["story", "on", "what"], rows)
    if len(found) > PROBLEMS_SHOWN:
        yield f"\nand {len(found) - PROBLEMS_SHOWN:,} more: `--json FILE` has them all"


def unavailable_part(report: RunReport) -> Iterator[str]:
    """Yield the stories that could not run, grouped by reason."""
    found = problems.unavailable(report)
    if found:
        rows = ([counted(count, "story", "stories"), plain(", ".join(on)), plain(why)] for why, count, on in found)
        yield from folded(f"Not available ({report.totals.unavailable:,})", table(["what", "on", "why"], rows))


def system_table(view: RunView) -> Iterator[str]:
    """Return a table of the systems and their descriptions."""
    rows = (
        [code_span(one.name), plain(f"{one.framework} {one.version}"), plain(one.python), plain(one.platform)]
        for one in view.systems
    )
    yield from table(["system", "framework", "Python", "platform"], rows)


def matrix_part(view: RunView) -> Iterator[str]:
    """Yield the matrix and its legend."""
    grid = make_matrix(view)
    yield from table(["story", *(plain(" ".join(heading)) for heading in grid.headings)], map(cells, grid.rows))
    yield ""
    yield from (f"- {plain(word)}: {plain(meaning)}" for word, _, meaning in legend(grid))
    marks = {cell.mark for row in grid.rows for cell in row.cells}
    for mark, meaning in MARK_MEANINGS.items():
        if mark in marks:
            yield f"- {plain(mark)}: {plain(meaning.format(reference=view.report.against or 'the first system'))}"


def cells(row: Row) -> list[str]:
    """Return a row of the matrix; a suite's title has a row of its own."""
    if not row.cells:
        return [f"**{plain(row.label)}**"]
    return [plain(row.label + row.note), *(plain(cell.text + cell.mark) for cell in row.cells)]
