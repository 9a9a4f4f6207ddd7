"""A run as JUnit XML: a suite per system, a case per story."""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model import ExpectationResult, RunOk, RunReport, RunUnavailable, ScenarioInfo, ScenarioRun, SystemInfo
from gradlife.reports.formats.junit.document import ERROR, FAILURE, SKIPPED, Case, Ending, Suite, junit_text
from gradlife.reports.run import problems
from gradlife.reports.source_places import stories_by_id, story_place
from gradlife.reports.visible_report import shows_report


@shows_report
def run_junit(report: RunReport) -> str:
    """Format a run: contradictions of a story are failures, runs that did not finish are errors, unavailable ones are
    skipped.
    """
    return junit_text("gradlife run", suites(report), report.totals.seconds)


def suites(report: RunReport) -> Iterator[Suite]:
    """Yield a suite for each system."""
    wrong: dict[tuple[str, str], list[ExpectationResult]] = {}
    for one in report.contradictions:
        wrong.setdefault((one.scenario, one.system), []).append(one)
    stories = stories_by_id(report)
    for system in report.systems:
        runs = (run for run in report.runs if run.system == system.name)
        cases = (case_of(stories.get(run.scenario), run, wrong.get((run.scenario, run.system), [])) for run in runs)
        yield Suite(system.name, tuple(cases), facts(system))


def facts(system: SystemInfo) -> dict[str, str]:
    """Yield the facts about a system."""
    names = ("framework", "version", "python", "platform")
    return {name: getattr(system, name) for name in names if getattr(system, name)}


def case_of(story: ScenarioInfo | None, run: ScenarioRun, wrong: list[ExpectationResult]) -> Case:
    """Return the case of a story on a system. The name includes the system, for tools that track cases by name."""
    suite, _, name = run.scenario.rpartition("/")
    return Case(
        classname=suite or "stories",
        name=f"{name}[{run.system}]",
        seconds=run.seconds if isinstance(run, RunOk) else 0.0,
        ending=ending_of(run, wrong),
        output=run.output,
        place=story_place(story),
        properties={"pattern": story.pattern} if story is not None and story.pattern else {},
    )


def ending_of(run: ScenarioRun, wrong: list[ExpectationResult]) -> Ending | None:
    """Return the end of a story that did not pass."""
    if run.is_failure:
        return Ending(ERROR, run.outcome, run.reason, getattr(run, "traceback", ""))
    if isinstance(run, RunUnavailable):
        return Ending(SKIPPED, run.outcome, run.reason)
    if not wrong:
        return None
    entries = [
        (problems.disagreement(one) if one.is_of_graph else problems.contradiction(one)).sentences for one in wrong
    ]
    lines = [line for sentences in entries for line in sentences]
    return Ending(FAILURE, "contradiction", lines[0], "\n".join(lines))
