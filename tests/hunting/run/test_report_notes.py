"""What a report says of steps that sampling found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import LOSSES
from gradlife.model.hunt import Finding, HuntReport, Severity
from gradlife.model.trace import PathStep
from gradlife.program.hunt.report_notes import with_steps_named

LIST = replace(LOSSES.trace.steps[-1], object="list", type="list")


def held_by(detail: str, via: str, root: str = "running frame", relation: str = "local") -> Finding:
    """A finding that would fill the memory, with this root."""
    trace = replace(LOSSES.trace, steps=(PathStep(root, detail, "root", via, relation), LIST))
    return replace(LOSSES, trace=trace, severity=Severity.CRITICAL, also_held_by=())


def noted(one: Finding) -> Finding:
    """The finding in the report of sampled steps."""
    report = HuntReport("app/serve.py", "call of Model.forward (serve.py:9)", 5, (), (one,))
    return with_steps_named(report, None).findings[0]


@pytest.mark.parametrize(
    ("detail", "count"),
    [
        ("generate (serve.py:16)", ": --step-on __main__:generate counts its calls"),
        ("Engine.generate (engine.py:16)", ": --step-on MODULE:Engine.generate counts its calls"),
        ("main.<locals>.generate (serve.py:16)", ""),
    ],
)
def test_a_variable_of_a_running_function_may_be_the_cache_of_one_long_call(detail: str, count: str) -> None:
    """The cache of a long generation was a critical leak, with the advice to keep the last hundred items only."""
    before = held_by(detail, "local variable 'cache'")
    found = noted(before)
    function = detail.partition(" ")[0]
    assert found.diagnosis.advice.text == (
        f"If `{function}` is one long call, such as the generation of a text, it frees this at its end{count}. "
        f"Otherwise: {before.diagnosis.advice.text}"
    )
    assert found.severity is Severity.MAJOR
    assert noted(found) == found


@pytest.mark.parametrize(
    "one",
    [
        held_by("<module> (serve.py:16)", "local variable 'cache'"),
        held_by("generate (serve.py:16)", "argument 'model'"),
        held_by("__main__", "global variable 'cache'", "module", "global"),
        replace(held_by("generate (serve.py:16)", "local variable 'cache'"), also_held_by=("global variable 'kept'",)),
    ],
    ids=["main module", "argument", "global variable", "two holders"],
)
def test_what_outlives_the_call_is_a_leak_without_more_words(one: Finding) -> None:
    assert noted(one) == one
