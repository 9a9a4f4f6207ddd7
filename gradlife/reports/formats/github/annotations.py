"""Annotations for GitHub, which shows each finding at its line in a pull request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.model import RunReport
from gradlife.model.hunt import HuntReport, HuntVerdict
from gradlife.reports.hunt.sentences import headline, problem
from gradlife.reports.run import problems
from gradlife.reports.source_places import Place, first_place, stories_by_id, story_place
from gradlife.reports.visible_report import shows_report
from gradlife.visible_text import visible_lines

ERROR, WARNING = "error", "warning"


def is_on_github() -> bool:
    """Whether this runs as a step of a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(level: str, title: str, lines: Iterable[str], place: Place | None = None) -> str:
    """Return one annotation; without a file if its place is outside the checkout."""
    properties = {"title": title}
    if place is not None and place.is_inside:
        properties = {"file": place.relative, "line": str(place.line), **properties}
    text = ",".join(f"{name}={escaped_property(value)}" for name, value in properties.items())
    return f"::{level} {text}::{escaped(chr(10).join(lines))}"


def escaped(text: str) -> str:
    """Escape the text of a workflow command."""
    return visible_lines(text).replace("%", "%25").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """Escape a property of a workflow command."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


@shows_report
def run_annotations(report: RunReport) -> Iterator[str]:
    """Yield a workflow command for each problem that makes the exit status 1 or 3."""
    stories = stories_by_id(report)
    for found in (*problems.contradictions(report), *problems.disagreements(report), *problems.failures(report)):
        place = story_place(stories.get(found.headline))
        title = f"{found.word.lower()}: {found.headline.rpartition('/')[2]}"
        yield annotation(ERROR, title, [f"on {', '.join(found.systems)}", *found.sentences], place)
    if report.exit_status == EXIT_COULD_NOT_TELL:
        yield annotation(WARNING, "gradlife run", ["no story could run anywhere"])


@shows_report
def hunt_annotations(report: HuntReport, is_strict: bool = False) -> Iterator[str]:
    """Yield a workflow command for each finding; a hunt without a verdict is a warning."""
    for finding in report.findings:
        level = ERROR if report.is_failure(finding, is_strict) else WARNING
        advice = finding.diagnosis.advice.text
        lines = [*problem(finding, report), *([advice] if advice else [])]
        yield annotation(level, f"{finding.code} {finding.title}", lines, first_place(finding, report))
    if report.verdict is HuntVerdict.INCONCLUSIVE:
        yield annotation(WARNING, "gradlife hunt could not tell", [headline(report)])
