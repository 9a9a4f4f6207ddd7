"""Find the holders of a test's survivors, and survivors that are meant to stay."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.findings.builder import garbage_finding, worst_first
from gradlife.hunting.findings.diagnosis import versions
from gradlife.hunting.findings.expectations import judge
from gradlife.hunting.findings.growth_facts import Facts, facts_of
from gradlife.hunting.findings.severity import room_now
from gradlife.hunting.growth.groups import Group, containers, has_variables, held_groups
from gradlife.hunting.growth.islands import grouped_by_cycle, islands
from gradlife.hunting.growth.reachable_growth import GrownGroup, kind_of
from gradlife.hunting.snapshots.creation_recorder import Recording
from gradlife.hunting.snapshots.node_weights import NATIVE, weight
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.survivors import Births
from gradlife.hunting.stores.place import HOLDS, place_at
from gradlife.model.hunt import UNKNOWN_CODE, Explained, Finding, FindingKind
from gradlife.model.trace import Lifetime, PathStep, Trace
from gradlife.patterns import diagnose
from gradlife.pytest_plugin.checks.native_survivors import LEAST
from gradlife.pytest_plugin.checks.why_alive import Heap, heap_of_now

#: Test runners, whose own objects keep things only until they continue.
RUNNERS = ("_pytest.", "pluggy.", "xdist.", "pytest_")


@dataclass(frozen=True)
class Outliving:
    """The survivors of a test."""

    findings: tuple[Finding, ...] = ()
    explained: tuple[Explained, ...] = ()


def outliving(
    young: Sequence[int], nodes: Collection[int], recording: Recording, native_survivors: Collection[int] = ()
) -> Outliving:
    """Find what keeps the objects and new grad nodes at these addresses, and large native survivors that no young
    object leads to. Call it in a fork.
    """
    nodes = {*nodes, *native_survivors}
    heap = heap_of_now(recording)
    if len(heap.graph.find_all(list(nodes))) < len(nodes):  # some are unreachable from Python
        heap = heap_of_now(recording, has_natives=True)
    graph = heap.graph
    fresh = set(graph.find_all(list(young)).values())
    made = {node for node in graph.find_all(list(nodes)).values() if not is_wrapped(graph, node)}
    hidden = set(graph.find_all(list(native_survivors)).values()) - fresh
    born: Births = dict.fromkeys((*carrying(graph, fresh), *made), 0)
    held = [group for group in held_groups(graph, born) if not is_of_runner(graph, group, fresh)]
    lost = [
        group for group in grouped_by_cycle(graph, islands(graph, born)) if not (fresh | made).isdisjoint(group.members)
    ]
    found: list[Finding] = []
    explained: list[Explained] = []
    for group in (*held, *lost):
        if has_natives(graph, group):
            facts = facts_of_group(heap, group, born)
            is_hidden = not hidden.isdisjoint(group.members) and fresh.isdisjoint(group.members)
            is_undated = is_hidden and group.anchor is None and facts.finding.retained_bytes < LEAST
            judged = judge(replace(facts, is_undated=is_undated))
            found += [as_left_once(judged.finding)] if judged.is_leak and judged.finding is not None else []
            explained += [judged.explained] if judged.explained is not None else []
    return Outliving(worst_first(found), tuple(explained))


def carrying(graph: _heap.Graph, fresh: set[int]) -> set[int]:
    """Return the unreachable young objects, the young objects that alone keep torch objects, and these torch objects."""
    natives = [node for name, kind, _, _ in graph.census() if kind in NATIVE for node in graph.nodes(kind, name)]
    found = {node for node in fresh if not graph.path(node)}
    for node in natives:
        path = [node, *dominators(graph, node)]
        first = next((at for at, one in enumerate(path) if graph.kind(one) == "python"), len(path))
        above = itertools.takewhile(fresh.__contains__, path[first:])
        kept = [*path[:first], *above] if first < len(path) and path[first] in fresh else []
        found.update(kept)
        if not graph.path(node):
            found.add(node)
    return found


def is_wrapped(graph: _heap.Graph, node: int) -> bool:
    """Whether a Python object wraps this tensor. An old one belongs to an earlier time or a wider fixture."""
    if graph.kind(node) != "tensor":
        return False
    return any(graph.kind(one) == "python" for one in graph.referrers(node))


def has_natives(graph: _heap.Graph, group: Group) -> bool:
    """Whether it contains a tensor, a storage or a grad node."""
    return any(graph.kind(node) in NATIVE for node in group.members)


def is_of_runner(graph: _heap.Graph, group: Group, fresh: set[int]) -> bool:
    """Whether the test runner or a newly imported module keeps it."""
    if group.anchor is None:
        return False
    path = graph.path(group.tops[0])
    if any(node in fresh and graph.type(node) == "module" for node in path):
        return True
    rows = graph.path_references(group.tops[0])
    starts = rows[0].kind == "root" and rows[0].type == RUNNING_FRAME and rows[0].detail in running_here()
    last = max((at for at, row in enumerate(rows) if row.type.startswith(RUNNERS)), default=-1)
    is_fixture = 0 <= last < len(rows) - 1 and any("cached_result" in row.label for row in rows[last : last + 2])
    return (starts or last >= 0) and not is_fixture


def running_here() -> set[str]:
    """Return this thread's running functions as the graph names them: pytest's, once the test has returned."""
    found = set()
    frame = sys._getframe()
    while frame is not None:
        code = frame.f_code
        found.add(f"{code.co_name} ({os.path.basename(code.co_filename)}:{frame.f_lineno})")
        frame = frame.f_back  # type: ignore[assignment]
    return found


def facts_of_group(heap: Heap, group: Group, born: Births) -> Facts:
    """Return the facts about a group; an unreachable group that the collector can free is garbage.

    One run does not show that a module or a function gets ever more variables.
    """
    graph = heap.graph
    if group.anchor is None and graph.explain(next(iter(group.members)))["lifetime"] == Lifetime.GC.value:
        return Facts(garbage_finding(graph, group, 1, heap.creation_sites), left_by_run=born.keys())
    found = containers(graph, group, born) if group.anchor is not None else []
    held_by = tuple(one for one in found if not has_variables(graph, one))
    grown = GrownGroup(group, weight(graph, group.members), kind_of(group, held_by), held_by)
    return facts_of(graph, grown, heap.creation_sites, room=room_now(0.0), left_by_run=born.keys())


def as_left_once(found: Finding) -> Finding:
    """Reclassify a finding that one run cannot show to grow: an object in a variable or an attribute may be replaced by
    the next run.
    """
    if found.kind is not FindingKind.GROWTH or is_in_container(found.trace):
        return found
    diagnosis = diagnose(found.trace, FindingKind.RETAINED, found.lifetime, versions=versions())
    return found if diagnosis.code == UNKNOWN_CODE else replace(found, kind=FindingKind.RETAINED, diagnosis=diagnosis)


def is_in_container(trace: Trace) -> bool:
    """Whether the last reference that a program writes as code is one to an item of a container."""
    written = (step for step in reversed(trace.steps) if is_to_item(step) or place_at(step) is not None)
    last = next(written, None)
    return last is not None and is_to_item(last)


def is_to_item(step: PathStep) -> bool:
    """Whether it refers to an item, or to a numbered member of a module."""
    if not step.hops:
        return False
    is_direct = len(step.hops) == 1 and step.relation in HOLDS and step.type != "tuple"
    return is_direct or step.hops[-1].label.strip("'").isdigit()
