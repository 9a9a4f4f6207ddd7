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
from gradlife.hunting.snapshots.retained import MIN_BYTES, Kept, dominators, kept_in, python_holder
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Snapshots needed to detect a period, and the longest period searched for.
MIN_SNAPSHOTS = 4
MAX_PERIOD = 64

#: The root of all graphs.
PROCESS = 0

#: Deviation allowed for a snapshot, as a share of the largest amount.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Release:
    """How often kept memory is released, and its largest size."""

    period: int  # steps; 0 if it varies
    bytes: int  # kept at most


def release_of(snapshots: Sequence[StepSnapshot], kept: Kept) -> Release | None:
    """Return how often the memory kept by an object is released and accumulates again; None if it never is."""
    graphs = [snapshot.graph for snapshot in snapshots]
    address = lasting_holder(graphs[-1], kept, graphs[:-1])
    amounts = [bytes_at(graph, address) for graph in graphs]
    steps = [snapshot.steps for snapshot in snapshots]
    period = period_of(steps, amounts)
    if period is None and not comes_and_goes(amounts):
        return None
    return Release(period or 0, max(amounts))


def is_needed(graph: _heap.Graph, kept: Kept, others: Iterable[StepSnapshot]) -> bool:
    """Whether the step of another optimizer releases what an object keeps, because its backward pass needs it."""
    return any(bytes_at(other.graph, lasting_holder(graph, kept, [other.graph])) < MIN_BYTES for other in others)


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


def bytes_at(graph: _heap.Graph, address: int) -> int:
    """Sum up the bytes of finished steps below the object at an address; 0: all that are kept."""
    holder = graph.find(address) if address else 0
    return sum(kept.bytes for kept in kept_in(graph) if holder in (0, *dominators(graph, kept.owner)))


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
