"""The hunt in the process that runs the program."""

from __future__ import annotations

import itertools
import os
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import CodeType

from gradlife import _heap
from gradlife.errors import EXIT_COULD_NOT_TELL
from gradlife.hunting.findings.main_source import program_of
from gradlife.hunting.process.memory_limits import Memory, peak_of
from gradlife.hunting.process.oom_reserve import Reserve
from gradlife.hunting.process.rank import add_line
from gradlife.hunting.process.settings import ANSWER, END, INTERIM, Settings, refuse
from gradlife.hunting.process.shared_memory import note_shared_memory
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.hunting.session.last_snapshot import Returns
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import (
    EarlyJudge,
    report_while_running,
    with_kept_results,
    with_late_growth,
    with_uncollected,
)
from gradlife.hunting.session.step_counter import Counter, end_program
from gradlife.hunting.steps.graph_mark import GraphMark
from gradlife.hunting.steps.intervals import INTERVAL
from gradlife.hunting.steps.later_passes import LaterPasses
from gradlife.hunting.steps.listening import hear_torch
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.sampling import Sampling
from gradlife.hunting.steps.schedule import MIN_ROUNDS, schedule_for
from gradlife.hunting.steps.targets import (
    FunctionTarget,
    Stepper,
    load,
)
from gradlife.hunting.workers.install import hunt_in_workers
from gradlife.model import hunt_codec
from gradlife.model.hunt import FindingKind, HuntReport, HuntVerdict, Severity
from gradlife.program.child import Child, guarded
from gradlife.program.hunt.report_notes import (
    compared_with_ranks,
    trouble_of,
    with_arguments,
    with_failure,
    with_limit,
    with_owners,
    with_steps_named,
)
from gradlife.program.last_report import undisturbed
from gradlife.program.progress import BEGUN, MOST_TYPES, StepProgress
from gradlife.program.script import (
    Ended,
    Program,
)

#: Called when a hunt knows enough, with a function that makes its report; yields how many more steps it wants.
AfterRounds = Callable[[Hunt, Callable[[], HuntReport]], Iterator[int]]


