"""Findings from grown groups and garbage: kind, lifetime, trace and diagnosis of each, sorted by severity."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.findings.diagnosis import finding
from gradlife.hunting.findings.holder_path import find_holder_path, growing_on, growth_in_trace, other_holders
from gradlife.hunting.findings.leak_trace import (
    best_members,
    explain,
    heaviest,
    held_trace,
    in_cycle,
    lost_trace,
    raw_path,
)
from gradlife.hunting.growth.garbage import Garbage
from gradlife.hunting.growth.groups import Group, all_tops
from gradlife.hunting.growth.islands import cycle_members
from gradlife.hunting.growth.reachable_growth import GrownGroup
from gradlife.hunting.snapshots.cast_cache import HOLDER
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.native_objects import MIN_NATIVE_SNAPSHOTS, Unreached, grows
from gradlife.hunting.snapshots.node_weights import PROCESS_GROUP, plain_bytes, plus, weight
from gradlife.hunting.snapshots.retained import Kept, dominators
from gradlife.hunting.snapshots.retained_types import added_up, types_of, types_retained
from gradlife.hunting.snapshots.siblings import with_siblings
from gradlife.hunting.snapshots.step_snapshots import names_below, storage_content, tensor_type_names
from gradlife.model.heap import TypeCount
from gradlife.model.hunt import (
    EVEN_SHARE,
    MIN_MALLOC_BYTES,
    Amounts,
    CollectorWait,
    Finding,
    FindingKind,
    HuntReport,
    Round,
    Severity,
    grows_evenly,
    malloc_rates,
)
from gradlife.model.trace import PROFILED, UNHELD, Ledger, Lifetime, Trace
from gradlife.safe_access import loaded

#: The dict of `threading` that holds the running threads.
RUNNING_THREADS = "_active"

#: What is counted in C++ and no object of Python leads to: storages, else grad nodes.
COUNTED = ("StorageImpl", "grad node")

ORDER = [FindingKind.GROWTH, FindingKind.NEVER, FindingKind.NATIVE, FindingKind.RETAINED, FindingKind.NEEDS_GC]


def growth_finding(graph: _heap.Graph, grown: GrownGroup, creation_sites: CreationSites) -> Finding:
    """Build the finding of a group that grows."""
    path = find_holder_path(graph, grown)
    if grown.group.anchor is not None:
        kind, lifetime, trace = (
            FindingKind.GROWTH,
            Lifetime.HELD,
            held_trace(graph, path.node, path.nodes, growing=growing_on(path, grown)),
        )
        raw = raw_path(graph, path.node, path.nodes)
    else:
        trace = lost_trace(graph, path.node, Lifetime.NEVER)
        kind, lifetime = FindingKind.NEVER if trace.cycle else FindingKind.NATIVE, Lifetime.NEVER
        raw = explain(graph, path.node)["tail"]
        if grown.unseen_holder is not None:
            trace = replace(trace, ledger=replace(trace.ledger, native=(grown.unseen_holder,)))
    trace = with_siblings(graph, trace, raw, grown.group.members)
    one = finding(
        kind,
        lifetime,
        as_alias(trace) if is_alias(graph, grown.group, path.node, path.holder) else trace,
        grown.per_step,
        survivors=len(grown.group.members),
        retained_bytes=retained(graph, grown.group),
        retained_types=retained_types(graph, grown.group),
        created_at=creation_sites.lines(graph, creation_candidates(graph, grown.group, path.node, path.holder)),
        executed=creation_sites.executed,
        growth=growth_in_trace(graph, path, grown),
        also_held_by=other_holders(graph, grown.group, path),
        arrivals=grown.arrivals,
    )
    holders = () if path.holder is None else (path.holder, *path.others)
    return replace(one, is_running=any(is_running_threads(graph, node) for node in holders))


def is_running_threads(graph: _heap.Graph, container: int) -> bool:
    """Whether it is the dict of `threading` that holds the running threads."""
    return any(link.label.strip("'") == RUNNING_THREADS for link in graph.path_references(container))


def is_alias(graph: _heap.Graph, group: Group, node: int, holder: int | None) -> bool:
    """Whether something outside the group keeps the shown tensor's storage alive."""
    storage = storage_of(graph, node)
    above = holder if holder is not None else group.anchor
    if storage is None or above is None or storage in group.members:
        return False
    return above not in dominators(graph, storage)


def storage_of(graph: _heap.Graph, node: int) -> int | None:
    """Return the storage behind a tensor's Python object."""
    impls = (one for one in graph.referents(node) if graph.kind(one) == "tensor")
    return next((one for impl in impls for one in graph.referents(impl) if graph.kind(one) == "storage"), None)


def as_alias(trace: Trace) -> Trace:
    """Mark the trace's tensor as an alias: its storage belongs to another tensor."""
    return replace(trace, tensor=replace(trace.tensor, is_alias=True)) if trace.tensor is not None else trace


