"""Build the report of a hunt. The snapshots are judged in a forked copy of the process, which frees their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradlife.hunting.growth.after_steps import may_hold_results
from gradlife.hunting.growth.suspects import CleanResult
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.process.malloc_usage import freed_by
from gradlife.hunting.process.process_memory import largest_mapped_file
from gradlife.hunting.session.clean_report import TargetFacts, clean_report_of
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.partial_layout import as_far_as_read
from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot
from gradlife.hunting.steps.graph_mark import MIN_RESULTS
from gradlife.hunting.steps.schedule import MIN_SNAPSHOTS
from gradlife.model.hunt import MALLOC, MAPPED, MIN_ROUNDS, Explained, FindingKind, HuntReport, HuntVerdict, Round
from gradlife.model.memory_balance import ResidentPart

#: The text for a program whose memory grows although no finding does.
CAUSE_NOT_FOUND = "the cause was not found"

#: The same beside leaks whose cause was found.
OTHER_CAUSE_NOT_FOUND = "the cause of other growth was not found"

#: How a report names amounts of bytes.
NAMES_OF_BYTES = {
    "bytes": "of storages",
    MALLOC: "from malloc",
    MAPPED: "of resident memory that is neither malloc's nor Python's, nor of a file",
}


@dataclass(frozen=True)
class EarlyJudge:
    """Makes the report of a program without trouble from the snapshots so far. Reads the graphs: call it in a copy."""

    hunt: Hunt
    facts: TargetFacts

    def __call__(self) -> HuntReport:
        from gradlife.hunting.session.judgement import judge_snapshots

        return judge_snapshots(self.hunt, self.hunt.snapshots, self.facts)

    def __eq__(self, other: object) -> bool:
        return type(other) is EarlyJudge and self.hunt is other.hunt and self.facts == other.facts


def report_of(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Build the report from the snapshots taken so far. Whether the collector runs is no matter of a single test."""
    report = report_while_running(hunt, facts)
    return report if facts.is_test else with_uncollected(hunt, report, facts.memory_limit)


