"""The status of each step of a trace: expected, leaked or unknown, and the suspect stretch. After LeakCanary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.model.trace import PathStep, StepStatus

#: Steps of these kinds live as long as the program or the current call.
EXPECTED_TYPES = {"module": "a module lives as long as the process", "type": "a class lives as long as its module"}
EXPECTED_ROOTS = {
    RUNNING_FRAME: "this call has not returned",
    "interpreter": "the interpreter lives as long as the process",
    "thread": "this thread runs",
    "fixture": "this fixture was not torn down yet",
}


def with_statuses(steps: Sequence[PathStep]) -> tuple[PathStep, ...]:
    """Judge the steps: expected up to the last step known to be expected, leaked from the object on, suspects between.

    The last step is the object in question, which counts as leaked.
    """
    judged = [judge(step) for step in steps]
    if not judged:
        return ()
    last_expected = max((i for i, step in enumerate(judged) if step.status is StepStatus.EXPECTED), default=-1)
    for i in range(last_expected):
        if judged[i].status is not StepStatus.EXPECTED:
            judged[i] = replace(judged[i], status=StepStatus.EXPECTED, reason="what it leads to is expected")
    judged[-1] = replace(judged[-1], status=StepStatus.LEAKING, reason="")
    for i in range(max(last_expected, 0), len(judged) - 1):
        judged[i] = replace(judged[i], is_suspect=True)
    return tuple(judged)


def judge(step: PathStep) -> PathStep:
    """Judge a step by itself."""
    reason = EXPECTED_ROOTS.get(step.object) if step.kind == "root" else EXPECTED_TYPES.get(step.object)
    return replace(step, status=StepStatus.EXPECTED, reason=reason) if reason else step
