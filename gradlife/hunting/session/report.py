"""The report of a hunt, from what is known so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradlife.hunting.growth.suspects import CleanResult
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.session.clean_report import TargetFacts, clean_report_of
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot
from gradlife.hunting.steps.schedule import MIN_SNAPSHOTS
from gradlife.model.hunt import MALLOC, HuntReport, HuntVerdict

#: The text for a program whose growth has no known holder.
CAUSE_NOT_FOUND = "the cause was not found"
NAMES_OF_BYTES = {"bytes": "of storages", MALLOC: "from malloc"}


def report_of(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Build the report from what is known by now, in a forked copy: the graphs are freed with it."""
    facts = replace(facts, trouble=facts.trouble or hunt.shortage)
    with hunt.clock.paused():
        return in_doubt(judgement_of(hunt, facts), facts)


def judgement_of(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Judge what is not judged yet."""
    clean = None if facts.has_failed or has_another_round(hunt) else hunt.clean_result
    if clean is None:
        return judge_in_copy(hunt, facts)
    if hunt.waiting is None and hunt.left_behind is None and not hunt.natives:
        return clean_report_of(hunt, clean, facts)
    return judge_later_rounds_in_copy(hunt, clean, facts)


def in_doubt(report: HuntReport, facts: TargetFacts) -> HuntReport:
    """Say in the report that the cause was not found if memory or objects increase evenly but no finding grows.

    Memory that no object holds is a leak of native code.
    """
    if report.unheld_rate:
        return with_unheld_memory(report, facts)
    if not report.unexplained or report.trouble:
        return report
    amounts = " and ".join(amount_text(*one) for one in report.unexplained.items())
    return replace(report, trouble=f"{CAUSE_NOT_FOUND}: each {report.step} leaves {amounts}")


def amount_text(name: str, amount: float) -> str:
    """Format an amount: ``2 tensors``, ``4.1 kB of storages``."""
    if name in NAMES_OF_BYTES:
        return f"{amount / 1000:,.1f} kB {NAMES_OF_BYTES[name]}"
    return f"{amount:.3g} {name.replace('_', ' ')}"


def with_unheld_memory(report: HuntReport, facts: TargetFacts) -> HuntReport:
    """Return the report with the memory that native code keeps. A forked copy loads the modules that describe it."""

    def work() -> HuntReport:
        from gradlife.hunting.findings.builder import unheld_memory
        from gradlife.hunting.findings.severity import graded, room_now

        room = room_now(0.0, facts.memory_limit)
        return replace(report, findings=tuple(graded([unheld_memory(report)], room)))

    return in_fork(work)


def judge_in_copy(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Judge the snapshots in a forked copy."""
    snapshots = snapshots_at_return(hunt) or labelled(hunt)

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import judge_snapshots

        return judge_snapshots(hunt, snapshots, facts)

    return hunt.in_copy(work)


def judge_later_rounds_in_copy(hunt: Hunt, clean: CleanResult, facts: TargetFacts) -> HuntReport:
    """Judge the special rounds alone, in a forked copy."""

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import judge_later_rounds

        return judge_later_rounds(hunt, clean, facts)

    return hunt.in_copy(work)


def with_late_growth(hunt: Hunt, report: HuntReport, memory_limit: int | None) -> HuntReport:
    """Add growth on a slower clock to the report, from the late snapshots and one that is taken now.

    At the program's end a function's variables are gone; the snapshot before still has them.
    """
    if hunt.early_snapshots == 0 or hunt.steps_now == hunt.snapshots[hunt.early_snapshots - 1].steps:
        return report
    snapshots = hunt.snapshots
    now = take_snapshot(hunt.steps_now, with_labels=True)

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import with_growth_of

        last = with_growth_of(hunt, [*snapshots, now], report, memory_limit)
        if last.verdict is HuntVerdict.LEAK or len(snapshots) == hunt.early_snapshots:
            return last
        return with_growth_of(hunt, snapshots, report, memory_limit)

    try:
        return hunt.in_copy(work)
    except Exception as error:
        limit = f"growth on a slower clock could not be judged: {type(error).__name__}"
        return replace(report, limits=(limit, *report.limits))


def with_late_rounds(
    hunt: Hunt, snapshots: Sequence[StepSnapshot], report: HuntReport, memory_limit: int | None
) -> HuntReport:
    """Add what the late rounds show to the report of a program that still runs, judged in a forked copy."""

    def work() -> HuntReport:
        from gradlife.hunting.session.judgement import with_growth_of

        return with_growth_of(hunt, snapshots, report, memory_limit)

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
    """Return the snapshots with labels on the last, which lacks them if the hunt was cut short."""
    snapshots = hunt.snapshots
    if hunt.spare is not None and len(snapshots) + has_another_round(hunt) < MIN_SNAPSHOTS:
        snapshots = [hunt.spare, *snapshots]
    if len(snapshots) < 2 or snapshots[-1].has_labels:
        return snapshots
    is_another = is_round_since(snapshots, hunt.steps_now)
    if is_another:
        hunt.controls.plant(hunt.steps_now - snapshots[-1].steps, hunt.steps_now, is_early=True)
    now = take_snapshot(hunt.steps_now, with_labels=True)
    hunt.note(now)
    return [*snapshots, now] if is_another else [*snapshots[:-1], now]
