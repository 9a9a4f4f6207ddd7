"""Find the holders of a test's survivors, and survivors that are meant to stay."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.findings.builder import garbage_finding, growth_finding, worst_first
from gradlife.hunting.findings.diagnosis import versions
from gradlife.hunting.growth import caches
from gradlife.hunting.growth.groups import Group, containers, has_variables, held_groups
from gradlife.hunting.growth.islands import grouped_by_cycle, islands
from gradlife.hunting.growth.reachable_growth import GrownGroup, kind_of
from gradlife.hunting.snapshots.creation_recorder import Recording
from gradlife.hunting.snapshots.node_weights import NATIVE, weight
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.survivors import Births
from gradlife.model.hunt import UNKNOWN_CODE, Explained, Finding, FindingKind
from gradlife.model.trace import Lifetime, Trace
from gradlife.patterns import diagnose
from gradlife.pytest_plugin.checks.library_tables import library_table
from gradlife.pytest_plugin.checks.native_survivors import LEAST
from gradlife.pytest_plugin.checks.why_alive import Heap, heap_of_now

#: Types whose attributes legitimately keep a model's data: gradients, moments.
OPTIMIZER = "torch.optim.optimizer.Optimizer"

#: Test runners, whose own objects keep things only until they continue.
RUNNERS = ("_pytest.", "pluggy.", "xdist.", "pytest_")

#: What `with pytest.raises(...) as error` gives: with the frame that has the variable `error` it makes a cycle.
RAISED_ERROR = "_pytest._code.code.ExceptionInfo"


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
            result = finding_of(heap, group, born)
            is_hidden = not hidden.isdisjoint(group.members) and fresh.isdisjoint(group.members)
            is_unsure = is_hidden and group.anchor is None and result.retained_bytes < LEAST
            why = unsure(result) if is_unsure else meant(result)
            if why is None and group.anchor is not None:
                why = library_table(graph, result, group.members)
            if why is None:
                found.append(as_left_once(result))
            else:
                explained.append(why)
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


def finding_of(heap: Heap, group: Group, born: Births) -> Finding:
    """Convert a group to a finding; an unreachable group that the collector can free is garbage.

    One run does not show that a module or a function gets ever more variables.
    """
    graph = heap.graph
    if group.anchor is None and graph.explain(next(iter(group.members)))["lifetime"] == Lifetime.GC.value:
        return garbage_finding(graph, group, 1, heap.creation_sites)
    found = containers(graph, group, born) if group.anchor is not None else []
    held_by = tuple(one for one in found if not has_variables(graph, one))
    return growth_finding(
        graph, GrownGroup(group, weight(graph, group.members), kind_of(group, held_by), held_by), heap.creation_sites
    )


def as_left_once(found: Finding) -> Finding:
    """Reclassify a finding that one run cannot show to grow: an object in a variable or an attribute may be replaced by
    the next run.
    """
    if found.kind is not FindingKind.GROWTH or is_in_container(found.trace):
        return found
    diagnosis = diagnose(found.trace, FindingKind.RETAINED, found.lifetime, versions=versions())
    return found if diagnosis.code == UNKNOWN_CODE else replace(found, kind=FindingKind.RETAINED, diagnosis=diagnosis)


def is_in_container(trace: Trace) -> bool:
    """Whether the last Python reference on the path is an item of a container."""
    names = [step.via for step in trace.steps if step.via.startswith((".", "[")) or "variable" in step.via]
    return bool(names) and names[-1].startswith("[")


def unsure(finding: Finding) -> Explained:
    """Explain native survivors that may be older than the test: smaller amounts were not searched for at its start."""
    return Explained("too small to assign to a test", "held by native code", round(finding.per_step.bytes))


def meant(finding: Finding) -> Explained | None:
    """Return why a survivor is not a leak; None if it is one."""
    steps = finding.trace.steps
    if finding.lifetime is Lifetime.GC and any(step.is_a(RAISED_ERROR) for step in finding.trace.cycle):
        return Explained("kept until the collector runs", "the error of pytest.raises", finding.retained_bytes)
    if caches.is_meant(finding):
        return caches.explained(finding)
    for step, after in itertools.pairwise(steps):
        if step.via == "grad" and after.object in {"Tensor", "TensorImpl"} and not finding.per_step.graph_nodes:
            return Explained("gradient", f"of {step.object} {step.detail}".strip(), finding.retained_bytes)
        if step.is_a(OPTIMIZER) and step.via.startswith(".state"):
            return Explained("optimizer state", step.object, finding.retained_bytes)
    return None