class HuntChild(Child):
    """The hunt in the process that runs the program."""

    def __init__(self, settings: Settings, after_rounds: AfterRounds | None = None) -> None:
        super().__init__(settings)
        self._after_rounds = after_rounds
        self._hunt = self._new_hunt()
        self._reserve = Reserve()
        self._has_ended = False
        self._stepped_by = ""
        self._answered: HuntReport | None = None
        self._is_final = False  # whether the answer stays, whatever later steps show
        self._step: Callable[[], bool] | None = None
        self._has_followed = False
        self._is_script = True
        self._lock = threading.RLock()
        self._returns: Returns | None = None
        self._sampling: Sampling | None = None
        self._is_sampled = False  # steps were found by sampling; better ones may replace them
        self._confirmations = 0  # sampled steps since a leak was found
        self._earlier: HuntReport | None = None  # what steps showed before better ones replaced them
        self._step_seconds: float | None = None  # length of a step where steps are time intervals
        self._trained = GraphMark()
        self._later = LaterPasses(self._look_later, lambda: self._hunt.later.forget())

    # --- targets ---

    def _prepare(self) -> None:
        """Begin the hunt. A rank is hunted in even if no step comes."""
        super()._prepare()
        memory = Memory(self._settings.memory_limit) if self._is_unwatched_rank else None
        InterimReport(self, self._settings.requests, memory, self.announce_progress).start()
        if not self._is_launched:
            hunt_in_workers(self._settings.folder, self._leave_to_worker)

    def _status(self, ended: Ended) -> int:
        """Return the exit status: the program's own, or that of an unknown result if its last report was lost."""
        self._hunt.close()
        return ended.status or (EXIT_COULD_NOT_TELL if self._lost == END else 0)

    def _run_function(self, target: FunctionTarget) -> Ended:
        self._is_script = False
        found: list[Stepper] = []
        ended = guarded(lambda: found.append(load(target)))
        if not found:
            self._leave_at_end(ended.status, ended.error)
            return ended
        self._announce(BEGUN)
        return self._run_steps(found[0], target.function)

    def _run_steps(self, stepper: Stepper, name: str) -> Ended:
        self._hunt.schedule = schedule_for(self._settings.steps, is_endless=True, in_step=self._settings.in_step)
        loop = loop_for(stepper)

        def run() -> None:
            state = stepper.setup() if stepper.setup is not None else None
            done = self.begin(f"call of {name}")
            loop(state, stepper.step, itertools.count(), lambda: done() or self._answered is not None)
            if stepper.teardown is not None:
                stepper.teardown(state)

        ended = guarded(run)
        self._leave_at_end(None if ended.status == 0 else ended.status, ended.error)
        return ended

    def _hear(self) -> None:
        self._hear_torch(Sampling())

    def _hear_in(self, program: Program) -> CodeType:
        """Listen to torch, and look for steps by sampling; return the code to run.

        A launcher waits for the processes that it starts, so time is no step there. Ranks do not sample: they must not
        find different steps.
        """
        self._sampling = Sampling()
        self._hear_torch(self._sampling, is_alone=not self._settings.in_step)
        if self._settings.in_step:
            return program.code
        by_time = None if self._is_launcher else self._begin_by_time
        return self._sampling.start(self._begin_sampled, by_time, program_of(program.code, program.source))

    def _hear_torch(self, sampling: Sampling, *, is_alone: bool = False) -> None:
        hear_torch(
            self._begin_again,
            self._go_on,
            sampling,
            has_answer=self._has_answer,
            begin_rarer=self._begin_rarer,
            is_alone=is_alone,
            on_training=self._note_training,
            on_other_step=self._look_at_other,
        )

    # --- copies of this process ---

    def _stay_alone(self) -> None:
        """Keep processes that the program starts out of the hunt, and make `os._exit` leave a report."""
        super()._stay_alone()
        _heap.call_before_exit(self._leave_before_exit)

    def _leave_before_exit(self, status: int) -> None:
        if not self._is_copy and not self._has_ended:
            self._leave_at_end(status, None)

    def _become_copy(self) -> None:
        """Stop counting steps in a fork of the hunted process. A fork made by the hunt itself takes none anyway."""
        super()._become_copy()
        if self._returns is not None:
            self._returns.stop()
        if self._sampling is not None:
            self._sampling.leave_copy()
        self._later.stop()
        if self.counter is not None:
            self.counter.left = -1

    def _leave_to_worker(self) -> None:
        """End this hunt in a forked worker, which gets a hunt of its own. Locks of this hunt may be held for ever."""
        self._lock = threading.RLock()
        self._hunt.close()
        if self.counter is not None:
            self.counter.abandon()

    # --- stepping ---

    def _begin_again(self, stepped_by: str) -> Callable[[], bool]:
        with self._lock:
            if self._is_over or self._is_copy:
                return lambda: True
            if not self._may_step():  # another process is hunted in
                self._is_copy = True
                return lambda: True
            if self.counter is not None:
                self.counter.end()
                self._hunt.close()
                self._hunt = self._new_hunt()
            self._earlier = self._answered if self._is_sampled and self._is_final else None
            self._is_sampled = self._is_final = False
            self._answered = None
            return self.begin(stepped_by)

    def _has_answer(self) -> bool:
        """Whether the steps so far have given an answer. Sampled ones give none: better steps replace them."""
        return self._answered is not None and not self._is_sampled

    @property
    def _is_over(self) -> bool:
        """Whether better steps come too late: a leak is known. Sampled steps, or steps that find nothing, may be those that
        only prepare the data of a training that follows.
        """
        if self._answered is None:
            return False
        if self._is_sampled:
            return self._is_final and any(one.per_step.keeps_graphs for one in self._answered.findings)
        return not self._hunt.goes_on

    def _begin_by_time(self, stepped_by: str) -> Callable[[int], bool]:
        """Count intervals of time, those too that are over when the hunt is back from a snapshot."""
        with self._lock:
            before = self.counter
            step = self._begin_sampled(stepped_by, is_time=True)
            counter = self.counter if self.counter is not before else None

        def count(intervals: int) -> bool:
            if counter is not None:
                counter.count_passed(intervals - 1)
            return step()

        return count

    def _begin_sampled(self, stepped_by: str, *, is_time: bool = False) -> Callable[[], bool]:
        """Count steps that were found by sampling. Better ones may replace them until a leak is confirmed."""
        with self._lock:
            if (self._stepped_by and not self._is_sampled) or self._is_final:
                return lambda: True
            earlier, before = self._answered, self.counter
            step = self._begin_again(stepped_by)
            if self.counter is None or self.counter is before:
                return step
            self._is_sampled, self._earlier, self._confirmations = True, earlier, 0
            self._step_seconds = INTERVAL if is_time else None
            plain = self.counter.step if is_time else step

        def step_and_confirm() -> bool:
            is_done = plain()
            if is_done and self._is_sampled and not self._is_final:
                self._confirm()
            return is_done

        return step_and_confirm

    def _confirm(self) -> None:
        """Make a leak final after as many steps again, unless better steps have been found by then."""
        self._confirmations += 1
        if self._answered is not None and self._confirmations >= self._hunt.steps:
            self._is_final = True
            self._write(self._answered, ANSWER)

    def _go_on(self, stepped_by: str) -> Callable[[], bool]:
        """Continue the same hunt with the steps of another optimizer.

        The first time, growth so far is reported: the other optimizer's steps may not show it.
        """
        if self._step is None:
            return self._begin_again(stepped_by)
        is_first, self._has_followed = not self._has_followed, True
        report = self._leak_so_far() if is_first else None
        if report is not None:
            self._hunt.close()
            self._answered = report
            self._is_final = True
            self._write(report, ANSWER)
        return self._step

    def _begin_rarer(self, stepped_by: str) -> Callable[[], bool]:
        """Begin anew with steps that come less often. Growth so far is the answer if there are too few of them."""
        with self._lock:
            earlier = self._leak_so_far() or self._earlier
            step = self._begin_again(stepped_by)
            self._earlier = earlier or self._earlier
        return step

    def _look_at_other(self, optimizer: int) -> None:
        """Take a snapshot after the step of an optimizer that does not count, once."""
        hunt = self._hunt
        if self._answered is not None or self._is_copy or not hunt.others.wants(optimizer, len(hunt.snapshots)):
            return
        with self._lock, hunt.clock.paused():
            hunt.others.look(optimizer, hunt.steps_now)

    def _note_training(self) -> None:
        self._trained.set()
        if self._is_script and not self._settings.in_step and not self._is_copy:
            self._later.note_training_step()

    def _look_later(self, passes: int) -> None:
        """Take a snapshot after so many passes without a training step, unless it can change nothing."""
        if self._is_copy or self._is_sampled or (self._answered is not None and not may_add(self._answered)):
            return
        with self._lock, self._hunt.clock.paused():
            self._hunt.later.look(passes)

    def _leak_so_far(self) -> HuntReport | None:
        """The report of a hunt without an answer, if it shows a leak that later steps do not make worse."""
        if self._answered is not None or self._is_sampled or self._is_copy or len(self._hunt.snapshots) <= MIN_ROUNDS:
            return None
        report = self._report_while_running()
        return report if report.verdict is HuntVerdict.LEAK and not may_add(report) else None

    def _new_hunt(self) -> Hunt:
        schedule = schedule_for(
            self._settings.steps, is_endless=False, in_step=self._settings.in_step, may_be_short=True
        )
        hunt = Hunt(schedule, records_from_start=self._settings.lines)
        hunt.on_snapshot = self._note_snapshot
        if self._settings.in_step:
            hunt.on_long_rounds = lambda: self._write(self._report(None, None), INTERIM)
        if self._after_rounds is not None:
            after_rounds = self._after_rounds
            hunt.after_rounds = lambda hunt: after_rounds(hunt, lambda: self._report(None, None))
        return hunt

    def _note_snapshot(self, steps: int, began: float, ended: float) -> None:
        note_shared_memory(self._settings.folder)
        if self._settings.in_step:
            add_line(self._settings.folder, f"snapshot {steps} {began:.6f} {ended:.6f}")

    def begin(self, stepped_by: str) -> Callable[[], bool]:
        """Start counting steps; return the function to call at each step."""
        self._stepped_by = stepped_by
        self._hunt.make_early_report = EarlyJudge(self._hunt, self._facts(None, None))
        counter = self.counter = Counter(self._hunt, self._lock)
        counter.on_done = self._answer
        counter.on_step = self._trained.set
        if self._settings.steps is None:
            self._hunt.on_known = self._answer
        step = self._returns_around(counter.step) if self._is_script else counter.step
        self._step = with_cuts(self._settings.cuts, step) if self._settings.cuts else step
        return self._step

    def _returns_around(self, step: Callable[[], bool]) -> Callable[[], bool]:
        if self._returns is not None:
            self._returns.stop()
        self._returns = Returns(self._hunt, self._lock)
        return self._returns.around(step)

    def _answer(self) -> None:
        if self._answered is None:
            self._answered = self._report_while_running()
            self._hunt.goes_on = self._is_script and may_add(self._answered) and self._settings.steps is None
            self._is_final = not self._hunt.goes_on and not self._is_sampled
            report = with_uncollected(self._hunt, self._answered, self._settings.memory_limit)
            self._write(report, ANSWER if self._is_final else INTERIM)
        if self._settings.steps is not None:
            end_program(may_raise=not self._is_sampled)  # the steps of a server are sampled

    # --- reports ---

    def _leave_at_end(self, status: int | None, error: BaseException | None) -> None:
        """Write the last report; an impatient second interrupt does not lose it."""
        with undisturbed():
            self.leave(END, status, error)
            return
        refuse(self._settings.folder)  # that there is no report was printed

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write a report of what is known, and notify the watching process."""
        if self._is_copy or not self._is_mine():
            return
        with self._lock:
            if moment == INTERIM and self._has_ended:  # requested before the end, but too late
                return
            self._has_ended = self._has_ended or moment == END
            if self._settings.in_step:
                add_line(self._settings.folder, f"peak {peak_of(os.getpid())}")
            report = self._report(status, error)
            if moment == INTERIM and not report.findings:
                report = with_owners(report)
            self._write(report, moment)

    def _progress(self) -> StepProgress:
        hunt = self._hunt
        types = sorted({name.rpartition(".")[2] for name in hunt.suspects.types})[:MOST_TYPES] if hunt.suspects else ()
        return StepProgress(self._stepped_by, hunt.steps_now, len(hunt.snapshots), tuple(types), self._has_ended)

    def _write(self, report: HuntReport, moment: str) -> None:
        self._write_text(hunt_codec.dumps(report), moment)

    def _report(self, status: int | None, error: BaseException | None) -> HuntReport:
        numbers = self._trained.since if self._has_ended else range(0)
        passes = self._later.number
        report = self._report_while_running(status, error)
        with self._lock:
            if self._is_script and not self._settings.in_step and may_add(report):
                report = with_kept_results(self._hunt, report, numbers, passes, self._settings.memory_limit)
            return with_uncollected(self._hunt, report, self._settings.memory_limit)

    def _report_while_running(self, status: int | None = None, error: BaseException | None = None) -> HuntReport:
        """Build the report. Cycles may wait for a collection that is still to come."""
        if error is not None:
            self._reserve.release()
        facts = self._facts(status, error)
        with self._lock:
            if self._answered is None:
                report = safely(self._hunt, facts)
                report = compared_with_ranks(self._hunt, report) if self._settings.in_step else report
            else:  # the hunt has its answer
                report = replace(self._answered, script_status=status, trouble=facts.trouble or self._answered.trouble)
                is_open = may_add(report) and not self._is_final
                report = with_late_growth(self._hunt, report, facts.memory_limit) if is_open else report
            report = with_arguments(report, len(self._settings.arguments))
            if self._is_sampled:
                report = with_steps_named(report, self._step_seconds)
            if report.verdict is HuntVerdict.INCONCLUSIVE and self._earlier is not None:
                trouble = facts.trouble or self._earlier.trouble  # that there are few of the later steps is none
                report = replace(self._earlier, script_status=status, trouble=trouble)
            report = with_limit(report, facts.memory_limit)
            return report if error is None else with_failure(report, error)

    def _facts(self, status: int | None, error: BaseException | None) -> TargetFacts:
        return TargetFacts(
            self._settings.target,
            self._stepped_by,
            status,
            trouble_of(error, self._hunt.steps_now),
            self._is_script,
            has_failed=error is not None,
            memory_limit=self._settings.memory_limit,
            step_on=self._settings.step_on,
        )


def may_add(report: HuntReport) -> bool:
    """Whether later steps may change a report: a minor leak does not hide a worse one that comes once an epoch, and what
    the program may empty is no leak if it does.
    """
    growing = [one for one in report.findings if one.kind is not FindingKind.NEEDS_GC and not one.emptied_at]
    is_minor = not any(one.severity.is_at_least(Severity.MAJOR) for one in growing)
    return report.verdict is not HuntVerdict.INCONCLUSIVE and is_minor


def with_cuts(cuts: str, step: Callable[[], bool]) -> Callable[[], bool]:
    """Return a step function that first cuts references."""
    from gradlife.hunting.findings.reference_cuts import load_cuts
    from gradlife.program.hunt.reference_cutter import cutting

    return cutting(load_cuts(cuts), step)


def safely(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Return the report. An error of gradlife's own becomes its trouble, so that the program goes on."""
    try:
        return report_while_running(hunt, facts)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"the hunt itself failed: {type(error).__name__}: {error} ({os.path.basename(place.filename)}:{place.lineno})"
        return HuntReport(facts.target, facts.stepped_by, hunt.warmup_steps, (), (), trouble=words)
