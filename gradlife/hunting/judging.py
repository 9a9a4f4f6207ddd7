"""What looks tell: findings apart from controls, rounds, limits. It reads graphs, and is loaded in the copy that does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting import caches
from gradlife.hunting.advising import advice
from gradlife.hunting.compiled import is_bounded
from gradlife.hunting.controls import planted_name
from gradlife.hunting.creations import Noted
from gradlife.hunting.findings import garbage_findings, growth_finding, native_findings, retained_finding, worst_first
from gradlife.hunting.garbage import garbage_of
from gradlife.hunting.groups import Group
from gradlife.hunting.growth import ROUNDS, Evidence, Grown, evidence_of, grown, grown_groups, is_slowing
from gradlife.hunting.left_behind import unread
from gradlife.hunting.looks import Look
from gradlife.hunting.method import Hunt
from gradlife.hunting.opaque import with_native_parts
from gradlife.hunting.reporting import About, cleared, limits_of_waiting
from gradlife.hunting.rounds import judged_controls, rounds_of
from gradlife.hunting.slices import finished_steps
from gradlife.hunting.suspects import Clear, is_own
from gradlife.hunting.swelling import place_of, swollen
from gradlife.hunting.ways import step_that_grows, way_of
from gradlife.model.hunt import Finding, HuntReport

#: Two rounds at least: one tells nothing.
LEAST_LOOKS = 3


def judged(hunt: Hunt, looks: Sequence[Look], about: About) -> HuntReport:
    """What looks tell."""
    if len(looks) < LEAST_LOOKS:
        few = about.trouble or f"only {hunt.steps} steps were seen: too few to tell growth from warming up"
        limits = (advice(about.target, hunt.steps, about.stepped_by),) if about.is_script else ()
        return HuntReport(about.target, about.stepped_by, hunt.warmup_steps, (), (), limits=limits, trouble=few)
    evidence = evidence_of(looks, about.rounds or ROUNDS)
    sure, unsure = grown_groups(evidence)
    swelling = swollen(evidence, sure)
    replaced = [one for one in swelling if place_of(evidence.graph, one) in hunt.replaced]
    sure = with_native_parts(evidence, [*sure, *(one for one in swelling if one not in replaced)])
    mine = [
        one
        for one in sure
        if not planted_name(evidence.graph, one, hunt.controls) and not is_own(evidence.graph, one.group)
    ]
    findings, meant = apart(evidence.graph, mine, hunt.noted)
    explained = [caches.explained(one) for one in meant]
    explained += [caches.replaced(growth_finding(evidence.graph, one, hunt.noted)) for one in replaced]
    explained += [caches.slowed(growth_finding(evidence.graph, one, hunt.noted)) for one in slowing(evidence, unsure)]
    for kept in [] if about.has_failed else finished_steps(evidence, [*sure, *replaced]):
        if about.is_test and evidence.born.keys().isdisjoint(kept.storages):
            continue
        findings += retained_finding(evidence.graph, kept, about.is_script, hunt.noted)
    told = {evidence.graph.describe(node)[2] for one in sure for node in one.containers}
    findings += found_later(hunt, about, told)
    if is_bounded([evidence.looks[number].compiled for number in (*evidence.judged, len(evidence.looks) - 1)]):
        explained += [caches.recompiled(one) for one in findings if caches.is_compilers(one)][:1]
        findings = [one for one in findings if not caches.is_compilers(one)]
    return HuntReport(
        target=about.target,
        stepped_by=about.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=tuple(rounds_of(evidence, sure, hunt.controls)),
        findings=worst_first(findings),
        explained=tuple(explained),
        controls=tuple(judged_controls(evidence.graph, sure, hunt.controls)),
        limits=(*looks[-1].limits, *limits_of_lines(hunt, findings), *limits_of_waiting(hunt)),
        script_status=about.script_status,
        trouble=about.trouble,
    )


def apart(graph: _heap.Graph, groups: Sequence[Grown], noted: Noted) -> tuple[list[Finding], list[Finding]]:
    """What grows: leaks, and what is meant to."""
    leaks: list[Finding] = []
    meant: list[Finding] = []
    for one in groups:
        told = growth_finding(graph, one, noted)
        at = step_that_grows(graph, way_of(graph, one.group, one.containers), one)
        (meant if caches.is_meant(told, at) else leaks).append(told)
    return leaks, meant


def judged_later(hunt: Hunt, clear: Clear, about: About) -> HuntReport:
    """What is to be told where the looks show no leak, but other rounds may."""
    findings = list(found_later(hunt, about))
    report = cleared(hunt, clear, about)
    return replace(report, findings=worst_first(findings), limits=(*report.limits, *limits_of_lines(hunt, findings)))


def found_later(hunt: Hunt, about: About, told: Collection[int] = ()) -> Iterator[Finding]:
    """What the rounds tell that come after the looks."""
    if hunt.left_behind is not None:
        for kept in unread(hunt.left_behind, told):
            yield from retained_finding(hunt.left_behind.look.graph, kept, about.is_script, hunt.noted)
    yield from native_findings(hunt.natives)
    if hunt.waiting is not None:
        yield from garbage_findings(garbage_of(hunt.waiting), hunt.noted)


def limits_of_lines(hunt: Hunt, findings: Sequence[Finding]) -> Iterator[str]:
    """Where the program ended before it was recorded where the survivors are created."""
    if findings and not hunt.noted:
        yield "where the survivors are created: the program ended before that was recorded → gradlife hunt --lines …"


def slowing(evidence: Evidence, groups: Sequence[Group]) -> list[Grown]:
    """Of groups that grow in some rounds only those that get less in every one."""
    return [grown(one, evidence) for one in groups if is_slowing(one, evidence) and not is_own(evidence.graph, one)]
