"""A hunt of a program in this process that counts its own steps, as the hook of an optimizer does in a script."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport

#: What a program calls at the end of each step.
Count = Callable[[], bool]


def hunted(schedule: Schedule, program: Callable[[Count], object]) -> HuntReport:
    """The report of a program that has ended by itself."""
    hunt = Hunt(schedule)
    counter = Counter(hunt)
    try:
        program(counter.step)
        return report_of(hunt, TargetFacts("program.py", "SGD.step", is_script=True))
    finally:
        hunt.close()


def repeated(step: Callable[[], object], times: int) -> Callable[[Count], None]:
    """A program that takes the same step so many times."""

    def program(count: Count) -> None:
        for _ in range(times):
            step()
            count()

    return program
