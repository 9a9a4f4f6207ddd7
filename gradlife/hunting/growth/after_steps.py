"""Results that are kept with their graphs after the last step: an evaluation, or requests, that follow the training.

No round sees them. Whether a graph was made after the last step is known by the numbers of its nodes, so what the last
epoch left is not taken for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from gradlife import _heap
from gradlife.hunting.growth.groups import has_variables
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup
from gradlife.hunting.snapshots.node_weights import weight
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names
from gradlife.hunting.snapshots.survivors import births
from gradlife.hunting.steps.graph_mark import MIN_RESULTS
from gradlife.model.growth import GrowthKind
from gradlife.model.hunt import Arrivals


def kept_after(last: StepSnapshot, now: StepSnapshot, numbers: Container[int], offset: int) -> list[GrownGroup]:
    """Return the containers of the later snapshot that hold many results, with graphs whose nodes have these numbers.

    ``offset``: that of the number in a node. Reads the memory of living nodes: call it in a copy of the process.
    """
    graph = now.graph
    results = results_of(graph, [node for node in grad_nodes(graph) if number_of(graph, node, offset) in numbers])
    kept = containers_of(graph, results)
    if not kept:
        return []
    items = {one: items_with(graph, one, results) for one in kept}
    born = births([last, now]) | dict.fromkeys({node for nodes in items.values() for node in nodes}, 0)
    above = {node for one in kept for node in (one, *dominators(graph, one))}
    below = {node: number for node, number in born.items() if node not in above}
    evidence = Evidence([last, now], below, 1, lengths=(1,))
    return [one for holder in kept if (one := grown(evidence, holder, len(items[holder]))) is not None]


def grad_nodes(graph: _heap.Graph) -> Iterator[int]:
    """Yield the grad nodes of a graph."""
    for name, kind, _, _ in graph.census():
        if kind == "grad_node":
            yield from graph.nodes(kind, name)


def number_of(graph: _heap.Graph, node: int, offset: int) -> int | None:
    """Read the number of a living grad node; None if its memory cannot be read."""
    return _heap._read_word(graph.describe(node).address + offset)


def results_of(graph: _heap.Graph, nodes: Sequence[int]) -> set[int]:
    """Return the Python tensors whose graph ends in one of these nodes."""
    names = tensor_type_names()
    tensors = {one for node in nodes for one in graph.referrers(node) if graph.kind(one) == "tensor"}
    return {one for tensor in tensors for one in graph.referrers(tensor) if graph.type(one) in names}


def containers_of(graph: _heap.Graph, results: set[int]) -> list[int]:
    """Return the nearest objects that each hold many of the results alone, without tables of variables."""
    above = {result: [*dominators(graph, result)] for result in results}
    counts = Counter(node for nodes in above.values() for node in nodes)
    nearest = {next((one for one in nodes if counts[one] >= MIN_RESULTS), None) for nodes in above.values()}
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
