"""`gradlife.hunt(callable)`: a hunt in this process."""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import MethodType

from gradlife.errors import UsageError
from gradlife.hunting.findings.reference_cuts import Cut, cuts_of, text_of
from gradlife.hunting.process.start_folder import Start
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.schedule import Schedule, schedule_for
from gradlife.hunting.steps.targets import Stepper, stepper_of
from gradlife.model.hunt import CALLED, HuntReport
from gradlife.program.hunt.proof import MAX_PROVEN, judged
from gradlife.program.hunt.reference_cutter import cutting


def hunt(step: Callable[..., object], *, steps: int | None = None, lines: bool = False) -> CalledReport:
    """Call ``step`` repeatedly, with the step number if it takes one, and report what grows.

    Calls it about 110 times, after 8 seconds of steps less often, and up to some 600 times if something grows; ``steps``
    sets the number. An async function runs in an event loop of its own. The report is also returned if the hunt cannot
    tell: its verdict is then `inconclusive`, and `trouble` may say why. Snapshots are taken in forked copies of the
    process, where the system can fork.

    If something grows, the last rounds record where its objects are created; with ``lines`` every round does. Raises what
    ``step`` raises, and UsageError for a generator function.
    """
    Start.note()

    found = hunt_stepper(stepper_of(step), name_of(step), steps, lines)
    fields = {one.name: getattr(found, one.name) for one in dataclasses.fields(found)}
    again = Again(weakly(step), steps, lines)
    return CalledReport(**{**fields, "settings": {**found.settings, CALLED: "hunt"}}, again=again)


def name_of(step: Callable[..., object]) -> str:
    """Return the function's name for reports."""
    return getattr(step, "__qualname__", "a callable")


def weakly(step: Callable[..., object]) -> Callable[[], Callable[..., object] | None]:
    """Return a reference that keeps nothing of the program alive."""
    try:
        return weakref.WeakMethod(step) if isinstance(step, MethodType) else weakref.ref(step)
    except TypeError:  # of a class without weak references
        return lambda: None


@dataclass(frozen=True)
class Again:
    """How a function was hunted."""

    step: Callable[[], Callable[..., object] | None]
    steps: int | None
    lines: bool

    def hunted(self, cuts: Sequence[Cut]) -> HuntReport:
        """Hunt it once more. UsageError if nothing keeps the function any more."""
        step = self.step()
        if step is None:
            raise UsageError("the function that was hunted is gone", "a name for it: step = ...; gradlife.hunt(step)")
        return hunt_stepper(stepper_of(step), name_of(step), self.steps, self.lines, cuts=cuts)


@dataclass(frozen=True, repr=False)
class CalledReport(HuntReport):
    """The report of a function that this process called, and can call again as long as the program keeps it."""

    again: Again = field(kw_only=True, compare=False)

    def __reduce__(self) -> tuple[type[HuntReport], tuple[object, ...]]:
        """Go to another process as a report alone: the function stays here."""
        return HuntReport, tuple(getattr(self, one.name) for one in dataclasses.fields(HuntReport))

    def prove(self) -> CalledReport:
        """Call the function again without what keeps the survivors of the worst findings, one at a time; return the report with
        what grows then. As long as a hunt for each. Raises UsageError if the program keeps the function no longer.
        """
        cuts = [cuts_of(one) if at < MAX_PROVEN else () for at, one in enumerate(self.findings)]
        proofs = [
            judged(one, text_of(cut), self, self.again.hunted(cut)) if cut else one.proof
            for one, cut in zip(self.findings, cuts, strict=True)
        ]
        rows = zip(self.findings, proofs, strict=True)
        return dataclasses.replace(self, findings=tuple(dataclasses.replace(one, proof=proof) for one, proof in rows))


def hunt_stepper(
    stepper: Stepper,
    target: str,
    steps: int | None,
    lines: bool = False,
    schedule: Schedule | None = None,
    numbers: Iterable[int] | None = None,
    cuts: Sequence[Cut] = (),
) -> HuntReport:
    """Run setup, the hunted steps and teardown; return the report. ``numbers``: those of the steps, from 0 by default;
    ``cuts``: references to cut after each.
    """
    under_way = Hunt(schedule or schedule_for(steps, is_endless=True), records_from_start=lines)
    counter = Counter(under_way)
    count = cutting(cuts, counter.step) if cuts else counter.step
    state = stepper.setup() if stepper.setup is not None else None
    try:
        loop_for(stepper)(state, stepper.step, numbers or itertools.count(), count)
        return report_of(under_way, TargetFacts(target, f"call of {getattr(stepper.step, '__qualname__', 'it')}"))
    finally:
        counter.end()
        under_way.close()
        if stepper.teardown is not None:
            stepper.teardown(state)
