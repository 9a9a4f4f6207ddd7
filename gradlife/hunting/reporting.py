"""The report of a hunt: findings apart from controls, rounds, limits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting import caches
from gradlife.hunting.aside import aside
from gradlife.hunting.controls import Controls, planted_name
from gradlife.hunting.findings import garbage_findings, growth_finding, native_findings, retained_finding, worst_first
from gradlife.hunting.garbage import garbage_of
from gradlife.hunting.groups import Group
from gradlife.hunting.growth import Evidence, Grown, evidence_of, grown, grown_groups, is_slowing
from gradlife.hunting.left_behind import unread
from gradlife.hunting.looks import Look, look
from gradlife.hunting.method import Hunt
from gradlife.hunting.opaque import with_native_parts
from gradlife.hunting.slices import finished_steps
from gradlife.hunting.swelling import place_of, swollen
from gradlife.hunting.weights import minus, weight
from gradlife.model.hunt import Control, Finding, HuntReport, Round

#: Two rounds at least: one tells nothing.
LEAST_LOOKS = 3


@dataclass(frozen=True)
class About:
    """What a report says of its target."""

    target: str
    stepped_by: str
    script_status: int | None = None
    trouble: str = ""
    is_script: bool = False
    has_failed: bool = False  # what the failed step holds is told apart


def report_of(hunt: Hunt, about: About) -> HuntReport:
    """What is known by now. The graphs are gone with the copy of the process that reads them."""
    looks = labelled(hunt)
    return aside(lambda: judged(hunt, looks, about))


def judged(hunt: Hunt, looks: Sequence[Look], about: About) -> HuntReport:
    """What looks tell."""
    if len(looks) < LEAST_LOOKS:
        few = about.trouble or f"only {hunt.steps} steps were seen: too few to tell growth from warming up"
        return HuntReport(about.target, about.stepped_by, hunt.warmup_steps, (), (), trouble=few)
    evidence = evidence_of(looks)
    sure, unsure = grown_groups(evidence)
    swelling = swollen(evidence, sure)
    replaced = [one for one in swelling if place_of(evidence.graph, one) in hunt.replaced]
    sure = with_native_parts(evidence, [*sure, *(one for one in swelling if one not in replaced)])
    mine = [
        one
        for one in sure
        if not planted_name(evidence.graph, one, hunt.controls) and not is_own(evidence.graph, one.group)
    ]
    findings = [growth_finding(evidence.graph, one, hunt.noted) for one in mine]
    explained = [caches.explained(one) for one in findings if caches.is_meant(one)]
    explained += [caches.replaced(growth_finding(evidence.graph, one, hunt.noted)) for one in replaced]
    explained += [caches.slowed(growth_finding(evidence.graph, one, hunt.noted)) for one in slowing(evidence, unsure)]
    findings = [one for one in findings if not caches.is_meant(one)]
    for kept in [] if about.has_failed else finished_steps(evidence, [*sure, *replaced]):
        findings += retained_finding(evidence.graph, kept, about.is_script, hunt.noted)
    if hunt.left_behind is not None:
        told = {evidence.graph.describe(node)[2] for one in sure for node in one.containers}
        for kept in unread(hunt.left_behind, told):
            findings += retained_finding(hunt.left_behind.look.graph, kept, about.is_script, hunt.noted)
    findings += native_findings(hunt.natives)
    if hunt.waiting is not None:
        findings += garbage_findings(garbage_of(hunt.waiting), hunt.noted)
    return HuntReport(
        target=about.target,
        stepped_by=about.stepped_by,
        warmup_steps=hunt.warmup_steps,
        rounds=tuple(rounds_of(evidence, planted_members(evidence, sure, hunt.controls))),
        findings=worst_first(findings),
        explained=tuple(explained),
        controls=tuple(judged_controls(evidence.graph, sure, hunt.controls)),
        limits=(*looks[-1].limits, *limits_of_lines(hunt, findings)),
        script_status=about.script_status,
        trouble=about.trouble,
    )


def limits_of_lines(hunt: Hunt, findings: Sequence[Finding]) -> Iterator[str]:
    """Where the program ended before it was recorded where the survivors are created."""
    if findings and not hunt.noted:
        yield "where the survivors are created: the program ended before that was recorded → gradlife hunt --lines …"


def slowing(evidence: Evidence, groups: Sequence[Group]) -> list[Grown]:
    """Of groups that grow in some rounds only those that get less in every one."""
    return [grown(one, evidence) for one in groups if is_slowing(one, evidence) and not is_own(evidence.graph, one)]


def is_own(graph: _heap.Graph, group: Group) -> bool:
    """Does it hang on the hunt itself?"""
    steps = graph.path_steps(group.tops[0]) if group.anchor is not None else []
    return any(step[2].startswith("gradlife.hunting.") for step in steps)


def labelled(hunt: Hunt) -> Sequence[Look]:
    """The looks, the last of them with labels, which it lacks where the hunt was cut short."""
    looks = hunt.looks
    if len(looks) < 2 or looks[-1].has_labels:
        return looks
    hunt.controls.plant(hunt.steps_now - looks[-1].steps)
    now = look(hunt.steps_now, with_labels=True)
    hunt.note(now)
    is_round = now.steps - looks[-1].steps >= (looks[-1].steps - looks[-2].steps) / 2
    return [*looks, now] if is_round else [*looks[:-1], now]


def rounds_of(evidence: Evidence, planted: Mapping[int, list[int]]) -> list[Round]:
    """What each round added, what the hunt planted in it left out."""
    found = []
    for number, (before, after) in enumerate(itertools.pairwise(evidence.looks)):
        mine = weight(evidence.graph, planted.get(number, ()))
        found.append(Round(after.steps - before.steps, minus(minus(after.totals, before.totals), mine)))
    return found


def planted_members(evidence: Evidence, sure: Sequence[Grown], controls: Controls) -> dict[int, list[int]]:
    """Nodes that the hunt planted, by the round in which it did."""
    members: dict[int, list[int]] = {}
    for one in sure:
        if planted_name(evidence.graph, one, controls):
            for node in one.group.members:
                members.setdefault(evidence.born[node], []).append(node)
    return members


def judged_controls(graph: _heap.Graph, grown: Sequence[Grown], controls: Controls) -> list[Control]:
    """How the hunt judged what it planted."""
    if not controls.are_planted:
        return []
    found = {planted_name(graph, one, controls) for one in grown}
    return [
        Control("a list that keeps a tensor each step", "growth", "growth" if "held" in found else "clean"),
        Control("a context in a cycle through C++", "never", "never" if "cycle" in found else "clean"),
        Control("a ring of two tensors", "clean", "growth" if "clean" in found else "clean"),
    ]
