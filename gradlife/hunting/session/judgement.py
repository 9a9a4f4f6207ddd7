"""The judgement of all snapshots: findings, controls, rounds and limits. Only the fork that reads graphs loads it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting.findings.builder import (
    garbage_findings,
    growth_finding,
    native_findings,
    retained_finding,
    with_casts_and_their_weights,
    with_native_blocks,
    worst_first,
)
from gradlife.hunting.findings.causes import GrowingGroup, one_per_cause
from gradlife.hunting.findings.expectations import EMPTIED, explained_by, judge, place, row_named
from gradlife.hunting.findings.growth_facts import Facts, facts_of, with_outer
from gradlife.hunting.findings.native_survivors import with_native_parts
from gradlife.hunting.findings.severity import Room, graded, room_now
from gradlife.hunting.findings.shared_files import shared_file_findings
from gradlife.hunting.findings.short_runs import advice, never_called
from gradlife.hunting.findings.uncollected import as_frozen, is_of_python_alone, with_one_frozen
from gradlife.hunting.growth.after_steps import MIN_UNREAD, kept_after, kept_in_rounds, kept_since
from gradlife.hunting.growth.arrivals import arrived
from gradlife.hunting.growth.emptied import is_emptied
from gradlife.hunting.growth.garbage import appeared, garbage_of
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.inplace_growth import FEW_ROUNDS, is_one_object, is_replaced, places_that_grow
from gradlife.hunting.growth.late_growth import begun_late
from gradlife.hunting.growth.oversized_storages import finished_steps
from gradlife.hunting.growth.periodic import KeptBelow, is_needed, release_of
from gradlife.hunting.growth.reachable_growth import (
    ROUNDS,
    Evidence,
    GrownGroup,
    as_grown,
    evidence_of,
    freezes_again,
    grown_groups,
    is_slowing,
    small_growth,
    with_growth_rate,
)
from gradlife.hunting.growth.rounds import judged_controls, planted_in, rounds_of, without_planted
from gradlife.hunting.growth.suspects import CleanResult, is_of_hunt
from gradlife.hunting.session.clean_report import TargetFacts, clean_report_of, limits_of_waiting
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.partial_layout import as_far_as_read
from gradlife.hunting.snapshots.compile_caches import is_bounded
from gradlife.hunting.snapshots.stale_activations import unread
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.steps.schedule import MIN_SNAPSHOTS
from gradlife.hunting.stores.carried import carried_at
from gradlife.hunting.stores.whole_reads import is_only_filled
from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.hunt import Explained, Finding, HuntReport, Round, SmallGrowth
from gradlife.model.trace import Trace

#: Fewer tensors in a container for each step since the last snapshot may be of the steps.
MANY_EACH_STEP = 4

#: Containers that get longer by less than counts which a report lists at most.
MOST_SMALL = 8

#: The generators of a hunt's plan, and their file, as traces name it.
PLAN = frozenset(one.__qualname__ for one in vars(Hunt).values() if inspect.isgeneratorfunction(one))
PLAN_FILE = os.path.basename(inspect.getfile(Hunt))


def judge_snapshots(hunt: Hunt, snapshots: Sequence[StepSnapshot], facts: TargetFacts) -> HuntReport:
    """Judge the snapshots and build the report."""
    if len(snapshots) < MIN_SNAPSHOTS:
        return report_of_few(hunt, facts)
    whole = evidence_of(snapshots, facts.rounds or ROUNDS)
    planted = planted_in(whole.snapshots, hunt.controls)
    evidence = without_collectable(without_planted(whole, planted), hunt.after_collection)
    sure, unsure = grown_groups(evidence)
    grown_in_place = [
        one for one in places_that_grow(evidence, sure, may_be_short=True) if is_certain(hunt, evidence, one)
    ]
    replaced = [one for one in grown_in_place if is_replaced(evidence.graph, one, hunt.replaced)]
    sure = with_native_parts(evidence, [*sure, *(one for one in grown_in_place if one not in replaced)])
    fills = slowing(evidence, unsure)
    infrequent = infrequent_growth(hunt, evidence, [one.group for one in (*sure, *fills)])
    of_program = [one for one in (*sure, *infrequent) if not is_of_hunt(evidence.graph, one.group)]
    room = room_now(peak_of(snapshots), facts.memory_limit, snapshots[-1].free_on_devices)
    asked = [*facts_of_groups(hunt, evidence.snapshots, of_program, room)]
    asked += facts_of_groups(hunt, evidence.snapshots, replaced, room, is_replaced=True)
    asked += facts_of_groups(hunt, evidence.snapshots, fills, room, is_slowing=True)
    is_compiled_again = is_bounded(
        [evidence.snapshots[number].compiled for number in (*evidence.judged_rounds, len(evidence.snapshots) - 1)]
    )
    findings, explained = split(evidence.graph, [replace(one, is_compiled_again=is_compiled_again) for one in asked])
    retained, released = split_retained(hunt, evidence, [*sure, *replaced], facts)
    findings += retained
    explained += released
    known = {evidence.graph.describe(node).address for one in sure for node in one.containers}
    findings += findings_of_special_rounds(hunt, facts, known)
    if is_compiled_again:
        of_compiler = [one for one in findings if Facts(one).is_of_compiler]
        explained += explanations(Facts(one, is_compiled_again=True) for one in of_compiler[:1])
        findings = [one for one in findings if one not in of_compiler]
    rounds = tuple(rounds_of(evidence, planted))
    findings = with_native_blocks(with_casts_and_their_weights(with_one_frozen(findings)), rounds)
    return HuntReport(
        target=facts.target,
        stepped_by=facts.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=rounds,
        findings=worst_first(graded(findings, room)),
        explained=said_once(explained),
        small_growth=tuple(small_rows(hunt, evidence, [*unsure, *(one.group for one in (*sure, *infrequent))])),
        controls=tuple(judged_controls(evidence, planted, hunt.controls)),
        limits=(
            *limits_of_births(evidence.snapshots),
            *snapshots[-1].limits,
            *limits_of_creation_sites(hunt, findings),
            *limits_of_waiting(hunt),
        ),
        script_status=facts.script_status,
        trouble=facts.trouble,
    )


def is_certain(hunt: Hunt, evidence: Evidence, one: GrownGroup) -> bool:
    """Whether there are enough rounds to tell that a place grows, or one object does, or the program computes what is there
    from what was.
    """
    if len(evidence.snapshots) > FEW_ROUNDS or is_one_object(evidence, one.group.tops[0]):
        return True
    facts = facts_of(evidence.graph, one, hunt.creation_sites, evidence.snapshots)
    return bool(carried_at(facts.finding.trace, facts.sources))


def small_rows(hunt: Hunt, evidence: Evidence, known: Sequence[Group]) -> Iterator[SmallGrowth]:
    """Yield the containers that get longer by less than counts, but those that the table of expectations explains."""
    for one in small_growth(evidence, known)[:MOST_SMALL]:
        facts = facts_of(evidence.graph, as_grown(one), hunt.creation_sites, evidence.snapshots)
        if judge(facts).is_leak and not facts.is_of_compiler:
            yield SmallGrowth(place(facts), evidence.graph.type(one.node), one.items, one.bytes)


def report_of_few(hunt: Hunt, facts: TargetFacts) -> HuntReport:
    """Return the report of a hunt in too few steps: it says how to see more."""
    is_absent = facts.step_on and not facts.stepped_by
    few = facts.trouble or (never_called(facts.step_on) if is_absent else too_few(hunt.steps_now))
    limits = (advice(facts.target, hunt.steps_now, facts.stepped_by, facts.step_on),) if facts.is_script else ()
    return HuntReport(facts.target, facts.stepped_by, hunt.warmup_steps, (), (), limits=limits, trouble=few)


def too_few(steps: int) -> str:
    """Say why a hunt with so few steps has no verdict."""
    if steps == 0:
        return "no step was seen"
    return f"only {'1 step was' if steps == 1 else f'{steps} steps were'} seen: too few to tell growth from warming up"


def split_retained(
    hunt: Hunt, evidence: Evidence, known: Sequence[GrownGroup], facts: TargetFacts
) -> tuple[list[Finding], list[Explained]]:
    """Split what finished steps keep, besides the known growth, into findings and what is let go now and then."""
    findings: list[Finding] = []
    explained: list[Explained] = []
    below = KeptBelow()
    for kept in [] if facts.has_failed else finished_steps(evidence, known):
        if facts.is_test and evidence.born.keys().isdisjoint(kept.storages):
            continue
        if is_needed(evidence.graph, kept, hunt.others.snapshots, below):
            continue
        retained = retained_finding(evidence.graph, kept, facts.is_script, hunt.creation_sites)
        release = release_of(evidence.snapshots, kept, below) if retained else None
        for one in retained:
            asked = Facts(one, release=release)
            if release is None and not asked.carried_at:
                findings.append(one)
            else:
                explained += explanations([asked])
    return findings, explained


def without_collectable(evidence: Evidence, after: StepSnapshot | None) -> Evidence:
    """Leave out unreachable objects that a full collection has freed since the last snapshot."""
    if after is None:
        return evidence
    freed = {node for node in appeared(after.graph, evidence.graph) if evidence.graph.dominator(node) is None}
    born = {node: number for node, number in evidence.born.items() if node not in freed}
    return replace(evidence, born=born, collected=frozenset(freed))


def peak_of(snapshots: Sequence[StepSnapshot]) -> float:
    """Return the storage bytes at the snapshot with the most."""
    return max(one.totals.bytes for one in snapshots)


def add_late_growth(
    hunt: Hunt, snapshots: Sequence[StepSnapshot], report: HuntReport, memory_limit: int | None
) -> HuntReport:
    """Add the growth that only late snapshots show."""
    whole = evidence_of(snapshots)
    planted = planted_in(whole.snapshots, hunt.controls)
    evidence = without_planted(whole, planted)
    infrequent = infrequent_growth(hunt, evidence, [])
    recent = begun_late(snapshots, hunt.early_snapshots, hunt.controls, [one.group for one in infrequent])
    replaced = [one for one in recent if one.kind is GrowthKind.LARGER]
    replaced = [one for one in replaced if is_replaced(evidence.graph, one, hunt.replaced)]
    recent = [one for one in recent if one not in replaced]
    of_program = [one for one in (*infrequent, *recent) if not is_of_hunt(evidence.graph, one.group)]
    room = room_now(peak_of(snapshots), memory_limit, snapshots[-1].free_on_devices)
    larger = explanations(facts_of_groups(hunt, evidence.snapshots, replaced, room, is_replaced=True))
    report = replace(report, explained=(*report.explained, *larger))
    more = with_found(hunt, report, evidence.snapshots, of_program, room)
    if more.findings == report.findings:
        return more
    return replace(more, rounds=(*report.rounds, *[*rounds_of(evidence, planted)][len(report.rounds) :]))


def add_kept_results(
    hunt: Hunt, now: StepSnapshot, report: HuntReport, numbers: range, memory_limit: int | None
) -> HuntReport:
    """Add the results that were kept with their graphs after the last step; ``numbers``: those of the nodes made since."""
    last = hunt.snapshots[-1]
    found = kept_after(last, now, numbers) if numbers else []
    return with_found(
        hunt, report, [last, now], found, room_now(peak_of([last, now]), memory_limit, now.free_on_devices)
    )


def add_unread_results(hunt: Hunt, now: StepSnapshot, report: HuntReport, memory_limit: int | None) -> HuntReport:
    """Add the containers of many results that nothing reads."""
    last = hunt.snapshots[-1]
    found = [*unread_results(hunt, last, now)]
    return with_found(
        hunt, report, [last, now], found, room_now(peak_of([last, now]), memory_limit, now.free_on_devices)
    )


def unread_results(hunt: Hunt, last: StepSnapshot, now: StepSnapshot) -> Iterator[GrownGroup]:
    """Yield the containers that the program has only filled since a snapshot, with far more tensors than there were steps."""
    for one in kept_since(last, now, max(MIN_UNREAD, MANY_EACH_STEP * (hunt.steps_now - last.steps))):
        facts = facts_of(now.graph, one, hunt.creation_sites)
        if is_only_filled(facts.finding.trace, facts.at, facts.sources):
            yield one


def add_later_growth(
    hunt: Hunt, now: StepSnapshot, report: HuntReport, memory_limit: int | None
) -> tuple[HuntReport, tuple[Round, ...]]:
    """Add what grows in the rounds after the last step. Return these rounds, too, if no container grows in them."""
    evidence = evidence_of([*hunt.later.snapshots, now])
    found = [one for one in kept_in_rounds(hunt.snapshots[-1], evidence) if not is_of_hunt(evidence.graph, one.group)]
    if found or report.findings:
        room = room_now(peak_of(evidence.snapshots), memory_limit, now.free_on_devices)
        return with_found(hunt, report, evidence.snapshots, found, room), ()
    return report, tuple(rounds_of(evidence, planted_in(evidence.snapshots, hunt.controls)))


def with_found(
    hunt: Hunt, report: HuntReport, snapshots: Sequence[StepSnapshot], groups: Sequence[GrownGroup], room: Room
) -> HuntReport:
    """Add what grows to a report that does not have it yet."""
    found, meant = split(snapshots[-1].graph, facts_of_groups(hunt, snapshots, groups, room))
    known = {one.fingerprint for one in report.findings}
    findings = graded([one for one in found if one.fingerprint not in known], room)
    more = replace(
        report,
        findings=worst_first([*report.findings, *findings]),
        explained=report.explained or tuple(meant),
        limits=(*report.limits, *limits_of_creation_sites(hunt, findings)),
    )
    return as_far_as_read(more)


def facts_of_groups(
    hunt: Hunt,
    snapshots: Sequence[StepSnapshot],
    groups: Iterable[GrownGroup],
    room: Room,
    *,
    is_replaced: bool = False,
    is_slowing: bool = False,
) -> Iterator[Facts]:
    """Yield the facts about groups that grow; ``snapshots``: those that show it."""
    graph = snapshots[-1].graph
    for one in with_outer(graph, [*groups]):
        found = facts_of(graph, one, hunt.creation_sites, snapshots, room)
        if freezes_again(snapshots) and is_of_python_alone(found.finding):
            found = replace(found, finding=as_frozen(found.finding))
        yield replace(
            found, is_replaced=is_replaced, is_slowing=is_slowing, is_hunts_own=is_own_plan(found.finding.trace)
        )


def split(graph: _heap.Graph, asked: Iterable[Facts]) -> tuple[list[Finding], list[Explained]]:
    """Split growth into leaks, one per cause, and expected growth."""
    leaks: list[GrowingGroup] = []
    expected: list[Explained] = []
    for facts in asked:
        judged = judge(facts)
        if judged.finding is not None and facts.grown is not None:
            leaks.append(GrowingGroup(facts.grown, judged.finding))
        elif judged.explained is not None:
            expected.append(judged.explained)
    return one_per_cause(graph, leaks), expected


def said_once(explained: Sequence[Explained]) -> tuple[Explained, ...]:
    """Return explanations without those that say the same as an earlier one: several tables of one compiler."""
    return tuple({(one.kind, one.what): one for one in reversed(explained)}.values())[::-1]


def explanations(asked: Iterable[Facts]) -> list[Explained]:
    """Return how the table of expectations explains growth that it expects."""
    return [one.explained for one in map(judge, asked) if one.explained is not None]


def is_own_plan(trace: Trace) -> bool:
    """Whether it is a generator of the hunt's own plan, or its frame. Nothing seems to hold one while it runs, because the
    hunt's frames are hidden.
    """
    code = trace.code
    return trace.object in {"generator", "frame"} and code is not None and code.name in PLAN and code.file == PLAN_FILE


def without_emptied(report: HuntReport, snapshots: Sequence[StepSnapshot]) -> HuntReport:
    """Explain the findings that the program has emptied since; they are leaks again if they grow in the late rounds."""
    emptied = [one for one in report.findings if one.emptied_at and has_emptied(snapshots, Facts(one, growth_of(one)))]
    left = tuple(one for one in report.findings if one not in emptied)
    row = row_named(EMPTIED)
    return replace(
        report,
        findings=left,
        explained=(*report.explained, *(explained_by(row, Facts(one, growth_of(one))) for one in emptied)),
    )


def has_emptied(snapshots: Sequence[StepSnapshot], facts: Facts) -> bool:
    """Whether what grew lost most of what it had between two of the snapshots."""
    return is_emptied(snapshots, facts.steps[: facts.at + 1], is_container=facts.growth.step is not None)


def growth_of(one: Finding) -> Growth:
    """Return the growth that a finding has shown."""
    return Growth(GrowthKind.LARGER if one.grows_at is None else GrowthKind.CONTAINER, one.grows_at)


def infrequent_growth(hunt: Hunt, evidence: Evidence, known: Sequence[Group]) -> list[GrownGroup]:
    """Return growth that does not happen in every step.

    The tables of a compiler that compiles a new version now and then are left out.
    """
    found = arrived(evidence, known)
    if evidence.snapshots[-1].compiled.versions <= evidence.snapshots[0].compiled.versions:
        return found
    return [one for one in found if not Facts(growth_finding(evidence.graph, one, hunt.creation_sites)).is_of_compiler]


def judge_special_rounds(hunt: Hunt, clean: CleanResult, facts: TargetFacts) -> HuntReport:
    """Build the report of a hunt whose usual snapshots show no leak, but whose special rounds may."""
    last = hunt.snapshots[-1]
    room = room_now(peak_of([last]), facts.memory_limit, last.free_on_devices)
    findings = graded(with_native_blocks(findings_of_special_rounds(hunt, facts), clean.rounds), room)
    report = clean_report_of(hunt, clean, facts)
    return replace(
        report, findings=worst_first(findings), limits=(*report.limits, *limits_of_creation_sites(hunt, findings))
    )


def findings_of_special_rounds(hunt: Hunt, facts: TargetFacts, known: Collection[int] = ()) -> Iterator[Finding]:
    """Yield what the rounds after the usual ones show: activations that no step reads, native references, garbage."""
    if hunt.stale_activations is not None:
        for kept in unread(hunt.stale_activations, known):
            yield from retained_finding(
                hunt.stale_activations.snapshot.graph, kept, facts.is_script, hunt.creation_sites
            )
    yield from native_findings(hunt.natives, hunt.creation_sites)
    yield from shared_file_findings(hunt.snapshots, hunt.creation_sites)
    if hunt.waiting is not None:
        yield from garbage_findings(garbage_of(hunt.waiting), hunt.creation_sites)


def limits_of_births(snapshots: Sequence[StepSnapshot]) -> Iterator[str]:
    """Yield a limit if the collector's list does not show what was born after each snapshot."""
    if not all(one.graph.has_births for one in snapshots):
        yield "new objects at addresses of freed ones: the program calls gc.freeze() or gc.unfreeze()"


def limits_of_creation_sites(hunt: Hunt, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what to say under limits if the program ended before creation sites were recorded."""
    if findings and not hunt.creation_sites:
        yield "where the survivors are created: the program ended before that was recorded → gradlife hunt --lines …"


def slowing(evidence: Evidence, groups: Sequence[Group]) -> list[GrownGroup]:
    """Return the groups that grow less in every round."""
    return [
        with_growth_rate(one, evidence)
        for one in groups
        if is_slowing(one, evidence) and not is_of_hunt(evidence.graph, one)
    ]
