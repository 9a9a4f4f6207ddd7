"""One cause, one finding: what grows behind a hook that is registered again and again is a part of that hook's finding.

Each step runs all hooks that were ever registered. Whatever those keep grows with their number, in as many places as there
are hooks, and ends with the cause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.hunting.findings.severity import RUN_EACH_STEP
from gradlife.hunting.growth.groups import has_variables
from gradlife.hunting.growth.reachable_growth import Grown
from gradlife.hunting.snapshots.node_weights import plus
from gradlife.hunting.snapshots.retained_types import added_up
from gradlife.model.hunt import Finding

#: References between a hook and what its owner keeps: a method, its object, the object's dict.
MOST_BETWEEN = 3

#: Hooks that are asked what they lead to.
MOST_ASKED = 8


@dataclass(frozen=True)
class GrowingGroup:
    """A group that grows, with its finding."""

    grown: Grown
    finding: Finding

    @property
    def places(self) -> tuple[int, ...]:
        """The containers that gain items, or the object that the group hangs on."""
        anchor = self.grown.group.anchor
        return self.grown.containers or ((anchor,) if anchor else ())


def one_per_cause(graph: _heap.Graph, groups: Sequence[GrowingGroup]) -> list[Finding]:
    """The findings, with what grows behind hooks counted below the hooks that grow most."""
    hooks = sorted(filter(is_hook, groups), key=lambda one: -rate(one.finding))
    if not hooks:
        return [one.finding for one in groups]
    causes: list[GrowingGroup] = []
    behind: dict[int, list[GrowingGroup]] = {}
    for one in hooks:
        lead = next((number for number, cause in enumerate(causes) if is_same_cause(graph, cause, one)), None)
        if lead is None:
            causes.append(one)
        else:
            behind.setdefault(lead, []).append(one)
    registries = {number: registries_of([cause, *behind.get(number, ())]) for number, cause in enumerate(causes)}
    others: list[Finding] = []
    for one in groups:
        if is_hook(one):
            continue
        lead = next((number for number, nodes in registries.items() if is_behind(graph, nodes, one)), None)
        if lead is None:
            others.append(one.finding)
        else:
            behind.setdefault(lead, []).append(one)
    found = [with_consequences(cause.finding, behind.get(number, ())) for number, cause in enumerate(causes)]
    return [*found, *others]


def is_hook(one: GrowingGroup) -> bool:
    """Is it something that each step runs all of?"""
    return one.finding.code in RUN_EACH_STEP and bool(one.places)


def rate(one: Finding) -> float:
    """Return the bytes per step."""
    return max(one.per_step.bytes, one.per_step.retained_bytes)


def registries_of(hooks: Iterable[GrowingGroup]) -> frozenset[int]:
    """The containers that have the hooks of one cause."""
    return frozenset(node for one in hooks for node in one.places)


def is_behind(graph: _heap.Graph, registries: frozenset[int], one: GrowingGroup) -> bool:
    """Does the path to what gets more lead through one of the hooks?"""
    return any(not registries.isdisjoint(graph.path(node)) for node in one.places) and registries.isdisjoint(one.places)


def is_same_cause(graph: _heap.Graph, cause: GrowingGroup, other: GrowingGroup) -> bool:
    """Are these hooks of one object, or of one function, on several modules?"""
    if hook_of(cause) is not None and hook_of(cause) == hook_of(other):
        return True
    sample = other.grown.group.tops[:MOST_ASKED]
    return bool(sample) and all(leads_to(graph, top, cause.grown.group.members.keys()) for top in sample)


def hook_of(one: GrowingGroup) -> tuple[str, str] | None:
    """The function that the container holds: ``("method", "Extractor.save (cam.py:9)")``."""
    steps, at = one.finding.trace.steps, one.finding.grows_at
    return (steps[at + 1].object, steps[at + 1].detail) if at is not None and at + 1 < len(steps) else None


def leads_to(graph: _heap.Graph, start: int, members: Iterable[int]) -> bool:
    """Does an object refer to one of these, or to something that does? What all code of a module refers to tells nothing."""
    wanted, front = set(members) - {start}, {start}
    for _ in range(MOST_BETWEEN):
        front = {one for node in front for one in graph.referents(node) if not is_shared(graph, one)}
        if not front.isdisjoint(wanted):
            return True
    return False


def is_shared(graph: _heap.Graph, node: int) -> bool:
    """Is this a module, a class, or the variables of a module?"""
    return graph.type(node) in {"module", "type"} or has_variables(graph, node)


def with_consequences(cause: Finding, behind: Sequence[GrowingGroup]) -> Finding:
    """The finding of a cause, with what grows because of it."""
    for one in behind:
        cause = replace(
            cause,
            per_step=plus(cause.per_step, one.finding.per_step),
            survivors=cause.survivors + one.finding.survivors,
            retained_bytes=cause.retained_bytes + one.finding.retained_bytes,
            retained_types=added_up((*cause.retained_types, *one.finding.retained_types)),
            consequences=cause.consequences + 1,
        )
    return cause
