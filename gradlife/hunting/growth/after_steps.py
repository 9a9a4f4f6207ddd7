"""Results that are kept after the last step: by an evaluation, or by requests, that follow the training.

No round of steps sees them. Whether a graph was made after the last step is known by the numbers of its nodes, so what the
last epoch left is not taken for it. Results without graphs are known by their growth in rounds of passes through modules.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting.growth.arrivals import arrived
from gradlife.hunting.growth.groups import has_variables
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, gained_items, grown_groups
from gradlife.hunting.snapshots.node_weights import FIELDS, weight
from gradlife.hunting.snapshots.noted_facts import identity_of, item_count, items_of
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names
from gradlife.hunting.snapshots.survivors import births
from gradlife.hunting.steps.graph_mark import MIN_RESULTS
from gradlife.model.growth import GrowthKind
from gradlife.model.hunt import Amounts, Arrivals
from gradlife.safe_access import member

#: Fewer tensors in a container that nothing reads may be what a program is about to print.
MIN_UNREAD = 100


def may_hold_results() -> bool:
    """Whether there are as many tensors as that. Asks the collector, in some 10 ms for each 300,000 objects."""
    tensor = member("torch", "Tensor")
    return sum(type(one) is tensor for one in gc.get_objects()) >= MIN_UNREAD


def kept_after(last: StepSnapshot, now: StepSnapshot, numbers: Container[int]) -> list[GrownGroup]:
    """Return the containers of the later snapshot that hold many results, with graphs whose nodes have these numbers."""
    graph = now.graph
    results = results_of(graph, [node for node in grad_nodes(graph) if graph.sequence_number(node) in numbers])
    return holders_of(results, last, now, MIN_RESULTS)


def kept_since(last: StepSnapshot, now: StepSnapshot, least: int) -> list[GrownGroup]:
    """Return the containers that hold at least so many tensors that are new since a snapshot, with or without graphs."""
    names = tensor_type_names()
    results = {node for node in births([last, now]) if now.graph.type(node) in names}
    found = holders_of(results, last, now, least)
    return [one for one in found if one.arrivals is not None and one.arrivals.times >= least]


def holders_of(results: set[int], last: StepSnapshot, now: StepSnapshot, least: int) -> list[GrownGroup]:
    """Return the nearest containers that hold at least so many results."""
    graph = now.graph
    items = {one: items_with(graph, one, results) for one in containers_of(graph, results, least)}
    if not items:
        return []
    born = births([last, now]) | dict.fromkeys({node for nodes in items.values() for node in nodes}, 0)
    above = {node for one in items for node in (one, *dominators(graph, one))}
    below = {node: number for node, number in born.items() if node not in above}
    evidence = Evidence([last, now], below, 1, lengths=(1,))
    return [one for holder in items if (one := grown(evidence, holder, len(items[holder]))) is not None]


def grad_nodes(graph: _heap.Graph) -> Iterator[int]:
    """Yield the grad nodes of a graph."""
    for name, kind, _, _ in graph.census():
        if kind == "grad_node":
            yield from graph.nodes(kind, name)


def results_of(graph: _heap.Graph, nodes: Sequence[int]) -> set[int]:
    """Return the Python tensors whose graph ends in one of these nodes."""
    names = tensor_type_names()
    tensors = {one for node in nodes for one in graph.referrers(node) if graph.kind(one) == "tensor"}
    return {one for tensor in tensors for one in graph.referrers(tensor) if graph.type(one) in names}


def containers_of(graph: _heap.Graph, results: set[int], least: int) -> list[int]:
    """Return the nearest objects that each hold many of the results alone, without tables of variables."""
    above = {result: [*dominators(graph, result)] for result in results}
    counts = Counter(node for nodes in above.values() for node in nodes)
    nearest = {next((one for one in nodes if counts[one] >= least), None) for nodes in above.values()}
    return [node for node in nearest if node is not None and is_container(graph, node)]


def is_container(graph: _heap.Graph, node: int) -> bool:
    """Whether it is an object of the program that has items, not one of the graph, nor a table of variables."""
    return graph.kind(node) == "python" and not has_variables(graph, node)


def items_with(graph: _heap.Graph, holder: int, results: set[int]) -> set[int]:
    """Return what the container directly holds alone that is a result or holds one."""
    found = set()
    for result in results:
        nodes = [result, *dominators(graph, result)]
        if holder in nodes[1:]:
            found.add(nodes[nodes.index(holder) - 1])
    return found


def grown(evidence: Evidence, holder: int, times: int) -> GrownGroup | None:
    """Return what the container keeps, per result."""
    groups = sorted((one for one in evidence.held if one.anchor == holder), key=lambda one: -len(one.tops))
    if not groups:
        return None
    group, *others = groups
    for other in others:
        group.absorb(other)
    rate = weight(evidence.graph, group.members, times)
    return GrownGroup(group, rate, GrowthKind.CONTAINER, (holder,), Arrivals(times, 0, round(rate.retained_bytes)))


def kept_in_rounds(last: StepSnapshot, evidence: Evidence) -> list[GrownGroup]:
    """Return the containers that gain results in the rounds after the last step; ``last``: a snapshot before them."""
    whole = replace(evidence, rounds=len(evidence.snapshots) - 1)
    often, unsure = grown_groups(evidence)
    rare = arrived(evidence, [*unsure, *(one.group for one in often)])
    judged = [*((one, evidence) for one in often), *((one, whole) for one in rare)]
    found = (as_results(one, last, by) for one, by in judged if one.kind is GrowthKind.CONTAINER)
    return [one for one in found if one is not None]


def gained_since(container: int, last: StepSnapshot, graph: _heap.Graph) -> int:
    """Return how many items a container has more than at an earlier snapshot."""
    return items_of(graph, container) - (item_count(last, identity_of(graph, container)) or 0)


def as_results(grown: GrownGroup, last: StepSnapshot, evidence: Evidence) -> GrownGroup | None:
    """Return what grows with its amounts per result; None if few results came."""
    container = grown.containers[0]
    gained = gained_items(container, evidence)
    times = gained_since(container, last, evidence.graph)
    if times < MIN_RESULTS or gained <= 0:
        return None
    each = sum(map(evidence.steps, evidence.judged_rounds)) / gained
    rate = Amounts(*(getattr(grown.per_step, name) * each for name in FIELDS))
    return replace(grown, per_step=rate, arrivals=Arrivals(times, 0, round(rate.retained_bytes)))
