"""Check whether a function leaves more and more behind when called repeatedly."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.errors import UsageError
from gradlife.hunting.steps.schedule import Schedule
from gradlife.hunting.steps.targets import stepper_of
from gradlife.model.hunt import HuntReport, HuntVerdict
from gradlife.program.hunt.api import hunt_stepper
from gradlife.pytest_plugin.outcomes import messages
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, is_waiting

#: Rounds needed to report growth.
MIN_ROUNDS = 3


def hunted(step: Callable[..., object], rounds: int, calls: int, warmup: int) -> HuntReport:
    """Run the hunt."""
    if rounds < MIN_ROUNDS or calls < 1 or warmup < 0:
        raise UsageError(f"no_growth(rounds={rounds}, calls={calls}, warmup={warmup}): {MIN_ROUNDS} rounds at least")
    schedule = Schedule(warmup, (calls,) * rounds, (), (), recorded=1, collector=min(5, calls), watched=min(5, calls))
    return hunt_stepper(stepper_of(step), getattr(step, "__qualname__", "a callable"), None, True, schedule)


def verdict_text(report: HuntReport, cycles: str, verbosity: int = 0) -> str:
    """Return the message of a failed assertion; empty if nothing grows."""
    if report.verdict is HuntVerdict.INCONCLUSIVE:
        return f"it is unknown whether anything grows: {report.trouble or 'a planted control was misjudged'}"
    found = [one for one in report.findings if cycles == "fail" or not is_waiting(one)]
    if not found:
        return ""
    checked = Checked(report.target, entries=tuple(map(Entry, found)))
    return messages.failure(checked, verbosity).replace("a run:", "a call:")
