"""Results of hunts and runs as SARIF. The rules are the patterns, with the texts of `gradlife explain`."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import asdict

from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.model import ExpectationResult, RunReport, ScenarioRun
from gradlife.model.hunt import UNKNOWN_CODE, Finding, HuntReport, HuntVerdict
from gradlife.patterns import family, patterns_of, sentence
from gradlife.patterns.fallback import code_with_general_names, with_general_words
from gradlife.reports.formats.markdown.document import fenced
from gradlife.reports.formats.patch.hunt import edits_of
from gradlife.reports.formats.sarif.document import ERROR, WARNING, Fix, Log, Result, Rule, sarif_text
from gradlife.reports.hunt.sentences import headline, problem
from gradlife.reports.run import problems
from gradlife.reports.source_places import Place, first_place, places_of, stories_by_id, story_place, there

CONTRADICTION = Rule(
    "contradiction",
    "A reading differs from what its story declares",
    "A story declares when its objects are freed on each system. On this system a probe read something else: the "
    "story, the engine or the system changed. `gradlife explain STORY` shows what is declared and why.",
    ("lifetime",),
)
BROKEN_STORY = Rule(
    "story-failed",
    "A story did not finish",
    "The story raised, crashed or hung before its last stage. `gradlife run STORY --in-process` runs it in a debugger.",
    ("lifetime",),
)


@functools.cache
def rule_of(code: str) -> Rule:
    """Return the rule of a pattern."""
    return Rule(code, sentence(code), "\n".join(help_lines(code)).strip(), ("memory-leak", family(code)[0]))


def help_lines(code: str) -> Iterator[str]:
    """Yield the lines of a rule's help: each pattern of the code, why it leaks, and what to do."""
    if code == UNKNOWN_CODE:
        yield "No pattern fits. The trace in the message shows what holds the objects: remove the reference that is wrong."
        return
    yield sentence(code)
    for row in patterns_of(code):
        yield f"\n**{row.title[:1].upper()}{row.title[1:]}.** {with_general_words(row.reason)}"
        yield f"\nWhat to do: {with_general_words(row.advice)}"
        if row.fix:
            yield "\n" + fenced(code_with_general_names(row.fix), "python")
        if row.links:
            yield f"\nSee {', '.join(row.links)}."
    yield f"\n`gradlife explain {code}` shows it in a small program."


def finding_result(
    finding: Finding, places: list[Place], sentences: list[str], is_failure: bool, target: str = ""
) -> Result:
    """Describe a finding that has a place as a result."""
    advice = finding.diagnosis.advice.text
    parts = [f"{finding.title}.", *sentences, finding.diagnosis.reason, advice]
    return Result(
        rule_of(finding.code),
        ERROR if is_failure else WARNING,
        " ".join(part for part in parts if part),
        tuple(places),
        finding.fingerprint,
        {"kind": finding.kind.value, "lifetime": finding.lifetime.value, "perStep": asdict(finding.per_step)},
        fix_of(finding, target),
    )


def fix_of(finding: Finding, target: str) -> Fix | None:
    """Return the patch as a fix of the file that it changes; None if that file is not found."""
    if finding.patch is None:
        return None
    edits = tuple(edits_of(finding.patch))
    place = there(finding.patch.file, max(1, edits[0].line), target) if edits else None
    return Fix(finding.diagnosis.advice.text, place, edits) if place is not None else None


def hunt_sarif(report: HuntReport, is_strict: bool = False) -> str:
    """Format the findings that have a file and a line as results, the others as notices."""
    results = [
        finding_result(
            one,
            places_of(one, report.target),
            problem(one, report),
            report.is_failure(one, is_strict),
            report.target,
        )
        for one in report.findings
    ]
    without_place = [one for one in report.findings if first_place(one, report) is None]
    notices = [f"{one.code} {one.title} [{one.fingerprint}] has no line of the program" for one in without_place]
    is_known = report.verdict is not HuntVerdict.INCONCLUSIVE
    notices += [] if is_known else [headline(report)]
    kept = tuple(result for result in results if result.places)
    return sarif_text(Log("gradlife hunt", kept, is_known, report.exit_status, (*notices, *report.limits)))


def run_sarif(report: RunReport) -> str:
    """Format contradictions and stories that did not finish, at the line of the story."""
    results = [*map(contradiction_result, report.contradictions), *map(failure_result, report.failures)]
    stories = stories_by_id(report)
    placed, notices = [], []
    for scenario, result in results:
        place = story_place(stories.get(scenario))
        if place is None:
            notices.append(result.message)
        else:
            placed.append(Result(result.rule, ERROR, result.message, (place,), result.fingerprint, result.properties))
    is_known = report.exit_status != EXIT_COULD_NOT_TELL
    return sarif_text(Log("gradlife run", tuple(placed), is_known, report.exit_status, tuple(notices)))


def contradiction_result(one: ExpectationResult) -> tuple[str, Result]:
    """Describe a story and its contradiction."""
    found = problems.disagreement(one) if one.is_of_graph else problems.contradiction(one)
    key = (one.scenario, one.system, one.stage, one.subject, one.probe, str(one.is_of_graph))
    return one.scenario, story_result(CONTRADICTION, found, one.system, key)


def failure_result(run: ScenarioRun) -> tuple[str, Result]:
    """Describe a story that raised, crashed or hung."""
    return run.scenario, story_result(
        BROKEN_STORY, problems.failure(run), run.system, (run.scenario, run.system, run.outcome)
    )


def story_result(rule: Rule, found: problems.Problem, system: str, key: tuple[str, ...]) -> Result:
    """Return the result of a story, with its place if that is known."""
    message = f"{found.headline} on {system}: {'; '.join(found.sentences)}"
    fingerprint = hashlib.sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:32]
    return Result(rule, ERROR, message, (), fingerprint, {"system": system})
