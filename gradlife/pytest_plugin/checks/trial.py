"""Check whether a test leaks: repeat it, and hunt in further repeats for what every counted run leaves behind."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport
from gradlife.pytest_plugin.checks.gc_boundary import Boundary, Young, alive
from gradlife.pytest_plugin.checks.repeats import NotRepeatable, Repeats
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Run, Verdict
from gradlife.pytest_plugin.settings.marks import Terms

#: Runs per round of the second pass, with a snapshot after each round; the first choice that fits the time limit.
#: Longer rounds release objects that accumulate only for a while, such as an epoch's results.
ROUNDS = ((5, 7, 7, 11), (2, 3, 3, 5), (1, 1, 1, 1))
SURE_ROUNDS = ((11, 19), (5, 8), (2, 2))  # if every counted run left a living object
PATIENCE = 3.0

#: Hunts of one test until one is reliable.
TRIES = 3

#: The share of survivors that must be explained: some rounds end in the middle of a program's cycle.
NEARLY = 0.8

#: Runs with the collector disabled, and runs in which reads are watched.
COLLECTOR = 3
WATCHED = 3

#: Bytes below which no torch object fits, even with its smallest block.
MIN_BYTES = 104

#: Bytes per run by which a replaced object must grow: a few numbers more.
MIN_SWELLING = 32

BLIND = "the collector was frozen or thawed while the test ran: new objects cannot be distinguished from old ones"


class Trial:
    """One test that can be repeated. Its first run is pytest's own."""

    def __init__(self, nodeid: str, repeats: Repeats, terms: Terms, young: Young) -> None:
        self._nodeid = nodeid
        self._repeats = repeats
        self._terms = terms
        self._young = young

    def result(self) -> Checked:
        """Run the test as often as needed; never raises what the repeats raise."""
        plain = Checked(self._nodeid)
        try:
            self._repeats.settle()
            start, counted = self._counted()
            if start.is_blind or any(one.is_blind for one in counted):
                return replace(plain, verdict=Verdict.INCONCLUSIVE, trouble=BLIND)
            plain = replace(plain, runs=tuple(runs_of(start, counted)))
            if is_growing(plain.runs):
                found = judged(plain, self._hunt(plain.runs, SURE_ROUNDS, is_known=True))
                if explains(found, plain.runs):
                    return found
            return judged(plain, self._hunted(plain.runs)) if is_suspect(plain.runs, start, counted) else plain
        except NotRepeatable as error:
            return replace(plain, verdict=Verdict.NOT_REPEATABLE, trouble=str(error))

    def _counted(self) -> tuple[Boundary, list[Boundary]]:
        """Warm up, then run the test as often as requested, with a boundary after each run."""
        if self._terms.warmup > 1:
            self._young.begin_again()
        for _ in range(1, self._terms.warmup):
            self._repeats.again()
        first = self._young.boundary()
        start, counted = (first, []) if self._terms.warmup else (self._young.start, [first])
        while len(counted) < self._terms.repeat:
            self._repeats.again()
            counted.append(self._young.boundary())
        return start, counted

    def _hunted(self, runs: Sequence[Run]) -> HuntReport:
        """Return a hunt that judged its own controls correctly, if possible: a control is sometimes missed when new
        objects reuse old addresses.
        """
        for _ in range(TRIES - 1):
            report = self._hunt(runs, ROUNDS)
            if report.rounds and all(one.is_right for one in report.controls):
                return report
        return self._hunt(runs, ROUNDS)

    def _hunt(self, runs: Sequence[Run], choice: Sequence[tuple[int, ...]], is_known: bool = False) -> HuntReport:
        """Run the second pass, which names the growing objects."""
        has_cycles = all(run.waiting for run in runs)
        rounds = next((one for one in choice if sum(one) * self._repeats.seconds_a_run < PATIENCE), choice[-1])
        schedule = Schedule(0, rounds, (), (), 1, COLLECTOR if has_cycles else 0, WATCHED, is_known)
        hunt = Hunt(schedule, has_lines=True, has_natives=not any(run.tensors or run.others for run in runs))
        try:
            for count in hunt.plan():
                for _ in range(count):
                    self._repeats.again()
            return report_of(hunt, TargetFacts(self._nodeid, "one run of the test", is_test=True, rounds=len(rounds)))
        finally:
            hunt.close()


def runs_of(start: Boundary, counted: Sequence[Boundary]) -> Iterator[Run]:
    """Yield what each counted run left that is alive at the end."""
    for before, after in itertools.pairwise([start, *counted]):
        more = (after.malloc or 0) - (before.malloc or 0)
        yield Run(alive(after.tensors), alive(after.others), after.collected, more)


def is_growing(runs: Sequence[Run]) -> bool:
    """Whether every run left a living tensor, and some run left no garbage."""
    return all(run.tensors for run in runs) and not all(run.waiting for run in runs)


def explains(found: Checked, runs: Sequence[Run]) -> bool:
    """Whether the findings have about as many tensors as the runs left. Objects replaced after more runs than were
    counted are missing.
    """
    least = min(run.tensors for run in runs)
    return sum(one.finding.per_step.tensors for one in found.entries) >= least * NEARLY


def is_suspect(runs: Sequence[Run], start: Boundary, counted: Sequence[Boundary]) -> bool:
    """Whether every run left something, or the last run replaced an earlier object by a larger one."""
    kept = [run.tensors + run.others > 0 for run in runs]
    return (
        all(kept)
        or (kept[-1] and may_grow_in_place(start, counted))
        or all(run.waiting for run in runs)
        or all(run.bytes > MIN_BYTES for run in runs)
        or all(after.plain > before.plain for before, after in itertools.pairwise([start, *counted]))
    )


def may_grow_in_place(start: Boundary, counted: Sequence[Boundary]) -> bool:
    """Whether each run may replace an object by a larger one. Its memory would show in all runs together, except on an
    accelerator.
    """
    last = counted[-1]
    if start.malloc is None or last.malloc is None or has_accelerator():
        return True
    return last.malloc - start.malloc >= MIN_SWELLING * len(counted)


def has_accelerator() -> bool:
    """Whether torch has memory outside malloc."""
    torch = sys.modules.get("torch")
    known = getattr(torch, "accelerator", None) or getattr(torch, "cuda", None)
    return known is not None and bool(known.is_available())


def judged(plain: Checked, report: HuntReport) -> Checked:
    """Return the result of the second pass."""
    wrong = [one.name for one in report.controls if not one.is_right]
    if wrong or not report.rounds:
        trouble = f"controls judged wrongly: {', '.join(wrong)}" if wrong else report.trouble
        return replace(plain, verdict=Verdict.INCONCLUSIVE, trouble=trouble)
    return replace(
        plain,
        verdict=Verdict.LEAK if report.findings else Verdict.CLEAN,
        entries=tuple(map(Entry, report.findings)),
        explained=report.explained,
        limits=report.limits,
    )
