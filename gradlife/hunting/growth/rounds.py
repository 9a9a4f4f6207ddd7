"""Compute what each round added, and judge the planted controls.

Controls are leaks, and a clean twin of them, that the hunt itself plants in each round. A hunt that misjudges them is
unreliable. The objects of the controls do not count as the program's.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.hunting.growth.controls import RING_LENGTH, Controls, Planting
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.memory_balance import balance_of
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, grown_groups
from gradlife.hunting.snapshots.node_weights import minus, weight
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names
from gradlife.hunting.snapshots.survivors import Births
from gradlife.model.hunt import Control, Round

#: The controls: a list that grows, leaked cycles, and the clean twin, a ring that drops its old tensors.
HELD, CYCLE, RING = "held", "cycle", "clean"


@dataclass(frozen=True)
class Planted:
    """The objects that the hunt planted, as nodes of the last snapshot."""

    born: Births  # each with the round in which it was planted
    lengths: tuple[int, ...]  # the number of planting steps in each round
    contexts: frozenset[int]  # the autograd contexts in the leaked cycles
    ring: frozenset[int] = frozenset()  # the clean twin, of the same size at each snapshot
    kept: frozenset[int] = frozenset()  # the results in the leaked cycles, each with its graph


def planted_in(snapshots: Sequence[StepSnapshot], controls: Controls) -> Planted:
    """Find the planted objects in the last snapshot by their addresses."""
    graph = snapshots[-1].graph
    born: Births = {}
    lengths = [0] * (len(snapshots) - 1)
    contexts = set()
    plantings = [one for one in controls.plantings if one.steps <= snapshots[-1].steps]
    ring = [one for planting in plantings for one in planting.ring][-RING_LENGTH:]
    for planting in plantings:
        number = next(at for at, snapshot in enumerate(snapshots) if planting.steps <= snapshot.steps) - 1
        members, found = members_of(graph, planting, ring)
        born.update(dict.fromkeys(members, number))
        contexts |= found
        if number >= 0:
            lengths[number] += len(planting.cycles)
    around = frozenset(below(graph, found_in(graph, ring)))
    kept = found_in(graph, [one for planting in plantings for _, one in planting.cycles])
    return Planted(born, tuple(lengths), frozenset(contexts), around, frozenset(kept))


def members_of(graph: _heap.Graph, planting: Planting, ring: Sequence[int]) -> tuple[set[int], set[int]]:
    """Return the nodes of one planting, and the contexts among them.

    ``ring`` has the addresses of the clean twin's living tensors. The program may have reused other addresses of it.
    """
    living = [one for one in planting.ring if one in ring]
    tensors = found_in(graph, [*planting.tensors, *living, *planting.leaves])
    contexts = found_in(graph, [context for context, _ in planting.cycles])
    kept = found_in(graph, [one for _, one in planting.cycles])
    members = below(graph, tensors | contexts | kept)
    tables = {one for node in contexts for one in graph.referents(node) if not kept.isdisjoint(graph.referents(one))}
    return members | tables, contexts


def found_in(graph: _heap.Graph, addresses: Sequence[int]) -> set[int]:
    """Return the nodes at these addresses."""
    return set(graph.find_all(list(addresses)).values())


def below(graph: _heap.Graph, nodes: set[int]) -> set[int]:
    """Return the nodes and all C++ objects that they lead to. Python objects, which the program may have attached, are
    left out.
    """
    found, front = set(nodes), list(nodes)
    while front:
        holder = front.pop()
        for one in graph.referents(holder):
            if one not in found and (graph.kind(one) not in {"python", "root"} or is_packed(graph, holder, one)):
                found.add(one)
                front.append(one)
    return found


def is_packed(graph: _heap.Graph, holder: int, one: int) -> bool:
    """Whether a saved-tensor hook made this tensor for a grad node."""
    return graph.kind(holder) == "grad_node" and graph.type(one) in tensor_type_names()


def without_planted(evidence: Evidence, planted: Planted) -> Evidence:
    """Return the evidence without the planted objects."""
    born = {node: number for node, number in evidence.born.items() if node not in planted.born}
    return replace(evidence, born=born, planted=planted.born)


def rounds_of(evidence: Evidence, planted: Planted) -> Iterator[Round]:
    """Yield what each round added, without the planted objects, and the last without what a full collection freed."""
    members: dict[int, list[int]] = {}
    for node, number in planted.born.items():
        if node not in planted.ring:
            members.setdefault(number, []).append(node)
    for number, (before, after) in enumerate(itertools.pairwise(evidence.snapshots)):
        is_last = number == len(evidence.snapshots) - 2
        others = [*members.get(number, ()), *(evidence.collected.difference(planted.born) if is_last else ())]
        added = minus(minus(after.totals, before.totals), weight(evidence.graph, others))
        threads = after.new_workers, after.threads
        memory = balance_of(before, after)
        yield Round(after.steps - before.steps, added, after.malloc_per_step, after.is_collected, *threads, memory)


def judged_controls(evidence: Evidence, planted: Planted, controls: Controls) -> list[Control]:
    """Judge the planted controls by the same rules as the program, from the planted objects alone."""
    if not controls.are_planted:
        return []
    born = {node: number for node, number in planted.born.items() if number >= 0}
    sure, _ = grown_groups(replace(evidence, born=born, lengths=planted.lengths, planted={}))
    found = {control_of(evidence.graph, one, planted, controls) for one in sure}
    return [
        Control("a list that keeps a tensor each step", "growth", "growth" if HELD in found else "clean"),
        Control("an uncollectable ctx cycle", "never", "never" if CYCLE in found else "clean"),
        Control("a ring of two tensors", "clean", "growth" if RING in found else "clean"),
        Control("the graph of a kept result", "whole", graph_state(evidence.graph, planted.kept)),
    ]


def graph_state(graph: _heap.Graph, kept: Collection[int]) -> str:
    """Return whether each result leads to all of its graph: whole, or in part."""
    return "whole" if kept and all(has_whole_graph(graph, one) for one in kept) else "in part"


def has_whole_graph(graph: _heap.Graph, result: int) -> bool:
    """Whether a planted result leads to its node, by that node's saved tensor and edge to the Function's node, and by this
    one's edge to the leaf's accumulator, which has the leaf.
    """
    tensors = [one for one in graph.referents(result) if graph.kind(one) == "tensor"]
    nodes = of_kind(graph, tensors, "grad_node")
    functions = of_kind(graph, nodes, "grad_node")
    accumulators = of_kind(graph, functions, "grad_node")
    has_saved = any(
        graph.kind(one) == "tensor" or is_packed(graph, node, one) for node in nodes for one in graph.referents(node)
    )
    return has_saved and bool(of_kind(graph, accumulators, "tensor"))


def of_kind(graph: _heap.Graph, holders: Iterable[int], kind: str) -> list[int]:
    """Return the objects of a kind that any of these refers to."""
    return [one for holder in holders for one in graph.referents(holder) if graph.kind(one) == kind]


def control_of(graph: _heap.Graph, grown: GrownGroup, planted: Planted, controls: Controls) -> str:
    """Return the control that a growing group belongs to; "" if none."""
    if grown.group.anchor is None:
        return CYCLE if is_cycle(grown.group, planted) else ""
    holders = {graph.find(id(controls.held)): HELD, graph.find(id(controls.ring)): RING}
    return next((holders[node] for node in (grown.group.anchor, *grown.containers) if node in holders), "")


def is_cycle(group: Group, planted: Planted) -> bool:
    """Whether the group has planted contexts."""
    return not planted.contexts.isdisjoint(group.members)
