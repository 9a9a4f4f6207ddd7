"""Memory of finished steps that is kept for a while and released all at once: truncated back-propagation, gradient
accumulation.

Each snapshot finds the memory of a different number of earlier steps. If these amounts repeat with a fixed period,
there is no leak, however large they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.growth.groups import HOLDERS
from gradlife.hunting.snapshots.retained import MIN_BYTES, PROCESS, Kept, dominators, kept_in, python_holder
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Snapshots needed to detect a period, and the longest period searched for.
MIN_SNAPSHOTS = 4
MAX_PERIOD = 64

#: Deviation allowed for a snapshot, as a share of the largest amount.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Release:
    """How often kept memory is released, and its largest size."""

    period: int  # steps; 0 if it varies
    bytes: int  # kept at most


class KeptBelow:
    """The bytes of finished steps below each object of some graphs, summed up once for each graph."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[_heap.Graph, dict[int, int]]] = {}  # by the graph's identity, with the graph

    def bytes_at(self, graph: _heap.Graph, address: int) -> int:
        """Return the bytes below the object at an address; 0: all that are kept."""
        if id(graph) not in self._known:
            self._known[id(graph)] = graph, sums_below(graph)
        holder = graph.find(address) if address else PROCESS
        return self._known[id(graph)][1].get(holder, 0) if holder is not None else 0


def sums_below(graph: _heap.Graph) -> dict[int, int]:
    """Sum up the bytes of finished steps below each object above what keeps them."""
    kept = kept_in(graph)
    sums, order = dict.fromkeys([PROCESS], 0), [PROCESS]  # in an order that has a node after those above it
    for one in kept:
        new = [*itertools.takewhile(lambda node: node not in sums, [one.owner, *dominators(graph, one.owner)])]
        sums.update(dict.fromkeys(new, 0))
        order += reversed(new)
    for one in kept:
        sums[one.owner] += one.bytes
    for node in reversed(order[1:]):
        above = graph.dominator(node)
        sums[above if above is not None else PROCESS] += sums[node]
    for one in kept:
        del sums[one.owner]  # it is above none
    return sums


def release_of(snapshots: Sequence[StepSnapshot], kept: Kept, below: KeptBelow) -> Release | None:
    """Return how often the memory kept by an object is released and accumulates again; None if it never is."""
    graphs = [snapshot.graph for snapshot in snapshots]
    address = lasting_holder(graphs[-1], kept, graphs[:-1])
    amounts = [below.bytes_at(graph, address) for graph in graphs]
    steps = [snapshot.steps for snapshot in snapshots]
    period = period_of(steps, amounts)
    if period is None and not comes_and_goes(amounts):
        return None
    return Release(period or 0, max(amounts))


def is_needed(graph: _heap.Graph, kept: Kept, others: Iterable[StepSnapshot], below: KeptBelow) -> bool:
    """Whether the step of another optimizer releases what an object keeps, because its backward pass needs it."""
    return any(below.bytes_at(other.graph, lasting_holder(graph, kept, [other.graph])) < MIN_BYTES for other in others)


def lasting_holder(graph: _heap.Graph, kept: Kept, others: Sequence[_heap.Graph]) -> int:
    """Return the address of the nearest holder that stands in the other graphs, too; 0 if only the process does.

    A step may make its holder anew, where an object of another kind stood before: what that kept is no measure.
    """
    above = [*dominators(graph, kept.owner)]
    for node in above[above.index(python_holder(graph, kept.owner)) :]:
        address, what = graph.describe(node).address, graph.kind_and_type(node)
        if what[0] in HOLDERS and node != PROCESS and all(stands_in(one, address, what) for one in others):
            return address
    return 0


def stands_in(graph: _heap.Graph, address: int, what: tuple[str, str]) -> bool:
    """Whether an object of this kind and type has the address."""
    node = graph.find(address)
    return node is not None and graph.kind_and_type(node) == what


def period_of(steps: Sequence[int], amounts: Sequence[int]) -> int | None:
    """Return the shortest period that fits the amounts at these steps; None if none fits."""
    drops = sum(after < before for before, after in itertools.pairwise(amounts))
    if len(steps) < MIN_SNAPSHOTS or not drops or max(amounts) < MIN_BYTES:
        return None
    longest = min(MAX_PERIOD, (steps[-1] - steps[0]) // 2)
    phases = ((period, phase) for period in range(2, longest + 1) for phase in range(period))
    return next((period for period, phase in phases if fits(steps, amounts, period, phase)), None)


def fits(steps: Sequence[int], amounts: Sequence[int], period: int, phase: int) -> bool:
    """Whether each amount is proportional to the number of steps since the last release.

    A snapshot right at a release finds either nothing or a whole period: the program may release before or after the
    snapshot is taken.
    """
    since = [(step - phase) % period for step in steps]
    return any(is_proportional(ages, amounts) for ages in (since, [age or period for age in since]))


def is_proportional(ages: Sequence[int], amounts: Sequence[int]) -> bool:
    """Whether the amounts are proportional to the ages; False for one or two ages, which many periods would fit."""
    most = max(amounts)
    unit = most / max(1, max(ages))
    return len(set(ages)) > 2 and all(
        abs(amount - unit * age) <= TOLERANCE * most for age, amount in zip(ages, amounts, strict=True)
    )


def comes_and_goes(amounts: Sequence[int]) -> bool:
    """Whether a snapshot without any memory kept lies between two snapshots with some."""
    had = [number for number, amount in enumerate(amounts) if amount]
    return bool(had) and any(not amounts[number] for number in range(had[0], had[-1]))
