"""List the scenarios of a file, in a child: loading a file runs its code."""

from __future__ import annotations

from typing import Any, Callable, Dict

from gradlife.runner.worker.features import FEATURES
from gradlife.runner.worker.plain_values import simple
from gradlife.runner.worker.story_file import load_file, suite_of
from gradlife.runner.worker.story_run import failure
from gradlife.scenario import Expect, Scenario

Emit = Callable[[Dict[str, Any]], None]


def list_file(path: str, emit: Emit) -> None:
    """Report each scenario of a file, then `done`, or `failed`."""
    try:
        for story in load_file(path):
            check(story)
            emit({"kind": "scenario", "scenario": plain_story(story, path)})
        emit({"kind": "done", "seconds": 0.0})
    except BaseException as error:
        emit(failure(error, path))


def check(story: Scenario) -> None:
    """Raise if a scenario names something that does not exist."""
    for word in story.needs.split():
        if word not in FEATURES and "." not in word:
            known = ", ".join(sorted(FEATURES))
            raise ValueError(f"{story.name} needs {word!r}, which is none of: {known}")


def plain_story(story: Scenario, path: str) -> dict[str, Any]:
    """Convert a scenario to a JSON object."""
    suite = suite_of(path)
    return {
        "id": f"{suite}/{story.name}",
        "name": story.name,
        "suite": suite,
        "title": story.title,
        "origin": list(story.origin),
        "pattern": story.pattern,
        "fixed_of": story.fixed_of.name if story.fixed_of is not None else None,
        "fix": story.fix,
        "story": story.story,
        "needs": story.needs,
        "isolation": story.isolation,
        "file": path,
        "line": story.line,
        "context": story.context,
        "profile": story.profile,
        "expects": [plain_expect(expect) for expect in story.expects],
        "differs": [vars(differs) for differs in story.differs],
    }


def plain_expect(expect: Expect) -> dict[str, Any]:
    """Convert a declared reading, with its value in recorded form."""
    declared = dict(vars(expect), value=simple(expect.value))
    del declared["within"]  # already used to select the scenarios
    return declared
