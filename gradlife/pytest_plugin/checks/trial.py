"""Is a test free of leaks? It is run again and again; what every counted run leaves behind is hunted by more runs."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.hunting.session.clean_report import About
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport
from gradlife.pytest_plugin.checks.gc_boundary import Boundary, Young, alive
from gradlife.pytest_plugin.checks.repeats import NotRepeatable, Repeats
from gradlife.pytest_plugin.outcomes.results import Checked, Entry, Run, Verdict
from gradlife.pytest_plugin.settings.marks import Terms

#: Runs of the rounds of the second pass, a look after each; the first that take no longer than so many seconds. What only
#: gathers for a while, an epoch's results say, is let go in longer ones.
ROUNDS = ((5, 7, 7, 11), (2, 3, 3, 5), (1, 1, 1, 1))
SURE_ROUNDS = ((11, 19), (5, 8), (2, 2))  # where every counted run left something that is alive
PATIENCE = 3.0

#: Hunts of one test, until one is to be believed.
TRIES = 3

#: A share of what the runs left that explains it: some rounds end in the middle of what a program does.
NEARLY = 0.8

#: Runs in which the collector rests, and those in which reads are watched.
COLLECTOR = 3
WATCHED = 3

#: Bytes that no object of torch's can hide in: its smallest blocks are larger. A run of a test leaves none in between.
LEAST_BYTES = 104

#: Bytes a run by which what stands in the place of something is larger than that, if it is: a few numbers more.
LEAST_SWELLING = 32

BLIND = "the collector was frozen or thawed while the test ran: new objects cannot be distinguished from old ones"


class Trial:
    """One test that is run again. Its first run is pytest's own."""

    def __init__(self, nodeid: str, repeats: Repeats, terms: Terms, young: Young) -> None:
        self._nodeid = nodeid
        self._repeats = repeats
        self._terms = terms
        self._young = young

    def result(self) -> Checked:
        """Runs the test as often as it takes; never raises what the repeats raise."""
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
        """Warms up, then runs the test as often as was asked for, a boundary after each run."""
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
        """A hunt that judged its own controls rightly, if one of some does: where new objects stand at the addresses of old
        ones, a control is missed now and then.
        """
        for _ in range(TRIES - 1):
            report = self._hunt(runs, ROUNDS)
            if report.rounds and all(one.is_right for one in report.controls):
                return report
        return self._hunt(runs, ROUNDS)

    def _hunt(self, runs: Sequence[Run], choice: Sequence[tuple[int, ...]], is_known: bool = False) -> HuntReport:
        """The second pass: what was seen to grow is named."""
        has_cycles = all(run.waiting for run in runs)
        rounds = next((one for one in choice if sum(one) * self._repeats.seconds_a_run < PATIENCE), choice[-1])
        schedule = Schedule(0, rounds, (), (), 1, COLLECTOR if has_cycles else 0, WATCHED, is_known)
        hunt = Hunt(schedule, has_lines=True, has_natives=not any(run.tensors or run.others for run in runs))
        try:
            for count in hunt.plan():
                for _ in range(count):
                    self._repeats.again()
            return report_of(hunt, About(self._nodeid, "one run of the test", is_test=True, rounds=len(rounds)))
        finally:
            hunt.close()


def runs_of(start: Boundary, counted: Sequence[Boundary]) -> Iterator[Run]:
    """Return what each counted run left that is alive at the end."""
    for before, after in itertools.pairwise([start, *counted]):
        more = (after.malloc or 0) - (before.malloc or 0)
        yield Run(alive(after.tensors), alive(after.others), after.collected, more)


def is_growing(runs: Sequence[Run]) -> bool:
    """Did every run leave a tensor that is alive, and some run nothing that waits for the collector?"""
    return all(run.tensors for run in runs) and not all(run.waiting for run in runs)


def explains(found: Checked, runs: Sequence[Run]) -> bool:
    """Were as many tensors found as the runs left? What was replaced after more runs than were counted is not."""
    least = min(run.tensors for run in runs)
    return sum(one.finding.per_step.tensors for one in found.entries) >= least * NEARLY


def is_suspect(runs: Sequence[Run], start: Boundary, counted: Sequence[Boundary]) -> bool:
    """Did every run leave something, or the last one in the place of what an earlier one left, and more?"""
    kept = [run.tensors + run.others > 0 for run in runs]
    return (
        all(kept)
        or (kept[-1] and may_grow_in_place(start, counted))
        or all(run.waiting for run in runs)
        or all(run.bytes > LEAST_BYTES for run in runs)
        or all(after.plain > before.plain for before, after in itertools.pairwise([start, *counted]))
    )


def may_grow_in_place(start: Boundary, counted: Sequence[Boundary]) -> bool:
    """May what a run puts in the place of something be larger each time? Its memory, or its graph's, would show in all runs
    together; that of an accelerator would not.
    """
    last = counted[-1]
    if start.malloc is None or last.malloc is None or has_accelerator():
        return True
    return last.malloc - start.malloc >= LEAST_SWELLING * len(counted)


def has_accelerator() -> bool:
    """Is there memory of torch's that malloc knows nothing of?"""
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
