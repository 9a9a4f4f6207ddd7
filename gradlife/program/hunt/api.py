"""`gradlife.hunt(callable)`: a hunt in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from gradlife.hunting.process.start_folder import Start
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.schedule import Schedule, schedule_for
from gradlife.hunting.steps.targets import Stepper, stepper_of
from gradlife.model.hunt import HuntReport


def hunt(step: Callable[..., object], *, steps: int | None = None, lines: bool = False) -> HuntReport:
    """Call ``step`` repeatedly, with the step number if it takes one, and report what grows.

    Calls it about 110 times, after 8 seconds of steps less often, and up to some 600 times if something grows; ``steps``
    sets the number. An async function runs in an event loop of its own. The report is also returned if the hunt cannot
    tell: its verdict is then `inconclusive`, and `trouble` may say why. Snapshots are taken in forked copies of the
    process, where the system can fork.

    If something grows, the last rounds record where its objects are created; with ``lines`` every round does. Raises what
    ``step`` raises, and UsageError for a generator function.
    """
    Start.note()
    return hunt_stepper(stepper_of(step), getattr(step, "__qualname__", "a callable"), steps, lines)


def hunt_stepper(
    stepper: Stepper,
    target: str,
    steps: int | None,
    lines: bool = False,
    schedule: Schedule | None = None,
    numbers: Iterable[int] | None = None,
) -> HuntReport:
    """Run setup, the hunted steps and teardown; return the report. ``numbers``: those of the steps, from 0 by default."""
    under_way = Hunt(schedule or schedule_for(steps, is_endless=True), records_from_start=lines)
    counter = Counter(under_way)
    state = stepper.setup() if stepper.setup is not None else None
    try:
        loop_for(stepper)(state, stepper.step, numbers or itertools.count(), counter.step)
        return report_of(under_way, TargetFacts(target, f"call of {getattr(stepper.step, '__qualname__', 'it')}"))
    finally:
        counter.end()
        under_way.close()
        if stepper.teardown is not None:
            stepper.teardown(state)