def creation_candidates(
    graph: _heap.Graph, group: Group, node: int, holder: int | None = None
) -> Iterator[Iterable[int]]:
    """Yield nodes whose creation lines may stand for the group: the shown one first, then others like it."""
    yield [node]
    yield best_members(graph, group, holder)
    yield heaviest(graph, group.members)
    kind, name = graph.kind_and_type(node)
    yield [one for one in group.members if graph.kind_and_type(one) == (kind, name)]
    yield group.tops
    yield group.members


def retained_finding(graph: _heap.Graph, kept: Kept, is_script: bool, creation_sites: CreationSites) -> list[Finding]:
    """Build the finding of a finished step that is still held; none if a variable of a script holds it."""
    shown = object_to_show(graph, kept)
    trace = with_siblings(graph, held_trace(graph, shown), raw_path(graph, shown), kept.storages)
    if is_script and is_variable(trace):
        return []
    return [
        finding(
            FindingKind.RETAINED,
            Lifetime.HELD,
            trace,
            Amounts(),
            survivors=len(kept.storages),
            retained_bytes=kept.bytes,
            retained_types=types_of(graph, kept.storages),
            created_at=creation_sites.lines(graph, [[shown], kept.storages]),
            executed=creation_sites.executed,
        )
    ]


def native_findings(natives: Sequence[Unreached], creation_sites: CreationSites) -> list[Finding]:
    """Build findings for storages and nodes that Python does not reach and that increase in every round."""
    if len(natives) < MIN_NATIVE_SNAPSHOTS or not all(map(grows, natives, natives[1:])):
        return []
    rate = natives[-1].since(natives[0])
    count = natives[-1].counts["storage"] - natives[0].counts["storage"]
    trace = Trace(COUNTED[not rate.storages], "of which nothing in Python knows", Lifetime.NEVER, (), (), Ledger(0, ()))
    nbytes = max(0, natives[-1].bytes - natives[0].bytes)
    one = finding(
        FindingKind.NATIVE,
        Lifetime.NEVER,
        trace,
        rate,
        survivors=max(1, count),
        retained_bytes=nbytes,
        executed=creation_sites.executed,
    )
    return [one]


