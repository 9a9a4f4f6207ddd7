"""The problems of a run, as sentences: contradictions, crashes, and differences between a release and its profile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gradlife.model import Comparison, ExpectationResult, RunReport, RunUnavailable, ScenarioRun, Status
from gradlife.reports.values import contrast

#: Most lines of a failed story's own output to show.
OUTPUT_LINES = 4


@dataclass
class Problem:
    """A headline, sentences below it, and the systems that it was seen on."""

    word: str
    headline: str
    sentences: list[str]
    systems: list[str] = field(default_factory=list)


def gathered(problems: Iterable[Problem]) -> list[Problem]:
    """Merge problems that differ only in the system, then those of one story on the same systems."""
    by_sentence: dict[tuple[str, ...], Problem] = {}
    for problem in problems:
        same = by_sentence.setdefault((problem.word, problem.headline, *problem.sentences), problem)
        if same is not problem:
            same.systems += problem.systems
    by_story: dict[tuple[str, ...], Problem] = {}
    for problem in by_sentence.values():
        same = by_story.setdefault((problem.word, problem.headline, *problem.systems), problem)
        if same is not problem:
            same.sentences += problem.sentences
    return list(by_story.values())


def contradictions(report: RunReport) -> list[Problem]:
    """Yield readings that contradict what their story declares."""
    return gathered(contradiction(result) for result in report.contradictions if not result.is_of_graph)


def disagreements(report: RunReport) -> list[Problem]:
    """Yield subjects for which the heap graph predicted one lifetime and another was observed."""
    return gathered(disagreement(result) for result in report.contradictions if result.is_of_graph)


def disagreement(result: ExpectationResult) -> Problem:
    """Describe a subject on which systems disagree."""
    text = f"{result.subject} at {result.stage!r}: {result.got} by the heap graph, {result.declared} as measured"
    return Problem("CONTRADICTED", result.scenario, [text], [result.system])


def contradiction(result: ExpectationResult) -> Problem:
    """Describe a contradicted declaration."""
    at = f" at {result.stage!r}" if result.stage else ""
    declared, came = contrast(result.declared, result.got)
    got = "but no such reading was taken" if result.got is None and not at else f"got {came}"
    text = f"{result.subject}, {result.probe}{at}: declared {declared}, {got}"
    because = [f"declared because {result.because}"] if result.because else []
    return Problem("CONTRADICTED", result.scenario, [text, *because], [result.system])


def failures(report: RunReport) -> list[Problem]:
    """Yield stories that raised, crashed or hung."""
    return gathered(failure(run) for run in report.failures)


def failure(run: ScenarioRun) -> Problem:
    """Describe a story that did not end well."""
    lines = [line for line in run.output.splitlines() if line.strip()]
    printed = [f"printed last: {line.strip()}" for line in lines[-OUTPUT_LINES:]]
    return Problem(run.outcome.upper(), run.scenario, [run.reason, *printed], [run.system])


def differences(report: RunReport, faithful: frozenset[str], status: Status) -> list[Problem]:
    """Yield readings in which a system differs from the release that it imitates."""
    word = "DIFFERS" if status is Status.DIFFERS else "EXPLAINED"
    return gathered(
        difference(one, word) for one in report.comparisons if one.system in faithful and one.status is status
    )


def difference(one: Comparison, word: str) -> Problem:
    """Describe a difference between two systems."""
    key = one.key
    value, other = contrast(one.value, one.other)
    text = f"{key.subject}, {key.probe} at {key.stage!r}: {value}, in {one.against} {other}"
    because = [f"because {one.reason}"] if one.reason else []
    return Problem(word, key.scenario, [text, *because], [one.system])


def unavailable(report: RunReport) -> list[tuple[str, int, list[str]]]:
    """Yield stories that could not run: the reason, their number, and the systems with exactly the same ones."""
    stories: dict[tuple[str, str], list[str]] = {}
    for run in report.runs:
        if isinstance(run, RunUnavailable):
            stories.setdefault((run.reason, run.system), []).append(run.scenario)
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (why, system), names in stories.items():
        found.setdefault((why, tuple(names)), []).append(system)
    return [(why, len(names), systems) for (why, names), systems in found.items()]