def report_while_running(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Build the report of a program that may yet run the collector that it has switched off."""
    facts = replace(facts, trouble=facts.trouble or hunt.cut_short_by)
    with hunt.clock.paused():
        report = as_far_as_read(with_unknown_cause(with_larger_steps(hunt, judgement_of(hunt, facts)), facts))
        return with_mapped_file(report)


def with_mapped_file(report: HuntReport) -> HuntReport:
    """Add the file whose pages make resident memory grow."""
    has_files = ResidentPart.FILES in report.resident_growth
    return replace(report, mapped_file=largest_mapped_file()) if has_files else report


def judgement_of(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Judge the snapshots, unless the hunt has already found that they show no leak."""
    clean = None if facts.has_failed or has_another_round(hunt) else hunt.clean_result
    if clean is None:
        return judge_in_copy(hunt, facts)
    has_more_files = hunt.snapshots[-1].shared_files.count > hunt.snapshots[0].shared_files.count
    if hunt.waiting is None and hunt.stale_activations is None and not hunt.natives and not has_more_files:
        return clean_report_of(hunt, clean, facts)
    return judge_special_rounds_in_copy(hunt, clean, facts)


def with_larger_steps(hunt: Hunt, report: HuntReport) -> HuntReport:
    """Explain growth without a cause by graphs that get larger, if none of them outlives its round."""
    if report.trouble or not (report.unexplained or report.unheld_rate or report.new_work_rate):
        return report

    def work() -> Explained | None:
        from gradlife.hunting.growth.larger_steps import larger_steps

        return larger_steps(hunt.snapshots, hunt.controls, report)

    found = hunt.in_copy(work)
    return report if found is None else replace(report, explained=(*report.explained, found))


def with_unknown_cause(report: HuntReport, facts: TargetFacts) -> HuntReport:
    """Add to a report that memory or objects grow more than its findings do.

    Memory that no object holds becomes a finding: a leak of native code.
    """
    if report.unheld_rate:
        return with_unheld_memory(report, facts)
    if report.new_work_rate:
        return replace(report, trouble=report.trouble or new_work(report))
    if not report.unexplained or report.trouble:
        return report
    amounts = " and ".join(amount_text(*one) for one in report.unexplained.items())
    what, more = (OTHER_CAUSE_NOT_FOUND, " more") if report.verdict is HuntVerdict.LEAK else (CAUSE_NOT_FOUND, "")
    return replace(report, trouble=f"{what}: each {report.step} leaves {amounts}{more}")


def with_unknown_later_growth(report: HuntReport, later: tuple[Round, ...], passes: int) -> HuntReport:
    """Add that memory grows in the rounds after the last step, with so many passes, if it does."""
    for rounds in ((*report.rounds, *later), later):
        whole = replace(report, rounds=rounds)
        if later and whole.unexplained:
            amounts = " and ".join(amount_text(*one) for one in whole.unexplained.items())
            what = f"each of {passes:,} passes after the last step leaves {amounts}"
            return replace(whole, trouble=report.trouble or f"{CAUSE_NOT_FOUND}: {what}")
    return report


def new_work(report: HuntReport) -> str:
    """Say that memory grows while threads do new work: whether it ends with that, only more steps show."""
    rounds = [one for one in report.rounds if one.steps][-MIN_ROUNDS:]
    workers = f"{sum(one.new_workers for one in rounds):,} of {rounds[-1].threads:,}"
    amount = f"malloc hands out {report.new_work_rate / 1000:,.0f} kB per {report.step}"
    return f"{amount} while threads do their first work ({workers}): a longer run shows if it ends"


def amount_text(name: str, amount: float) -> str:
    """Format an amount: ``2 tensors``, ``4.1 kB of storages``."""
    if name in NAMES_OF_BYTES:
        return f"{amount / 1000:,.1f} kB {NAMES_OF_BYTES[name]}"
    return f"{amount:.3g} {name.replace('_', ' ')}"


def with_unheld_memory(report: HuntReport, facts: TargetFacts) -> HuntReport:
    """Return the report with a finding for the memory that no object holds."""

    def work() -> HuntReport:
        from gradlife.hunting.findings.builder import unheld_memory, worst_first
        from gradlife.hunting.findings.severity import graded, room_now

        room = room_now(0.0, facts.memory_limit)
        return replace(report, findings=worst_first([*report.findings, *graded([unheld_memory(report)], room)]))

    return in_fork(work)


def with_uncollected(hunt: Hunt, report: HuntReport, memory_limit: int | None) -> HuntReport:
    """Turn cycles that wait for the collector into leaks if nothing runs it."""
    if not hunt.is_uncollected or all(one.kind is not FindingKind.NEEDS_GC for one in report.findings):
        return report

    def work() -> HuntReport:
        from gradlife.hunting.findings.builder import worst_first
        from gradlife.hunting.findings.severity import graded, room_now
        from gradlife.hunting.findings.uncollected import as_leak

        waiting = [as_leak(one) for one in report.findings if one.kind is FindingKind.NEEDS_GC]
        others = [one for one in report.findings if one.kind is not FindingKind.NEEDS_GC]
        return replace(report, findings=worst_first([*others, *graded(waiting, room_now(0.0, memory_limit))]))

    return hunt.in_copy(work)


def judge_in_copy(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Judge the usual snapshots in a forked copy of the process."""
    snapshots = snapshots_at_return(hunt) or labelled(hunt)
    if snapshots and not snapshots[-1].is_collected and not hunt.keeps_serving:
        collect_now(hunt, snapshots)
    early = hunt.early_report
    if (
        early is not None
        and early.is_of(hunt.steps_now, snapshots)
        and hunt.make_early_report == EarlyJudge(hunt, facts)
    ):
        return early.report

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import judge_snapshots

        return judge_snapshots(hunt, snapshots, facts)

    return hunt.in_copy(work)


def collect_now(hunt: Hunt, snapshots: Sequence[StepSnapshot]) -> None:
    """Run a full collection, and note what it frees: it is no growth of the round that ends with the last snapshot."""
    freed = freed_by(Collect.ALL.run)
    hunt.after_collection = take_snapshot(hunt.steps_now, collect=Collect.NOTHING)
    rate = snapshots[-1].malloc_per_step
    if rate is not None and len(snapshots) > 1:
        snapshots[-1].malloc_per_step = rate - freed / (snapshots[-1].steps - snapshots[-2].steps)


def judge_special_rounds_in_copy(hunt: Hunt, clean: CleanResult, facts: TargetFacts) -> HuntReport:
    """Judge only the special rounds, which follow the usual ones, in a forked copy of the process."""

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import judge_special_rounds

        return judge_special_rounds(hunt, clean, facts)

    return hunt.in_copy(work)


def with_late_growth(hunt: Hunt, report: HuntReport, memory_limit: int | None) -> HuntReport:
    """Add growth that is too slow for the usual rounds: compare the late snapshots and one that is taken now.

    If the program has ended, the variables of its functions are gone. The last snapshot before still has them, so that
    the comparison without a new snapshot may show more.
    """
    if hunt.early_snapshots == 0 or hunt.steps_now == hunt.snapshots[hunt.early_snapshots - 1].steps:
        return report
    snapshots = hunt.snapshots
    collect = Collect.NOTHING if hunt.keeps_serving else Collect.ALL
    now = take_snapshot(hunt.steps_now, with_labels=True, collect=collect)

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import add_late_growth, without_emptied

        open_report = without_emptied(report, snapshots[hunt.early_snapshots - 1 :])
        last = add_late_growth(hunt, [*snapshots, now], open_report, memory_limit)
        if len(last.findings) > len(open_report.findings) or len(snapshots) == hunt.early_snapshots:
            return last
        return add_late_growth(hunt, snapshots, open_report, memory_limit)

    try:
        return hunt.in_copy(work)
    except Exception as error:
        limit = f"slow growth could not be judged: {type(error).__name__}"
        return replace(report, limits=(limit, *report.limits))


def with_kept_results(
    hunt: Hunt, report: HuntReport, numbers: range, passes: int, memory_limit: int | None
) -> HuntReport:
    """Add the results that were kept after the last step: those with graphs, by the ``numbers`` of the nodes made since, what
    grows in the rounds of ``passes`` since, and many that nothing reads.
    """
    if hunt.later.failure:
        limit = f"a snapshot after the last step failed: {hunt.later.failure}"
        report = replace(report, limits=(*report.limits, limit))
    has_rounds = len(hunt.later.snapshots) >= MIN_ROUNDS
    if not hunt.snapshots or not (has_rounds or len(numbers) >= MIN_RESULTS or may_hold_results()):
        return report
    now = take_snapshot(passes, with_labels=True)

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import add_kept_results, add_later_growth, add_unread_results

        kept = add_kept_results(hunt, now, report, numbers, memory_limit)
        more, unknown = add_later_growth(hunt, now, kept, memory_limit) if has_rounds else (kept, ())
        if more.findings == report.findings:
            more = add_unread_results(hunt, now, more, memory_limit)
        return more if more.findings != report.findings else with_unknown_later_growth(more, unknown, passes)

    try:
        return hunt.in_copy(work)
    except Exception as error:
        limit = f"what came after the last step could not be judged: {type(error).__name__}"
        return replace(report, limits=(limit, *report.limits))


def with_late_rounds(
    hunt: Hunt, snapshots: Sequence[StepSnapshot], report: HuntReport, memory_limit: int | None
) -> HuntReport:
    """Add the growth that the late rounds show to the report of a program that still runs."""

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import add_late_growth, without_emptied

        open_report = without_emptied(report, snapshots[hunt.early_snapshots - 1 :])
        return add_late_growth(hunt, snapshots, open_report, memory_limit)

    return hunt.in_copy(work)


def has_another_round(hunt: Hunt) -> bool:
    """Whether enough steps for another round ran since the last snapshot."""
    return is_round_since(hunt.snapshots, hunt.steps_now)


def is_round_since(snapshots: Sequence[StepSnapshot], steps: int) -> bool:
    """Whether at least half a round ran since the last of these snapshots."""
    return len(snapshots) > 1 and steps - snapshots[-1].steps >= (snapshots[-1].steps - snapshots[-2].steps) / 2


def snapshots_at_return(hunt: Hunt) -> Sequence[StepSnapshot]:
    """Return the snapshots from when the training function returned, if no step ran since."""
    steps, snapshots = hunt.at_return or (-1, ())
    return snapshots if steps == hunt.steps_now else ()


def labelled(hunt: Hunt) -> Sequence[StepSnapshot]:
    """Return the snapshots, the last one with labels: it is taken again if the hunt was cut short before."""
    snapshots = hunt.snapshots
    if hunt.spare is not None and len(snapshots) + has_another_round(hunt) < MIN_SNAPSHOTS:
        snapshots = [hunt.spare, *snapshots]
    if len(snapshots) < 2:
        return snapshots
    hunt.keep_garbage_of_last_steps()
    if snapshots[-1].has_labels:
        return snapshots
    is_another = is_round_since(snapshots, hunt.steps_now)
    if is_another:
        hunt.controls.plant(hunt.steps_now - snapshots[-1].steps, hunt.steps_now, is_early=True)
    now = take_snapshot(hunt.steps_now, with_labels=True)
    hunt.keep_creation_sites(now)
    return [*snapshots, now] if is_another else [*snapshots[:-1], now]