def with_casts_and_their_weights(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with torch.autocast's casts, to which no object of Python leads, as a part of their weights."""
    weights = next((one for one in findings if HOLDER in one.trace.ledger.native), None)
    casts = [one for one in findings if one.kind is FindingKind.NATIVE and one.trace.object in COUNTED]
    if weights is None or not casts:
        return [*findings]
    return [
        functools.reduce(together, [weights, *casts]) if one is weights else one for one in findings if one not in casts
    ]


def unheld_memory(report: HuntReport) -> Finding:
    """Build the finding of memory that malloc hands out at an even rate per step and that belongs to no object."""
    detail = PROFILED if is_profiling() else "of malloc, which no object has"
    trace = Trace(UNHELD, detail, Lifetime.NEVER, (), (), Ledger(0, ()))
    rate = Amounts(bytes=report.unheld_rate, retained_bytes=report.unheld_rate)
    return finding(FindingKind.NATIVE, Lifetime.NEVER, trace, rate, survivors=0, retained_bytes=0)


def is_profiling() -> bool:
    """Whether a profiler of torch records in this thread."""
    autograd = loaded("torch.autograd")
    return autograd is not None and bool(autograd._profiler_enabled())


def with_native_blocks(findings: Iterable[Finding], rounds: Sequence[Round]) -> list[Finding]:
    """Count malloc memory that no finding explains as part of the largest native finding.

    The nodes and names of a TorchScript graph, for example, take more memory than its tensors and cannot be counted. Nor
    can what a process group has in C++, or what malloc and the interpreter keep for each running thread.
    """
    found = list(findings)
    native = max(filter(has_native_blocks, found), key=largest_rate, default=None)
    rates = malloc_rates([one for one in rounds if one.steps])
    if native is None or not grows_evenly(rates, MIN_MALLOC_BYTES, EVEN_SHARE):
        return found
    others = sum(largest_rate(one) for one in found if one is not native and one.kind is not FindingKind.NEEDS_GC)
    rate = max(native.per_step.retained_bytes, min(rates) - others)
    whole = replace(native, per_step=replace(native.per_step, retained_bytes=rate))
    return [whole if one is native else one for one in found]


def has_native_blocks(one: Finding) -> bool:
    """Whether the finding may be about more memory of malloc than its objects show."""
    last = one.trace.steps[-1].type if one.trace.steps else ""
    return one.kind is FindingKind.NATIVE or one.is_running or last in names_below(*PROCESS_GROUP)


def largest_rate(one: Finding) -> float:
    """Return the bytes that a finding adds per step."""
    return max(one.per_step.bytes, one.per_step.retained_bytes)


def object_to_show(graph: _heap.Graph, kept: Kept) -> int:
    """Return the object to show for a kept group: the Python tensor nearest to its largest storage, if there is one."""
    tensors = tensor_type_names()
    if graph.type(kept.storages[0]) in tensors:  # unread tensors, which are shown themselves
        return kept.owner
    most = max(storage_content(graph, node) for node in kept.storages)
    nodes = [node for node in kept.storages if storage_content(graph, node) == most]
    paths = [graph.path(node) for node in nodes]
    shortest = min((path for path in paths if path), key=len, default=nodes[:1])
    return next((node for node in reversed(shortest) if graph.type(node) in tensors), shortest[-1])


def is_variable(trace: Trace) -> bool:
    """Whether a variable of a running frame or the main module holds the node, directly or through containers only."""
    first = trace.steps[0] if trace.steps else None
    if first is None or not (first.object == RUNNING_FRAME or (first.object, first.detail) == ("module", "__main__")):
        return False
    for step in trace.steps[1:]:
        if step.bases and "torch._C.TensorBase" in step.bases:
            return True
        if step.type not in {"list", "tuple", "dict"}:
            return False
    return False


def garbage_findings(garbage: Garbage, creation_sites: CreationSites) -> Iterable[Finding]:
    """Build a finding for each kind of garbage that waits for the cyclic collector.

    A new object at the address of a freed one counts as old and is missing from its island. Both islands have the
    same trace, so they become one finding.
    """
    found: dict[str, Finding] = {}
    for group in garbage.groups:
        one = garbage_finding(garbage.graph, group, garbage.steps, creation_sites)
        found[one.fingerprint] = together(found[one.fingerprint], one) if one.fingerprint in found else one
    return [replace(one, waits=wait_of(one, garbage)) for one in found.values()]


def wait_of(one: Finding, garbage: Garbage) -> CollectorWait | None:
    """Return how much of this garbage waits until the program's own collector runs; None if that is not known."""
    if not garbage.threshold or not garbage.new_objects:
        return None
    nbytes = max(one.per_step.bytes, one.per_step.retained_bytes)
    waits = CollectorWait(garbage.threshold, garbage.new_objects, 0)
    return replace(waits, bytes=round(nbytes * waits.steps))


def together(one: Finding, other: Finding) -> Finding:
    """Merge two findings of one kind, named after the first."""
    return replace(
        one,
        per_step=plus(one.per_step, other.per_step),
        survivors=one.survivors + other.survivors,
        retained_bytes=one.retained_bytes + other.retained_bytes,
        retained_types=added_up((*one.retained_types, *other.retained_types)),
    )


def garbage_finding(graph: _heap.Graph, group: Group, steps: int, creation_sites: CreationSites) -> Finding:
    """Build the finding of a group that waits for the cyclic collector."""
    node = in_cycle(graph, group)
    trace = with_siblings(graph, lost_trace(graph, node, Lifetime.GC), explain(graph, node)["tail"], group.members)
    rate = weight(graph, group.members, steps)
    return finding(
        FindingKind.NEEDS_GC,
        Lifetime.GC,
        trace,
        rate,
        survivors=len(group.members),
        retained_bytes=round(rate.bytes * steps),
        retained_types=types_of(graph, group.members),
        created_at=creation_sites.lines(graph, garbage_candidates(graph, group, node)),
        executed=creation_sites.executed,
    )


def garbage_candidates(graph: _heap.Graph, group: Group, node: int) -> Iterator[Iterable[int]]:
    """Yield nodes whose creation lines may stand for garbage: its cycle first. What it holds may be older."""
    inside = cycle_members(graph, group.members)
    yield [node] if node in inside else []
    yield sorted(inside)
    yield from creation_candidates(graph, group, node)


def retained(graph: _heap.Graph, group: Group) -> int:
    """Return the bytes that would be freed with the group."""
    if group.anchor is not None:
        return sum(graph.retained(node) for node in all_tops(graph, group))
    return plain_bytes(graph, group.members)


def retained_types(graph: _heap.Graph, group: Group) -> tuple[TypeCount, ...]:
    """Count the types that would be freed with the group."""
    return types_retained(graph, all_tops(graph, group)) if group.anchor is not None else types_of(graph, group.members)


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Sort by severity, leaks before what waits for the collector, then by bytes per step, then by retained bytes;
    keys come before their values.
    """
    ordered = sorted(findings, key=rank)
    for value in [one for one in ordered if is_kept_for_a_key(one)]:
        keys = [one for one in ordered if holder(one) == holder(value) and not is_kept_for_a_key(one)]
        if keys and ordered.index(keys[0]) > ordered.index(value):
            ordered.remove(keys[0])
            ordered.insert(ordered.index(value), keys[0])
    return tuple(ordered)


def is_kept_for_a_key(one: Finding) -> bool:
    """Whether the object is a dict value whose key is an object, such as an optimizer's state of a parameter."""
    return any(hop.relation == "dict_value" and hop.label[:1] == "<" for step in one.trace.steps for hop in step.hops)


def holder(one: Finding) -> tuple[tuple[str, object], ...]:
    """Return the path to the holder, for comparison."""
    *path, last = [(step.object, step.reference) for step in one.trace.steps[:-1]] or [("", ())]
    return (*path, (last[0], ()))


def rank(one: Finding) -> tuple[int, bool, float, int, int]:
    """Return the sort key of a finding, the worst first."""
    waits = one.kind is FindingKind.NEEDS_GC
    return (list(Severity).index(one.severity), waits, -largest_rate(one), -one.retained_bytes, ORDER.index(one.kind))
