"""Steps that get larger: a longer sequence, more inner steps. Their graphs grow, but none of them outlives its round.

The totals of the heap then grow in every round although nothing is kept. Sequence numbers of grad nodes show it: a node
that leaks is alive at the next snapshot, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting.growth.after_steps import grad_nodes
from gradlife.hunting.growth.controls import Controls
from gradlife.hunting.growth.reachable_growth import evidence_of
from gradlife.hunting.growth.rounds import planted_in, rounds_of, without_planted
from gradlife.hunting.snapshots.node_weights import minus, weight
from gradlife.hunting.snapshots.retained import storages_of
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names
from gradlife.model.hunt import MALLOC, Amounts, Explained, HuntReport, Round, steady_rates

#: Graphs must explain at least this share of malloc's growth; the allocator's overhead is unknown.
MIN_SHARE = 0.5


def larger_steps(snapshots: Sequence[StepSnapshot], controls: Controls, report: HuntReport) -> Explained | None:
    """Return an explanation if the fresh graphs alone grow steadily and make up at least `MIN_SHARE` of the growth;
    otherwise None.
    """
    whole = evidence_of(snapshots)
    planted = planted_in(whole.snapshots, controls)
    evidence = without_planted(whole, planted)
    # `added` compares each round with the one before, so it has nothing for the first.
    amounts = [amount_of_graphs(before, after) for before, after in itertools.pairwise(evidence.snapshots)]
    added = [minus(after, before) for before, after in itertools.pairwise(amounts)]
    rounds = [*rounds_of(evidence, planted)][1:]
    if not added or not steady_rates(
        [with_added(one, of_graphs) for one, of_graphs in zip(rounds, added, strict=True)]
    ):
        return None
    others = [with_added(one, minus(one.added, of_graphs)) for one, of_graphs in zip(rounds, added, strict=True)]
    if steady_rates(others) or not has_share(report, rounds, added):
        return None
    last = amounts[-1]
    what = f"{last.graph_nodes:,.0f} grad nodes in the last round; each round has more, but frees those of the round before"
    return Explained("larger steps", what, round(last.retained_bytes))


def with_added(one: Round, added: Amounts) -> Round:
    """Return the round with `added` replaced and malloc unknown."""
    return replace(one, added=added, malloc_per_step=None)


def has_share(report: HuntReport, rounds: Sequence[Round], added: Sequence[Amounts]) -> bool:
    """Whether the graphs have their share of malloc's growth, if malloc's growth is unexplained."""
    rate = report.unexplained.get(MALLOC, report.unheld_rate or report.new_work_rate)
    return sum(one.retained_bytes for one in added) / sum(one.steps for one in rounds) >= MIN_SHARE * rate


def amount_of_graphs(before: StepSnapshot, after: StepSnapshot) -> Amounts:
    """Return the weight of the graphs made between the snapshots: amounts of the round, not per step."""
    return after.noted(
        ("fresh graphs", before.number),
        lambda: weight(after.graph, parts_of(after.graph, fresh_nodes(before.graph, after.graph))),
    )


def fresh_nodes(before: _heap.Graph, after: _heap.Graph) -> set[int]:
    """Return the grad nodes that were made between two snapshots, as nodes of the later one."""
    numbers = {node: after.sequence_number(node) for node in grad_nodes(after)}
    nodes = {after.describe(node).address: node for node, number in numbers.items() if number is not None}
    known_before = before.find_all(list(nodes))
    return {
        node
        for address, node in nodes.items()
        if address not in known_before or before.sequence_number(known_before[address]) != numbers[node]
    }


def parts_of(graph: _heap.Graph, fresh: set[int]) -> Iterator[int]:
    """Yield these grad nodes, the tensors that are their results, and the grad nodes, storages and tensors dominated by them."""
    results = {one for node in fresh for one in graph.referrers(node) if graph.kind(one) == "tensor"}
    names = tensor_type_names()
    wrappers = {one for impl in results for one in graph.referents(impl) if graph.type(one) in names}
    is_dominated = dict.fromkeys([*fresh, *results, *wrappers], True)
    for node in countable(graph):
        if is_dominated_by_any(graph, node, is_dominated):
            yield node


def countable(graph: _heap.Graph) -> Iterator[int]:
    """Yield the grad nodes, the storages, and the tensors, in C++ and in Python."""
    yield from grad_nodes(graph)
    yield from storages_of(graph)
    yield from graph.nodes("tensor", "")
    for name in tensor_type_names():
        yield from graph.nodes("python", name)


def is_dominated_by_any(graph: _heap.Graph, node: int, known: dict[int, bool]) -> bool:
    """Whether a node of `known` that maps to True is the node itself or dominates it. The answers on the way are added to
    `known`.
    """
    path, at = [], node
    while at not in known:
        path.append(at)
        above = graph.dominator(at)
        if above is None or above == at:
            known[at] = False
        else:
            at = above
    known.update(dict.fromkeys(path, known[at]))
    return known[at]
