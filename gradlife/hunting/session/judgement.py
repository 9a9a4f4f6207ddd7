"""The judgement of all snapshots: findings, controls, rounds and limits. Only the fork that reads graphs loads it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting.findings.builder import (
    garbage_findings,
    growth_finding,
    native_findings,
    retained_finding,
    with_native_blocks,
    worst_first,
)
from gradlife.hunting.findings.causes import GrowingGroup, one_per_cause
from gradlife.hunting.findings.holder_path import STACK, find_holder_path, growth_in_trace
from gradlife.hunting.findings.native_survivors import with_native_parts
from gradlife.hunting.findings.severity import Room, free_where, graded, room_now
from gradlife.hunting.findings.short_runs import advice, never_called
from gradlife.hunting.growth import caches
from gradlife.hunting.growth.after_steps import MIN_UNREAD, kept_after, kept_in_rounds, kept_since
from gradlife.hunting.growth.arrivals import arrived
from gradlife.hunting.growth.emptied import is_emptied
from gradlife.hunting.growth.fixed_size import empty_slots
from gradlife.hunting.growth.garbage import appeared, garbage_of
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.inplace_growth import is_replaced, places_that_grow
from gradlife.hunting.growth.late_growth import begun_late
from gradlife.hunting.growth.optimizer_state import is_state_of_old_parameters
from gradlife.hunting.growth.oversized_storages import finished_steps
from gradlife.hunting.growth.periodic import KeptBelow, is_needed, release_of
from gradlife.hunting.growth.reachable_growth import (
    ROUNDS,
    Evidence,
    GrownGroup,
    evidence_of,
    grown_groups,
    is_slowing,
    with_growth_rate,
)
from gradlife.hunting.growth.rounds import judged_controls, planted_in, rounds_of, without_planted
from gradlife.hunting.growth.suspects import CleanResult, is_of_hunt
from gradlife.hunting.session.clean_report import TargetFacts, clean_report_of, limits_of_waiting
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.snapshots.compile_caches import is_bounded
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.stale_activations import unread
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.steps.schedule import MIN_SNAPSHOTS
from gradlife.hunting.stores.emptyings import emptying_of
from gradlife.hunting.stores.limits import limit_of
from gradlife.hunting.stores.program_sources import program_sources
from gradlife.hunting.stores.whole_reads import is_only_filled, whole_read_of
from gradlife.model.growth import Growth, GrowthKind
from gradlife.model.hunt import Explained, Finding, HuntReport, Round
from gradlife.model.trace import Trace

#: Fewer tensors in a container for each step since the last snapshot may be of the steps.
MANY_EACH_STEP = 4

#: The generators of a hunt's plan, and their file, as traces name it.
PLAN = frozenset(one.__qualname__ for one in vars(Hunt).values() if inspect.isgeneratorfunction(one))
PLAN_FILE = f"{os.path.basename(inspect.getfile(Hunt))}:"


def judge_snapshots(hunt: Hunt, snapshots: Sequence[StepSnapshot], facts: TargetFacts) -> HuntReport:
    """Judge the snapshots and build the report."""
    if len(snapshots) < MIN_SNAPSHOTS:
        return report_of_few(hunt, facts)
    whole = evidence_of(snapshots, facts.rounds or ROUNDS)
    planted = planted_in(whole.snapshots, hunt.controls)
    evidence = without_collectable(without_planted(whole, planted), hunt.after_collection)
    sure, unsure = grown_groups(evidence)
    grown_in_place = places_that_grow(evidence, sure)
    replaced = [one for one in grown_in_place if is_replaced(evidence.graph, one, hunt.replaced)]
    sure = with_native_parts(evidence, [*sure, *(one for one in grown_in_place if one not in replaced)])
    fills = slowing(evidence, unsure)
    infrequent = infrequent_growth(hunt, evidence, [one.group for one in (*sure, *fills)])
    of_program = [one for one in (*sure, *infrequent) if not is_of_hunt(evidence.graph, one.group)]
    room = room_now(peak_of(snapshots), facts.memory_limit, snapshots[-1].free_on_devices)
    findings, meant = split_by_intent(evidence.graph, of_program, hunt.creation_sites, room, evidence.snapshots)
    explained = meant
    explained += [caches.replaced(growth_finding(evidence.graph, one, hunt.creation_sites)) for one in replaced]
    explained += [caches.slowed(growth_finding(evidence.graph, one, hunt.creation_sites)) for one in fills]
    retained, released = split_retained(hunt, evidence, [*sure, *replaced], facts)
    findings += retained
    explained += released
    known = {evidence.graph.describe(node).address for one in sure for node in one.containers}
    findings += findings_of_special_rounds(hunt, facts, known)
    if is_bounded(
        [evidence.snapshots[number].compiled for number in (*evidence.judged_rounds, len(evidence.snapshots) - 1)]
    ):
        explained += [caches.recompiled(one) for one in findings if caches.is_compilers(one)][:1]
        findings = [one for one in findings if not caches.is_compilers(one)]
    rounds = tuple(rounds_of(evidence, planted))
    findings = with_native_blocks(list(findings), rounds)
    return HuntReport(
        target=facts.target,
        stepped_by=facts.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=rounds,
        findings=worst_first(graded(findings, room)),
        explained=tuple(explained),
        controls=tuple(judged_controls(evidence, planted, hunt.controls)),
        limits=(*snapshots[-1].limits, *limits_of_creation_sites(hunt, findings), *limits_of_waiting(hunt)),
        script_status=facts.script_status,
        trouble=facts.trouble,
    )


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
        if release is None:
            findings += retained
        else:
            explained += [caches.let_go(one, release.period, release.bytes) for one in retained]
    return findings, explained


def without_collectable(evidence: Evidence, after: StepSnapshot | None) -> Evidence:
    """Leave out unreachable objects that a full collection has freed since the last snapshot."""
    if after is None:
        return evidence
    freed = {node for node in appeared(after.graph, evidence.graph) if evidence.graph.dominator(node) is None}
    return replace(evidence, born={node: number for node, number in evidence.born.items() if node not in freed})


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
    larger = [caches.replaced(growth_finding(evidence.graph, one, hunt.creation_sites)) for one in replaced]
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
        result = growth_finding(now.graph, one, hunt.creation_sites)
        if is_only_filled(result.trace, growing_step(result), program_sources()):
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
    graph = snapshots[-1].graph
    found, meant = split_by_intent(graph, groups, hunt.creation_sites, room, snapshots)
    known = {one.fingerprint for one in report.findings}
    findings = graded([one for one in found if one.fingerprint not in known], room)
    return replace(
        report,
        findings=worst_first([*report.findings, *findings]),
        explained=report.explained or tuple(meant),
        limits=(*report.limits, *limits_of_creation_sites(hunt, findings)),
    )


def split_by_intent(
    graph: _heap.Graph,
    groups: Sequence[GrownGroup],
    creation_sites: CreationSites,
    room: Room | None = None,
    snapshots: Sequence[StepSnapshot] = (),
) -> tuple[list[Finding], list[Explained]]:
    """Split growth into leaks, one per cause, and intended growth; ``snapshots``: those that show it."""
    leaks: list[GrowingGroup] = []
    meant: list[Explained] = []
    for one in groups:
        result = growth_finding(graph, one, creation_sites)
        if is_own_plan(result.trace):
            continue
        path = find_holder_path(graph, one.group, one.containers, one.carrier)
        growth = growth_in_trace(graph, path, one)
        if room is not None and caches.outgrows(result, free_where(result, room)):
            leaks.append(GrowingGroup(one, result))
        elif caches.is_meant(result, growth):
            meant.append(caches.explained(result))
        elif is_being_built(result, growth):
            meant.append(caches.built(result, growth))
        elif empty := slots_left(result, growth, path.holder, snapshots, room):
            meant.append(caches.of_fixed_size(result, growth, empty))
        elif snapshots and path.holder is not None and is_state_of_old_parameters(snapshots, path.holder):
            meant.append(caches.optimizer_state(result, growing_step(result)))
        elif limit := limit_in_program(result, growth):
            meant.append(caches.limited(result, growing_step(result), limit))
        elif where := read_in_program(result, growth):
            meant.append(caches.gathered(result, growing_step(result), where))
        else:
            leaks.append(GrowingGroup(one, replace(result, emptied_at=emptying_in_program(result, growth))))
    return one_per_cause(graph, leaks), meant


def is_own_plan(trace: Trace) -> bool:
    """Whether it is a generator of the hunt's own plan, or its frame. Nothing seems to hold one while it runs, because the
    hunt's frames are hidden.
    """
    name, _, place = trace.detail.partition(" (")
    return trace.object in {"generator", "frame"} and name in PLAN and place.startswith(PLAN_FILE)


def is_being_built(result: Finding, growth: Growth) -> bool:
    """Whether only an expression under way holds what grows, such as the list of a comprehension. With graphs it leaks."""
    if not growth.step or result.per_step.keeps_graphs:
        return False
    return result.trace.steps[growth.step - 1].relation == STACK


def slots_left(
    result: Finding, growth: Growth, holder: int | None, snapshots: Sequence[StepSnapshot], room: Room | None
) -> int:
    """Return how many items of a list or an array of a fixed size are still to be set; 0 if it is none, or memory is full
    before. Graphs are more than it is made for.
    """
    if holder is None or growth.step is None or result.per_step.keeps_graphs or not snapshots:
        return 0
    empty = empty_slots(snapshots, holder)
    references = len(snapshots[-1].graph.referents(holder))
    is_too_much = room is not None and caches.outgrows_slots(result, references, empty, free_where(result, room))
    return 0 if is_too_much else empty


def limit_in_program(result: Finding, growth: Growth) -> str:
    """Return where the program limits what grows; empty if nowhere. Graphs are more than a container is made for."""
    if result.per_step.keeps_graphs or not is_one_place(growth):
        return ""
    return limit_of(result.trace, growing_step(result), program_sources())


def read_in_program(result: Finding, growth: Growth) -> str:
    """Return where the program reads all of the results that it gathers after the last step; empty if nowhere."""
    if not result.is_after_steps or result.per_step.keeps_graphs or not is_one_place(growth):
        return ""
    return whole_read_of(result.trace, growing_step(result), program_sources())


def is_one_place(growth: Growth) -> bool:
    """Whether a container of the trace grows, or the object at its end."""
    return growth.kind is GrowthKind.LARGER or (growth.kind is GrowthKind.CONTAINER and growth.step is not None)


def emptying_in_program(result: Finding, growth: Growth) -> str:
    """Return where the program may empty later what grows; empty if nowhere. Graphs are not kept for an epoch on purpose."""
    if result.per_step.keeps_graphs or not is_one_place(growth):
        return ""
    return emptying_of(result.trace, growing_step(result), program_sources())


def growing_step(result: Finding) -> int:
    """Return the step of the trace that grows: a container, or the last object."""
    return len(result.trace.steps) - 1 if result.grows_at is None else result.grows_at


def without_emptied(report: HuntReport, snapshots: Sequence[StepSnapshot]) -> HuntReport:
    """Explain the findings that the program has emptied since; they are leaks again if they grow in the late rounds."""
    emptied = [
        one
        for one in report.findings
        if one.emptied_at
        and is_emptied(snapshots, one.trace.steps[: growing_step(one) + 1], is_container=one.grows_at is not None)
    ]
    left = tuple(one for one in report.findings if one not in emptied)
    return replace(report, findings=left, explained=(*report.explained, *map(caches.emptied, emptied)))


def infrequent_growth(hunt: Hunt, evidence: Evidence, known: Sequence[Group]) -> list[GrownGroup]:
    """Return growth that does not happen in every step.

    The tables of a compiler that compiles a new version now and then are left out.
    """
    found = arrived(evidence, known)
    if evidence.snapshots[-1].compiled.versions <= evidence.snapshots[0].compiled.versions:
        return found
    return [one for one in found if not caches.is_compilers(growth_finding(evidence.graph, one, hunt.creation_sites))]


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
    if hunt.waiting is not None:
        yield from garbage_findings(garbage_of(hunt.waiting), hunt.creation_sites)


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
