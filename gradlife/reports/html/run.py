"""The page of a run: the matrix, one story on two systems side by side, and the problems."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import quote

from gradlife.model import RunOk, RunReport, ScenarioInfo
from gradlife.reports.document.blocks import Section
from gradlife.reports.document.tables import Cell, Column, Table
from gradlife.reports.html.filters import tone
from gradlife.reports.html.page import render_page
from gradlife.reports.html.stories import BATCH, packed_stories
from gradlife.reports.html.tour import tour_view
from gradlife.reports.run import totals
from gradlife.reports.run.document import FOUND, VERDICTS, difference_section, problem_sections, unavailable_section
from gradlife.reports.run.grid import Cell as Word
from gradlife.reports.run.matrix import legend, make_matrix, story_cells
from gradlife.reports.run.suites import ANSWERS
from gradlife.reports.run.view import RunView
from gradlife.reports.theme import BAD, GOOD, MARK_MEANINGS, NOTE, QUIET, VERDICT_STYLES
from gradlife.reports.visible_report import shows_report

#: Classes of the style sheet for the styles of the terminal.
CLASSES = {GOOD: "good", BAD: "bad", NOTE: "note-mark", QUIET: "quiet", "cyan": "held"}

FILTERS = {"differs": "only where systems differ", "contradicted": "only what contradicts its story"}

#: Most problems of one kind to list.
PROBLEMS_SHOWN = 200


@shows_report
def run_page(report: RunReport, tour: RunReport | None = None) -> str:
    """Return a run as one HTML page. `tour`: the run of the tour's program, which opens the page."""
    view = RunView(report)
    word, style = VERDICTS.get(report.exit_status, FOUND)
    return render_page(
        "Lifetime stories",
        "run/run.html",
        tour=tour and tour_view(tour),
        ending=word,
        ending_style=tone(style),
        verdict=totals.verdict(report),
        sentences=totals.sentences(report),
        matrix=matrix_table(view),
        legend=legend_of(view),
        marks=marks_of(view),
        systems=systems_table(view),
        problems=problems_of(view),
        data={"systems": [system.name for system in view.systems], "batch": BATCH, "stories": story_index(view)},
        packed=packed_stories(view),
    )


def matrix_table(view: RunView) -> Table:
    """Return a row per story and a column per system."""
    names = [(" ".join(heading), system.name) for heading, system in zip(view.headings, view.systems, strict=True)]
    columns = [Column("Story"), Column("Suite"), *(Column(short, hint=name) for short, name in names)]
    rows = [matrix_row(view, scenario) for scenario in view.report.scenarios]
    tags = [tags_of(view, scenario) for scenario in view.report.scenarios]
    return Table("When the subject of each story is freed, in each system", columns, rows, tags=tags, filters=FILTERS)


def matrix_row(view: RunView, scenario: ScenarioInfo) -> list[Cell | str | int | float]:
    """Return the row of a story: a link to it, and its verdicts."""
    is_twin = scenario.fixed_of is not None
    hint = scenario.title + (f": repairs {scenario.fixed_of}" if is_twin else "")
    name = Cell(
        ("+\N{NO-BREAK SPACE}" if is_twin else "") + scenario.name, scenario.name, link=anchor(scenario), hint=hint
    )
    return [name, scenario.suite, *(verdict_cell(word) for word in story_cells(view, scenario))]


def anchor(scenario: ScenarioInfo) -> str:
    """Return the fragment of the link to a story."""
    return "story/" + quote(scenario.id, safe="/")


def verdict_cell(word: Word) -> Cell:
    """Return a cell of the matrix: the word, its mark and its colour."""
    return Cell(word.text + word.mark, style=class_of(word.text, word.style))


def class_of(text: str, style: str) -> str:
    """Return the CSS class of a verdict."""
    return text if text in VERDICT_STYLES else CLASSES.get(style, "")


def tags_of(view: RunView, scenario: ScenarioInfo) -> str:
    """Return the filter tags of a story."""
    keys = view.keys.get(scenario.id, ())
    differs = any(key.probe in ANSWERS and view.tells_apart(key) for key in keys)
    contradicted = any((key, system.name) in view.contradicted for key in keys for system in view.systems)
    return " ".join(tag for tag, is_so in (("differs", differs), ("contradicted", contradicted)) if is_so)


def legend_of(view: RunView) -> list[tuple[str, str, str]]:
    """Return the meaning of the words in the matrix: (word, class, meaning)."""
    lines = legend(make_matrix(view, in_full=True))
    return [(word, class_of(word, style), meaning) for word, style, meaning in lines]


def marks_of(view: RunView) -> list[tuple[str, str]]:
    """Return the meaning of the marks that occur."""
    marks = {word.mark for scenario in view.report.scenarios for word in story_cells(view, scenario)}
    reference = view.report.against or "the first system"
    return [(mark, meaning.format(reference=reference)) for mark, meaning in MARK_MEANINGS.items() if mark in marks]


def systems_table(view: RunView) -> Table:
    """Return the table of systems."""
    rows = [[one.name, one.framework, one.version, one.python, one.platform] for one in view.systems]
    return Table("What the stories ran on", [Column(name) for name in SYSTEM_COLUMNS], rows)


SYSTEM_COLUMNS = ("System", "Framework", "Version", "Python", "Platform")


def problems_of(view: RunView) -> list[Section]:
    """Return what went wrong, what differs, and what could not run."""
    wrong = problem_sections(view.report, PROBLEMS_SHOWN)
    return [*wrong, *difference_section(view, PROBLEMS_SHOWN), *unavailable_section(view.report)]


def story_index(view: RunView) -> list[list[Any]]:
    """Return what the page needs before a story is opened: id, name, suite, two systems, and whether they differ."""
    return [[one.id, one.name, one.suite, *most_different_pair(view, one)] for one in view.report.scenarios]


def most_different_pair(view: RunView, scenario: ScenarioInfo) -> tuple[int, int, bool]:
    """Return two systems to show side by side, by number: neighbours that differ, preferably with drawings."""
    words = [word.text for word in story_cells(view, scenario)]
    drawn = [number for number, system in enumerate(view.systems) if has_drawings(view, scenario, system.name)]
    everything = list(range(len(words)))
    for numbers in (drawn, everything):
        for one, other in pairwise(numbers):
            if words[one] != words[other]:
                return one, other, True
    numbers = drawn if len(drawn) > 1 else everything
    return numbers[0], numbers[min(1, len(numbers) - 1)], False


def has_drawings(view: RunView, scenario: ScenarioInfo, system: str) -> bool:
    """Whether the system recorded who owns whom."""
    run = view.runs.get((scenario.id, system))
    return isinstance(run, RunOk) and bool(run.graphs or run.events)
