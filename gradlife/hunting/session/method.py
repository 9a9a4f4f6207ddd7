"""The plan of a hunt: warm-up, rounds with a snapshot after each, a round without the collector, and more rounds if
needed.

The plan is a generator. It yields the number of steps to take next and is resumed after them. A loop or an
optimizer's hook takes the steps and only counts down.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from gradlife import _heap
from gradlife.hunting.growth.controls import Controls
from gradlife.hunting.growth.garbage import Waiting, garbage_of, is_waiting
from gradlife.hunting.growth.inplace_growth import Place, replaced_places, tensors_at
from gradlife.hunting.growth.late_growth import last_rounds, places_begun_late
from gradlife.hunting.growth.suspects import (
    CleanResult,
    Slowing,
    Suspects,
    find_slowing,
    find_suspects,
    is_in_doubt,
    types_of,
)
from gradlife.hunting.process.collector import OldObjects, count_foreign, is_off, may_have_young_garbage
from gradlife.hunting.process.forked import CAN_FORK, NICENESS, Answer, Done, in_fork
from gradlife.hunting.process.malloc_usage import Malloc
from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.later_snapshots import LaterSnapshots
from gradlife.hunting.snapshots.native_objects import (
    MIN_NATIVE_SNAPSHOTS,
    Counted,
    Unreached,
    counted,
    grows,
    unreached,
)
from gradlife.hunting.snapshots.other_steps import OtherSteps
from gradlife.hunting.snapshots.stale_activations import StaleActivations, Watch, addresses_of, undeclared
from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot
from gradlife.hunting.steps.schedule import MAX_EXTENSION, MIN_ROUNDS, MIN_SNAPSHOTS, Clock, Schedule
from gradlife.hunting.stores.executed_lines import LineWatch
from gradlife.model.hunt import MIN_MALLOC_BYTES, HuntReport

T = TypeVar("T")
Judged = TypeVar("Judged", Suspects, Slowing)

NOT_COUNTED: Done[Counted | None] = Done(None)

#: Most steps of the warm-up whose lines are recorded.
MAX_TRACED_STEPS = 6

#: Least steps after the last snapshot whose garbage is looked at when the program ends: that of one may be left once.
MIN_LAST_STEPS = 3

#: Late rounds follow the first verdict. Each has at least this many steps, else this share of all steps so far.
LATE_LEAST = 31
LATE_SHARE = 0.3

#: Most late snapshots to keep; when there are more, every other one is dropped.
MAX_LATE_SNAPSHOTS = 16


def late_length(steps: int) -> int:
    """Return the steps of a late round, given the steps so far."""
    return max(LATE_LEAST, int(LATE_SHARE * steps))


@dataclass(frozen=True)
class EarlyReport:
    """A report that was made by the copy that looked at growth last."""

    report: HuntReport
    steps: int
    snapshots: Sequence[StepSnapshot]

    def is_of(self, steps: int, snapshots: Sequence[StepSnapshot]) -> bool:
        """Whether it is the report after this number of steps, with these snapshots."""
        return self.steps == steps and [one.number for one in self.snapshots] == [one.number for one in snapshots]


@dataclass
class Hunt:
    """A hunt under way."""

    schedule: Schedule
    warmup_steps: int = 0
    snapshots: list[StepSnapshot] = field(default_factory=list)
    after_collection: StepSnapshot | None = None  # taken if the last of the snapshots had no full collection before it
    spare: StepSnapshot | None = None  # taken in the warm-up; kept until there are enough rounds without it
    waiting: Waiting | None = None
    natives: list[Unreached] = field(default_factory=list)
    stale_activations: StaleActivations | None = None
    others: OtherSteps = field(default_factory=OtherSteps)
    later: LaterSnapshots = field(default_factory=LaterSnapshots)
    controls: Controls = field(default_factory=Controls)
    clock: Clock = field(default_factory=Clock)
    malloc: Malloc = field(default_factory=Malloc)
    recording: Recording = field(default_factory=Recording)
    creation_sites: CreationSites = field(default_factory=CreationSites)
    records_from_start: bool = False  # record creation sites from the first counted step on
    has_natives: bool = True  # count C++ objects when malloc memory has increased
    suspects: Suspects | None = None  # as of the last time they were determined
    steps: int = 0
    left: Callable[[], int] = lambda: 0  # steps left in the current round
    steps_of_others: Callable[[], int] = lambda: 0  # how many steps other threads took since its last call
    #: The number of steps when the training function returned, and the snapshots of that moment.
    at_return: tuple[int, Sequence[StepSnapshot]] | None = None
    after_rounds: Callable[[Hunt], Iterator[int]] | None = None  # runs when enough is known; may take more steps
    #: Places where each step stores a larger tensor that it did not make of the old one.
    replaced: frozenset[Place] = frozenset()
    _grown_in_place: tuple[Place, ...] = ()
    cut_short_by: str = ""  # why the hunt ended before it knew enough
    _asked_for: int = 0
    _old_objects: OldObjects = field(default_factory=OldObjects)  # frozen in a service until enough is known
    _notes_births: bool = False
    _collections_at_snapshot: int = 0  # of the program, up to the last of the snapshots
    has_paused_collector: bool = False  # whether the round without the collector has run
    has_looked_for_garbage: bool = False  # whether that round or the program's last steps were looked at
    _unfinished_since: StepSnapshot | None = None  # the start of the round without the collector, while it runs
    #: Collections that the program itself ran before the first snapshot; None if the collector was on.
    _foreign_collections: int | None = None
    on_known: Callable[[], None] = lambda: None  # called when enough is known about growth per step
    goes_on: bool = False  # whether late rounds follow, for growth that comes less often than steps
    early_snapshots: int = 0  # snapshots before the late rounds; 0 before the first verdict
    late_length: Callable[[int], int] = late_length  # steps of a late round, given the steps so far
    #: Called after each snapshot with the number of steps, and its begin and end by the clock that ranks share.
    on_snapshot: Callable[[int, float, float], None] = lambda steps, began, ended: None
    on_long_rounds: Callable[[], None] = lambda: None  # called before rounds that a rank may not live to see
    keeps_serving: bool = False  # a service: it takes steps while forked copies of it write and judge snapshots
    make_early_report: Callable[[], HuntReport] | None = None  # called in the copy that looks at growth last
    early_report: EarlyReport | None = None

    def plan(self) -> Generator[int, None, None]:
        """Yield the number of steps to take before it is resumed; end when enough is known."""
        self._note_births()
        self.clock.start()
        yield from self._warm_up()
        self.warmup_steps = self.steps
        self._foreign_collections = count_foreign() if is_off() else None
        if self.records_from_start:
            self.recording.start(USUAL)
        if self.keeps_serving:
            self._old_objects.freeze()
        yield from self._take_snapshot(collect=Collect.ALL)
        for number, length in enumerate(self.schedule.rounds):
            if number + 1 == len(self.schedule.rounds) and (self.schedule.may_end or not self.schedule.recorded):
                yield from self._suspect()
                yield from self._early_watch()
            if number == MIN_ROUNDS and self.schedule.may_end:
                yield from self._collector_rounds_once()
            yield from self._round(length)
            is_last = number + 1 == len(self.schedule.rounds)
            may_stop = is_last or self._is_out_of_patience(number + 1)
            yield from self._take_snapshot(
                with_labels=may_stop and self.recording.is_on,
                collect=self._last_collection if may_stop else Collect.YOUNG,
                counts_natives=is_last and bool(self.natives) and not self.schedule.is_exact,
            )
            if may_stop and not is_last and not (yield from self._judge(self._is_in_doubt)):
                break
        if self.schedule.is_exact:
            yield from self._collector_rounds_once()
        elif self.schedule.rounds:  # there are none if one step was asked for
            yield from self._special_rounds()
        self.recording.stop()
        if self.after_rounds is not None:
            yield from self.after_rounds(self)
        self._old_objects.unfreeze()
        self.early_snapshots = len(self.snapshots)
        self.on_known()
        while self.goes_on:
            yield from self._late_round()

    def _special_rounds(self) -> Iterator[int]:
        """Run the rounds that follow up what the usual ones show. With several ranks, the longest come last."""
        yield from self._padded(self._native_rounds(), self.schedule.rounds[0] * (MIN_NATIVE_SNAPSHOTS - 1))
        if not self.schedule.is_known:
            yield from self._suspect()
        if not self.schedule.in_step:
            yield from self._extension()
        yield from self._padded(self._recorded_round(), self.schedule.recorded)
        yield from self._collector_rounds_once()
        yield from self._padded(self._watched_round(), self.schedule.watched)
        if self.schedule.in_step:
            self.on_long_rounds()
            yield from self._padded(self._extension(), sum(self.schedule.extension + self.schedule.confirmation))

    def _padded(self, rounds: Iterator[int], most: int) -> Iterator[int]:
        """Run rounds. If ranks run in step, fill them up to ``most`` steps, because other ranks may need so many."""
        end = self.steps + most
        yield from rounds
        if self.schedule.in_step:
            yield from self._steps(end - self.steps)

    def _warm_up(self) -> Iterator[int]:
        """Run the warm-up. The first step runs alone: the lines that set things up are not lines of a usual step.

        Lines are recorded in a few of its steps only, because tracing makes a step several times as slow.
        """
        yield from self._steps(min(1, self.schedule.warmup))
        if self.schedule.has_spare:
            self._take_spare()
        watch = LineWatch()
        traced = min(self.schedule.warmup - 1, MAX_TRACED_STEPS)
        watch.start()
        try:
            yield from self._steps(traced)
        finally:
            watch.stop()
        self.creation_sites.executed = watch.lines
        yield from self._steps(self.schedule.warmup - 1 - traced)

    def _take_spare(self) -> None:
        """Take a snapshot without a full collection: most programs take more steps and never need it."""
        self.clock.stop()
        Collect.YOUNG.run()
        self.controls.plant(self.steps, self.steps)
        self.spare = take_snapshot(self.steps, collect=Collect.NOTHING)
        self.clock.start()

    def _late_round(self) -> Iterator[int]:
        """Run a round that is longer than any before, so that there are few however long the program runs.

        No controls are planted. In a service no collection runs, which would stop it for 0.1 s per million objects.
        Garbage does no harm, because late growth counts reachable objects only.
        """
        yield from self._steps(self.late_length(self.steps))
        self.clock.stop()
        if len(self.snapshots) - self.early_snapshots >= MAX_LATE_SNAPSHOTS:
            del self.snapshots[self.early_snapshots + 1 :: 2]
        began = time.monotonic()
        self.count_steps_of_others()
        collect = Collect.NOTHING if self.keeps_serving else Collect.ALL
        waits = not self.keeps_serving
        yield from self._add(take_snapshot(self.steps, with_labels=True, collect=collect, waits=waits), began)
        yield from self._late_watch()

    def _note_births(self) -> None:
        """Let the collector's list show from here on what was born after each snapshot."""
        _heap.begin_births()
        self._notes_births = True

    def close(self) -> None:
        """Remove everything that the hunt left in the program."""
        self._old_objects.unfreeze()
        if self._notes_births:
            _heap.end_births()
            self._notes_births = False
        self.recording.stop()
        self.controls.uproot()

    def settle(self) -> None:
        """Wait for the snapshots that are still being written; leave out one that cannot be written."""
        for one in [*self.snapshots]:
            try:
                one.is_written(waits=True)
            except MemoryError:
                self.snapshots.remove(one)

    def in_copy(self, work: Callable[[], T]) -> T:
        """Return the result of work in a forked copy, with low priority if the program takes steps meanwhile."""
        return in_fork(work, NICENESS if self.keeps_serving else 0)

    def _judge(self, work: Callable[[], T]) -> Generator[int, None, T]:
        """Return the result of work in a forked copy; steps may pass until it is ready."""
        with closing(self._begin(work)) as answer:
            return (yield from self._await(answer))

    def _judge_settled(self, work: Callable[[], Judged]) -> Generator[int, None, Judged]:
        """Judge the snapshots. If the last was spared a full collection that would free something, take it again."""
        found = yield from self._judge(work)
        latest = self.snapshots[-1]
        latest.settle(found.has_old_garbage)
        if latest.is_spared and not latest.is_collected:
            yield from self._take_again()
            self.clock.stop()
            found = yield from self._judge(work)
        return found

    def _begin(self, work: Callable[[], T]) -> Answer[T] | Done[T]:
        """Fork a copy that does the work; wait for its result unless the program is a service."""
        return Answer(work) if self.keeps_serving and CAN_FORK else Done(in_fork(work))

    def _begin_count(self) -> Answer[Counted | None] | Done[Counted | None]:
        """Fork a copy that counts the C++ objects of this moment, while another one takes a snapshot."""
        if CAN_FORK:
            with suppress(OSError):
                return Answer(counted, NICENESS if self.keeps_serving else 0)
        return Done(counted())

    def _await(self, answer: Answer[T] | Done[T]) -> Generator[int, None, T]:
        """Return the result of work that was begun; in a service, steps may pass until it is ready."""
        if not self.keeps_serving:
            answer.wait()
        yield from self._until(lambda: answer.is_there)
        return answer.read()

    def _until(self, is_there: Callable[[], bool]) -> Iterator[int]:
        """Let steps pass, one at a time, until something is there."""
        while not is_there():
            yield from self._steps(1)

    def forget(self) -> None:
        """Drop the snapshots and close their files now rather than at the next collection."""
        for one in self.snapshots:
            if one.file is not None:
                one.file.give_up()
        self.snapshots.clear()
        self.natives.clear()
        self.others.forget()
        self.later.forget()
        self.spare = self.waiting = self.stale_activations = self.suspects = self.after_collection = None

    @property
    def descriptors(self) -> set[int]:
        """Return the descriptors of the files that a copy of this process needs to judge the snapshots."""
        files = [one.file for one in (*self.snapshots, *self.others.snapshots, *self.later.snapshots) if one.file]
        return {number for file in files for number in (file.descriptor, file.notes.descriptor)}

    @property
    def steps_now(self) -> int:
        """Count the steps, including those of the current round."""
        return self.steps + max(0, self._asked_for - max(0, self.left()))

    @property
    def is_uncollected(self) -> bool:
        """Whether the collector is off, and the program has not called it since the first snapshot."""
        return self._foreign_collections is not None and is_off() and count_foreign() == self._foreign_collections

    def count_steps_of_others(self) -> None:
        """Add the steps that other threads took while the thread that ended the round was stopped."""
        self.steps += self.steps_of_others()

    def _steps(self, count: int) -> Iterator[int]:
        if count < 1:
            return
        self._asked_for = count
        yield count
        self._asked_for = 0
        self.steps += count

    def _round(self, length: int) -> Iterator[int]:
        """Run the steps of a round. Malloc is measured from its second step on."""
        yield from self._steps(1)
        self.malloc.begin_round(self.steps)
        yield from self._steps(length - 1)

    def _is_out_of_patience(self, rounds: int) -> bool:
        """Whether a slow program has had enough rounds for a verdict. The caller ends them only if nothing is in doubt,
        so that a verdict does not depend on the machine's speed.
        """
        return rounds >= MIN_ROUNDS and self.clock.seconds > self.schedule.patience

    def _take_snapshot(
        self, with_labels: bool = False, collect: Collect = Collect.ALL, counts_natives: bool = False
    ) -> Iterator[int]:
        """Take a snapshot. C++ objects are counted in a copy that is forked just before: no step passes between."""
        self.clock.stop()
        began = time.monotonic()
        self.count_steps_of_others()
        steps = self.steps - (self.snapshots[-1].steps if self.snapshots else 0)
        collect.run()
        self.malloc.end_round(self.steps)
        self.controls.plant(steps, self.steps)
        may_be_last = self.schedule.may_end or (self.keeps_serving and collect is Collect.ALL)
        with_labels |= may_be_last and len(self.snapshots) >= MIN_ROUNDS
        counts_natives |= self.has_natives and not self.natives and self.malloc.keeps_changing
        with closing(self._begin_count() if counts_natives else NOT_COUNTED) as count:
            latest = self._recorded(with_labels, collect)
            yield from self._add(latest, began)
            yield from self._keep_count(count, latest)

    def _take_again(self) -> Iterator[int]:
        """Take the last snapshot again, after a full collection. No step has run since."""
        self.clock.stop()
        began = time.monotonic()
        before = self.snapshots.pop()
        Collect.ALL.run()
        self.malloc.measure(self.steps)
        yield from self._add(self._recorded(before.has_labels, Collect.ALL), began)

    def _recorded(self, with_labels: bool, collected: Collect) -> StepSnapshot:
        """Record the heap, after this collection."""
        latest = take_snapshot(
            self.steps,
            with_labels=with_labels,
            collect=Collect.NOTHING,
            waits=not self.keeps_serving,
            earlier=next(iter(self.snapshots), None),
        )
        latest.is_collected, latest.is_spared = collected is Collect.ALL, collected is Collect.SPARED
        latest.malloc_per_step = self.malloc.per_step
        latest.new_workers, latest.threads = self.malloc.new_workers, self.malloc.threads.threads
        self.keep_creation_sites(latest)
        return latest

    @property
    def _last_collection(self) -> Collect:
        """The collection before the last of some rounds that are judged next."""
        may_spare = self.suspects is not None and not self.suspects.has_old_garbage
        is_judged = not (self.keeps_serving or self.schedule.in_step or self.schedule.is_known)
        return Collect.SPARED if may_spare and is_judged else Collect.ALL

    def _add(self, latest: StepSnapshot, began: float) -> Iterator[int]:
        """Add a new snapshot."""
        self.snapshots.append(latest)
        self._collections_at_snapshot = count_foreign()
        if len(self.snapshots) > MIN_ROUNDS:
            self.spare = None
        self.on_snapshot(self.steps, began, time.monotonic())
        self.clock.start()
        yield from self._until(latest.is_written)

    def keep_creation_sites(self, latest: StepSnapshot) -> None:
        """Keep the creation sites recorded up to a new snapshot."""
        if latest.has_labels and self.recording.is_on:
            self.creation_sites.add(latest, self.recording.sites())

    def _keep_count(
        self, count: Answer[Counted | None] | Done[Counted | None], snapshot: StepSnapshot
    ) -> Iterator[int]:
        """Keep how many of the C++ objects that were counted are not in the snapshot of the same moment."""
        try:
            found = yield from self._await(count)
        except MemoryError:
            return
        if found is not None:
            self.natives.append((yield from self._judge(lambda: unreached(found, snapshot))))

    def _native_rounds(self) -> Iterator[int]:
        """Add rounds if memory that nothing reaches has increased, to see whether it grows."""
        if not self.natives:
            return
        if self.natives[-1].steps != self.snapshots[-1].steps and not self.keeps_serving:
            yield from self._keep_count(self._begin_count(), self.snapshots[-1])
        for _ in range(MIN_NATIVE_SNAPSHOTS - len(self.natives)):
            if len(self.natives) > 1 and not grows(*self.natives[-2:]):
                return
            yield from self._round(self.schedule.rounds[0])
            yield from self._take_snapshot(counts_natives=True)

    def _extension(self) -> Iterator[int]:
        """Run longer rounds if something grows, to tell growth from a cache that fills slowly.

        If nothing slows down, they only make the rate more exact and are left out if they take long.
        """
        if self.suspects is None or not self.suspects.has_growth or not self.schedule.extension:
            yield from self._rounds_of_new_work()
            return
        if self._affords(self.schedule.extension) or self.suspects.has_slowing_growth:
            yield from self._longer(self.schedule.extension, self._last_collection)
            if (yield from self._slows()):
                yield from self._longer(self.schedule.confirmation)

    def _rounds_of_new_work(self) -> Iterator[int]:
        """Run longer rounds while malloc's bytes grow and threads do new work, to see whether both end."""
        for length in self.schedule.extension + self.schedule.confirmation:
            last = self.snapshots[-MIN_ROUNDS:]
            if (last[-1].malloc_per_step or 0.0) < MIN_MALLOC_BYTES or not any(one.new_workers for one in last):
                return
            yield from self._longer((length,))

    def _longer(self, lengths: tuple[int, ...], collect: Collect = Collect.ALL) -> Iterator[int]:
        for length in lengths:
            yield from self._round(length)
            is_last = length == lengths[-1]
            yield from self._take_snapshot(with_labels=is_last, collect=collect if is_last else Collect.YOUNG)

    def _affords(self, lengths: tuple[int, ...]) -> bool:
        return self.clock.seconds / max(1, self.steps) * sum(lengths) <= MAX_EXTENSION

    def _suspect(self) -> Iterator[int]:
        """Find out what grows or seems to, apart from controls, and record where its types are created from here on."""
        self.clock.stop()
        self.suspects = yield from self._judge_settled(lambda: find_suspects(self.snapshots, self.controls))
        self._grown_in_place = self.suspects.grown_in_place
        if self.suspects.clean is None:
            self.recording.start(self.suspects.types)
        self.clock.start()

    @property
    def clean_result(self) -> CleanResult | None:
        """The result if no snapshot shows a leak; None if one does or if not all are judged yet."""
        found = self.suspects.clean if self.suspects is not None and not self.suspects.has_small_growth else None
        is_whole = found is not None and MIN_SNAPSHOTS <= found.snapshots == len(self.snapshots)
        return found if is_whole else None

    def _recorded_round(self) -> Iterator[int]:
        """Add a round to record creation sites, if none was recorded."""
        if self.recording.is_on and self.schedule.recorded and not self.creation_sites:
            yield from self._round(self.schedule.recorded)
            yield from self._take_snapshot(with_labels=True)

    def _slows(self) -> Generator[int, None, bool]:
        """Whether anything grows less in every round. If nothing does and no step is to follow, the report is made, too."""
        found = yield from self._judge_settled(self._find_slowing)
        if found.report is not None:
            self.early_report = EarlyReport(found.report, self.steps, [*self.snapshots])
        return found.is_any

    def _find_slowing(self) -> Slowing:
        found = find_slowing(self.snapshots, self.controls)
        self.snapshots[-1].settle(found.has_old_garbage)
        is_final = not found.is_any and self._ends_with_extension and self.snapshots[-1].is_collected
        if is_final and self.make_early_report is not None:
            with suppress(Exception):  # it fails again when the report is asked for, and is reported then
                return replace(found, report=self.make_early_report())
        return found

    @property
    def _ends_with_extension(self) -> bool:
        """Whether no round follows the extension."""
        is_recorded = bool(self.creation_sites) or not (self.recording.is_on and self.schedule.recorded)
        is_watched = not self._grown_in_place and self.suspects is not None and not self.suspects.fresh_attributes
        return is_recorded and is_watched and (self.has_paused_collector or not self.schedule.collector)

    def _is_in_doubt(self) -> bool:
        return is_in_doubt(self.snapshots, self.controls)

    def _collector_rounds_once(self) -> Iterator[int]:
        """Run the steps without the collector, once per hunt."""
        if self.schedule.collector and not self.has_paused_collector:
            most = self.schedule.collector * (2 if self.schedule.recorded else 1)
            yield from self._padded(self._collector_rounds(), most)

    def _collector_rounds(self) -> Iterator[int]:
        """Run a few steps without the collector to see what waits for it, then a few more to see where that is created."""
        self.has_paused_collector = True
        yield from self._steps_without_collector(self.snapshots[-1])
        first = self.waiting
        if first is not None and not self.recording.is_on and self.schedule.recorded:
            self.recording.start((yield from self._judge(lambda: types_of(garbage_of(first)))))
            yield from self._steps_without_collector(first.after)

    def _steps_without_collector(self, start: StepSnapshot) -> Iterator[int]:
        """Run steps with the collector off, and keep what waits for it since the snapshot ``start``."""
        was_enabled, collections = gc.isenabled(), count_foreign()
        gc.disable()
        count, steps = gc.get_count()[0], self.steps
        try:
            self._unfinished_since = start
            yield from self._steps(self.schedule.collector)
            self._unfinished_since = None
            self.has_looked_for_garbage = True
            new_objects = (gc.get_count()[0] - count) / max(1, self.steps - steps)
            self.clock.stop()
            self.count_steps_of_others()
            has_garbage = self.keeps_serving or self._has_garbage(start, collections)
            waiting = self._around_collection(start) if has_garbage else None
        finally:
            if was_enabled:
                gc.enable()
        self.clock.start()
        if waiting is not None and self.keeps_serving:
            yield from self._until(lambda: waiting.before.is_written() and waiting.after.is_written())
            if not (yield from self._judge(lambda: is_waiting(start, waiting.before))):
                return
        if waiting is not None:
            threshold = gc.get_threshold()[0] if was_enabled else 0
            self.waiting = replace(waiting, threshold=threshold, new_objects=max(0.0, new_objects))

    def keep_garbage_of_last_steps(self) -> None:
        """Keep what waits for the collector since the last snapshot, if the program ends before or in the round without it."""
        start = self._unfinished_since or (None if self.has_paused_collector else self.snapshots[-1])
        if start is None or self.waiting is not None or self.steps_now - start.steps < MIN_LAST_STEPS:
            return
        self.has_looked_for_garbage = True
        if self._has_garbage(start, self._collections_at_snapshot):
            self.waiting = replace(self._around_collection(start), is_of_last_steps=True)

    def _has_garbage(self, start: StepSnapshot, collections: int) -> bool:
        """Whether anything waits for the collector since a snapshot. If there were only so many collections of others,
        none since, all of it is young: most programs leave nothing, and need no snapshot.
        """
        if count_foreign() == collections and not may_have_young_garbage():
            return False
        now = take_snapshot(self.steps_now, collect=Collect.NOTHING)
        return in_fork(lambda: is_waiting(start, now, is_uncollected=self.is_uncollected))

    def _around_collection(self, start: StepSnapshot) -> Waiting:
        """Take a snapshot before a collection and one after it."""
        waits = not self.keeps_serving
        before = take_snapshot(self.steps_now, with_labels=True, collect=Collect.NOTHING, waits=waits)
        self.keep_creation_sites(before)
        is_uncollected = self.is_uncollected
        after = take_snapshot(self.steps_now, waits=waits)
        return Waiting(start, before, after, max(1, self.steps_now - start.steps), is_uncollected)

    def _watched_round(self) -> Iterator[int]:
        """Watch whether a step reads tensors that an earlier step left in undeclared attributes of modules, or makes
        the larger tensor that replaces another one of it.
        """
        places = self._grown_in_place
        if not places and (self.suspects is None or not self.suspects.fresh_attributes):
            return
        self.count_steps_of_others()
        now = take_snapshot(self.steps, with_labels=True)
        self.keep_creation_sites(now)
        wanted, grown_in_place = in_fork(
            lambda: (addresses_of(now, undeclared(self.snapshots[-2], now)), tensors_at(now.graph, places))
        )
        if not wanted and not grown_in_place:
            return
        watch = Watch(wanted, grown_in_place)
        watch.start()
        try:
            yield from self._steps(self.schedule.watched)
        finally:
            watch.stop()
        replaced = replaced_places(watch, places, self.steps) if grown_in_place else frozenset()
        self.replaced = self.replaced.difference(places) | replaced
        read = frozenset(node for address, node in wanted.items() if address in watch.read)
        self.stale_activations = StaleActivations(now, tuple(wanted.values()), read)

    def _early_watch(self) -> Iterator[int]:
        """Watch steps already before the last round if something grows in place: the program may end in that round."""
        if self._grown_in_place and self.schedule.extension and not self.schedule.in_step:
            yield from self._watched_round()

    def _late_watch(self) -> Iterator[int]:
        """Watch steps if the late rounds show a place that grows: batches of a later phase may be larger and larger."""
        if not self.keeps_serving and last_rounds(self.snapshots, self.early_snapshots):
            judge = self._judge(lambda: places_begun_late(self.snapshots, self.early_snapshots, self.controls))
            self._grown_in_place = yield from judge
            if self._grown_in_place:
                yield from self._watched_round()
