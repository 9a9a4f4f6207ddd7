"""One finding per cause: growth behind a hook that is registered repeatedly is a part of that hook's finding.

Each step runs all hooks ever registered. Whatever those hooks keep grows with their number, and ends with the cause.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.hunting.findings.severity import RUN_EACH_STEP
from gradlife.hunting.growth.groups import has_variables
from gradlife.hunting.growth.reachable_growth import GrownGroup
from gradlife.hunting.snapshots.node_weights import plus
from gradlife.hunting.snapshots.retained_types import added_up
from gradlife.hunting.stores.place import places_outward
from gradlife.model.hunt import UNKNOWN_CODE, Finding

#: The code of what a metric keeps.
METRIC = "GL514"

#: Most references between a hook and what its owner keeps: a method, its object, the object's dict.
MAX_BETWEEN = 3

#: Hooks whose referents are checked.
MAX_SAMPLE = 8

#: Most places that one line fills whose paths are kept, for a proof.
MAX_PLACES = 50

#: Of the fastest rate, what another has that is about as fast. malloc's blocks of equal tensors differ by 0.4 % a step.
ALIKE = 0.9


@dataclass(frozen=True)
class GrowingGroup:
    """A group that grows, with its finding."""

    grown: GrownGroup
    finding: Finding

    @property
    def places(self) -> tuple[int, ...]:
        """Return the containers that gain items, or the object that holds the group."""
        anchor = self.grown.group.anchor
        return self.grown.containers or ((anchor,) if anchor else ())


def one_per_cause(graph: _heap.Graph, groups: Sequence[GrowingGroup]) -> list[Finding]:
    """Return one finding per cause: growth behind hooks is counted with the hooks that grow most; the states of a metric
    together, the containers that one statement fills, and those that differ in a number of their path alone; what is made anew
    of something that grows, with that.
    """
    groups = with_copies(merged(merged(merged(groups, metric_of), statement_of), twins_of))
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


def merged(groups: Sequence[GrowingGroup], cause_of: Callable[[Finding], tuple[Hashable, ...]]) -> list[GrowingGroup]:
    """Merge the groups with the same cause, if it is known. The outermost container that grows leads, else the fastest."""
    causes: dict[tuple[Hashable, ...], list[GrowingGroup]] = {}
    for one in groups:
        causes.setdefault(cause_of(one.finding) or (str(id(one)),), []).append(one)
    return [led(ones) for ones in causes.values()]


def led(groups: Sequence[GrowingGroup]) -> GrowingGroup:
    """Count all of these groups below one of them: of those that grow about as fast, the first by its path, in every run."""
    outermost = min(one.finding.grows_at or 0 for one in groups)
    outer = [one for one in groups if (one.finding.grows_at or 0) == outermost]
    fastest = max(rate(one.finding) for one in outer)
    lead = min((one for one in outer if rate(one.finding) >= ALIKE * fastest), key=path_of)
    others = [one for one in groups if one is not lead]
    also = [trace for one in others for trace in (one.finding.trace, *one.finding.also_grows)]
    traces = (*lead.finding.also_grows, *also)[:MAX_PLACES]
    return replace(lead, finding=replace(with_consequences(lead.finding, others), also_grows=traces))


def path_of(one: GrowingGroup) -> tuple[str, ...]:
    """Return the references that lead to what grows."""
    return tuple(step.via for step in one.finding.trace.steps)


def with_copies(groups: Sequence[GrowingGroup]) -> list[GrowingGroup]:
    """Count what each step makes anew of something that grows with that: the text of a log, an array of a list."""
    names = {id(one): name_of(one.finding) for one in groups}
    parts = {id(one): made_of(one.finding) for one in groups}
    copies: dict[int, list[GrowingGroup]] = {}
    found = []
    for one in groups:
        sources = (other for other in groups if names[id(other)] in parts[id(one)] and not parts[id(other)])
        source = next(sources, None)
        if source is None:
            found.append(one)
        else:
            copies.setdefault(id(source), []).append(one)
    return [replace(one, finding=with_consequences(one.finding, copies.get(id(one), ()))) for one in found]


def name_of(one: Finding) -> str:
    """Return the name of the variable or the attribute nearest to what grows; "" if it has none."""
    last = len(one.trace.steps) - 1 if one.grows_at is None else one.grows_at - 1
    return next((place.name for _, place in places_outward(one.trace.steps, last)), "")


def made_of(one: Finding) -> Set[str]:
    """Return the names in the statement that computes a value anew which gets larger; empty if its own is among them."""
    if one.grows_at is not None or one.stored_at is None:
        return set()
    with suppress(SyntaxError):
        for node in ast.parse(one.stored_at.source.strip()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                parts = [*ast.walk(node.value)]
                found = {part.id for part in parts if isinstance(part, ast.Name)}
                found |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
                return found if name_of(one) not in found else set()
    return set()


def statement_of(one: Finding) -> tuple[Hashable, ...]:
    """Return the line that stores, and the path to the outermost container; empty if either is unknown.

    One statement stores in many containers of one container: `lists[key].append(result)`.
    """
    steps = one.trace.steps
    first = next((at for at, step in enumerate(steps) if step.length is not None), None)
    if one.stored_at is None or first is None:
        return ()
    return (one.stored_at.file, str(one.stored_at.line), *(step.reference for step in steps[:first]))


def metric_of(one: Finding) -> tuple[Hashable, ...]:
    """Return the path to the metric whose state grows; empty if it is no such state."""
    if one.code != METRIC:
        return ()
    at = len(one.trace.steps) - 1 if one.grows_at is None else one.grows_at
    return tuple(step.reference for step in one.trace.steps[: at - 1])


def twins_of(one: Finding) -> tuple[Hashable, ...]:
    """Return what the first screen shows of a finding, without numbers: the lists of two threads, or the parts of two layers,
    are one cause. Empty if its pattern, its container or the line that made or stored it is unknown.
    """
    if one.code == UNKNOWN_CODE or one.grows_at is None or not (one.created_at or one.stored_at):
        return ()
    line = (one.stored_at.file, str(one.stored_at.line)) if one.stored_at is not None else ("", "")
    path = ((step.object, step.numberless_reference) for step in one.trace.steps[: one.grows_at])
    return (one.code, *line, *one.created_at, *path)


def is_hook(one: GrowingGroup) -> bool:
    """Whether the group consists of hooks or handlers that every step runs."""
    return one.finding.code in RUN_EACH_STEP and bool(one.places)


def rate(one: Finding) -> float:
    """Return the bytes that a finding adds per step."""
    return max(one.per_step.bytes, one.per_step.retained_bytes)


def registries_of(hooks: Iterable[GrowingGroup]) -> frozenset[int]:
    """Return the containers that hold the hooks of one cause."""
    return frozenset(node for one in hooks for node in one.places)


def is_behind(graph: _heap.Graph, registries: frozenset[int], one: GrowingGroup) -> bool:
    """Whether the path to the growth leads through one of the hooks."""
    return any(not registries.isdisjoint(graph.path(node)) for node in one.places) and registries.isdisjoint(one.places)


def is_same_cause(graph: _heap.Graph, cause: GrowingGroup, other: GrowingGroup) -> bool:
    """Whether the hooks belong to one object, or are one function on several modules."""
    if hook_of(cause) is not None and hook_of(cause) == hook_of(other):
        return True
    sample = other.grown.group.tops[:MAX_SAMPLE]
    return bool(sample) and all(leads_to(graph, top, cause.grown.group.members.keys()) for top in sample)


def hook_of(one: GrowingGroup) -> tuple[str, str] | None:
    """Return the function that the container holds: ``("method", "Extractor.save (cam.py:9)")``."""
    steps, at = one.finding.trace.steps, one.finding.grows_at
    return (steps[at + 1].object, steps[at + 1].detail) if at is not None and at + 1 < len(steps) else None


def leads_to(graph: _heap.Graph, start: int, members: Iterable[int]) -> bool:
    """Whether an object refers to one of these nodes, directly or indirectly. References shared by a whole module do
    not count.
    """
    wanted, front = set(members) - {start}, {start}
    for _ in range(MAX_BETWEEN):
        front = {one for node in front for one in graph.referents(node) if not is_shared(graph, one)}
        if not front.isdisjoint(wanted):
            return True
    return False


def is_shared(graph: _heap.Graph, node: int) -> bool:
    """Whether the node is a module, a class, or a module's variables."""
    return graph.type(node) in {"module", "type"} or has_variables(graph, node)


def with_consequences(cause: Finding, behind: Sequence[GrowingGroup]) -> Finding:
    """Add the growth that follows from a cause to the cause's finding."""
    for one in behind:
        cause = replace(
            cause,
            per_step=plus(cause.per_step, one.finding.per_step),
            survivors=cause.survivors + one.finding.survivors,
            retained_bytes=cause.retained_bytes + one.finding.retained_bytes,
            retained_types=added_up((*cause.retained_types, *one.finding.retained_types)),
            consequences=cause.consequences + 1 + one.finding.consequences,
        )
    return cause
