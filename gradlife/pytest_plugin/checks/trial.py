"""Check whether a marked test leaks, by repeating it.

First pass: some counted runs, each followed by a count of the new objects that it left. If every run left something, a
second pass hunts for it: more runs in rounds, with a heap snapshot after each round.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport
from gradlife.pytest_plugin.checks.gc_boundary import Boundary, NewObjects, alive
from gradlife.pytest_plugin.checks.repeats import NotRepeatable, Repeats
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Run, Verdict
from gradlife.pytest_plugin.settings.marks import Terms
from gradlife.safe_access import LibraryObject, member

#: The lengths of the second pass's rounds, in runs: the first choice that fits into MAX_SECONDS. Longer rounds are
#: better, because objects that the program drops now and then, such as an epoch's results, are gone by their end.
ROUNDS = ((5, 7, 7, 11), (2, 3, 3, 5), (1, 1, 1, 1))
SURE_ROUNDS = ((11, 19), (5, 8), (2, 2))  # if every counted run left a living tensor
MAX_SECONDS = 3.0

#: Number of hunts of one test, until one judges its own controls correctly.
MAX_HUNTS = 3

#: The share of the surviving tensors that findings must explain. Some may be objects that the program drops later.
MIN_EXPLAINED = 0.8

#: Runs of the round with the collector disabled, and of the round that watches which tensors the test reads.
COLLECTOR_OFF_RUNS = 3
READ_WATCH_RUNS = 3

#: No torch object is smaller, its smallest block included.
MIN_BYTES = 104

#: A run that replaces an object by a larger one adds at least this many bytes: a few numbers.
MIN_INPLACE_GROWTH = 32

#: Why a result is inconclusive.
BLIND = "the collector was frozen or thawed while the test ran: new objects cannot be distinguished from old ones"


class Trial:
    """One test that can be repeated. Its first run is pytest's own."""

    def __init__(self, nodeid: str, repeats: Repeats, terms: Terms, new_objects: NewObjects) -> None:
        self._nodeid = nodeid
        self._repeats = repeats
        self._terms = terms
        self._new_objects = new_objects

    def result(self) -> Checked:
        """Run the test as often as needed. An exception in a repeat makes the result `NOT_REPEATABLE`."""
        result = Checked(self._nodeid)
        try:
            self._repeats.settle()
            start, counted = self._run_counted()
            if start.is_unusable or any(one.is_unusable for one in counted):
                return replace(result, verdict=Verdict.INCONCLUSIVE, trouble=BLIND)
            result = replace(result, runs=tuple(runs_of(start, counted)))
            if is_growing(result.runs):
                found = with_hunt(result, self._hunt(result.runs, SURE_ROUNDS, is_known=True))
                if explains(found, result.runs):
                    return found
            if not is_suspect(result.runs, start, counted):
                return result
            return with_hunt(result, self._reliable_hunt(result.runs))
        except NotRepeatable as error:
            return replace(result, verdict=Verdict.NOT_REPEATABLE, trouble=str(error))

    def _run_counted(self) -> tuple[Boundary, list[Boundary]]:
        """Warm up, then run the test as often as requested. Return the boundary before these runs and that after each."""
        if self._terms.warmup > 1:
            self._new_objects.start_over()
        for _ in range(1, self._terms.warmup):
            self._repeats.again()
        first = self._new_objects.boundary()
        start, counted = (first, []) if self._terms.warmup else (self._new_objects.start, [first])
        while len(counted) < self._terms.repeat:
            self._repeats.again()
            counted.append(self._new_objects.boundary())
        return start, counted

    def _reliable_hunt(self, runs: Sequence[Run]) -> HuntReport:
        """Hunt until the hunt judges its own controls (leaks that it plants) correctly, at most `MAX_HUNTS` times.

        A hunt sometimes misses a control, because new objects reuse the addresses of old ones.
        """
        for _ in range(MAX_HUNTS - 1):
            report = self._hunt(runs, ROUNDS)
            if report.rounds and all(one.is_right for one in report.controls):
                return report
        return self._hunt(runs, ROUNDS)

    def _hunt(self, runs: Sequence[Run], choices: Sequence[tuple[int, ...]], is_known: bool = False) -> HuntReport:
        """Hunt once, with the first of the `choices` of rounds that fits into `MAX_SECONDS`.

        With ``is_known`` the hunt only names what grows; that something grows is known.
        """
        has_cycles = all(run.waiting for run in runs)
        rounds = next((one for one in choices if sum(one) * self._repeats.seconds_a_run < MAX_SECONDS), choices[-1])
        schedule = Schedule(
            warmup=0,
            rounds=rounds,
            extension=(),
            confirmation=(),
            recorded=1,
            collector=COLLECTOR_OFF_RUNS if has_cycles else 0,
            watched=READ_WATCH_RUNS,
            is_known=is_known,
        )
        hunt = Hunt(schedule, records_from_start=True, has_natives=not any(run.tensors or run.others for run in runs))
        try:
            for count in hunt.plan():
                for _ in range(count):
                    self._repeats.again()
            return report_of(hunt, TargetFacts(self._nodeid, "one run of the test", is_test=True, rounds=len(rounds)))
        finally:
            hunt.close()


def runs_of(start: Boundary, counted: Sequence[Boundary]) -> Iterator[Run]:
    """Yield how much each counted run left that is still alive after the last run."""
    for before, after in itertools.pairwise([start, *counted]):
        more = (after.malloc or 0) - (before.malloc or 0)
        yield Run(alive(after.tensors), alive(after.others), after.collected, more)


def is_growing(runs: Sequence[Run]) -> bool:
    """Whether every run left a living tensor, and at least one run left no garbage cycles."""
    return all(run.tensors for run in runs) and not all(run.waiting for run in runs)


def explains(found: Checked, runs: Sequence[Run]) -> bool:
    """Whether the findings have about as many tensors per run as the counted runs left."""
    tensors_per_run = min(run.tensors for run in runs)
    return sum(one.finding.per_step.tensors for one in found.entries) >= tensors_per_run * MIN_EXPLAINED


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
    """Whether the runs may have replaced an object by ever larger ones: malloc has handed out enough memory for that.

    The memory of an accelerator does not come from malloc, so there the answer is always yes.
    """
    last = counted[-1]
    if start.malloc is None or last.malloc is None or has_accelerator():
        return True
    return last.malloc - start.malloc >= MIN_INPLACE_GROWTH * len(counted)


def has_accelerator() -> bool:
    """Whether torch has memory outside malloc."""
    known: LibraryObject = member("torch", "accelerator") or member("torch", "cuda")
    return known is not None and bool(known.is_available())


def with_hunt(result: Checked, report: HuntReport) -> Checked:
    """Return the result with the verdict and the findings of a hunt."""
    wrong = [one.name for one in report.controls if not one.is_right]
    if report.rests_on_unread and (wrong or not report.findings):
        return replace(result, verdict=Verdict.INCONCLUSIVE, trouble=str(report.unread))
    if wrong or not report.rounds:
        trouble = f"controls judged wrongly: {', '.join(wrong)}" if wrong else report.trouble
        return replace(result, verdict=Verdict.INCONCLUSIVE, trouble=trouble)
    return replace(
        result,
        verdict=Verdict.LEAK if report.findings else Verdict.CLEAN,
        entries=tuple(map(Entry, report.findings)),
        explained=report.explained,
        limits=report.limits,
        unread=report.unread,
    )
