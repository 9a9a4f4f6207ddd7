"""Memory that finished steps keep for a while and release together: truncated back-propagation, gradient
accumulation.

Each snapshot sees a different number of kept steps. If the numbers fit a period, there is no leak, whatever the
size.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.snapshots.retained import LEAST_BYTES, Kept, holder_above, kept_in
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Snapshots needed to detect a period, and the longest period searched for.
LEAST_SNAPSHOTS = 4
MOST_PERIOD = 64

#: Deviation allowed for a snapshot, as a share of the largest amount.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Release:
    """How often kept memory is released, and its largest size."""

    period: int  # steps; 0 if it varies
    bytes: int  # kept at most


def release_of(snapshots: Sequence[StepSnapshot], kept: Kept) -> Release | None:
    """Return how often the memory kept by an object is released and taken again; None if it is not."""
    graph = snapshots[-1].graph
    address = graph.describe(holder_above(graph, kept.keeper)).address
    amounts = [bytes_at(one.graph, address) for one in snapshots]
    steps = [one.steps for one in snapshots]
    period = period_of(steps, amounts)
    if period is None and not comes_and_goes(amounts):
        return None
    return Release(period or 0, max(amounts))


def bytes_at(graph: _heap.Graph, address: int) -> int:
    """Sum up the bytes that finished steps keep through the object at an address."""
    holder = graph.find(address)
    if holder is None:
        return 0
    return sum(one.bytes for one in kept_in(graph) if holder_above(graph, one.keeper) == holder)


def period_of(steps: Sequence[int], amounts: Sequence[int]) -> int | None:
    """Return the shortest period that fits the amounts at these steps; None if none fits."""
    drops = sum(after < before for before, after in itertools.pairwise(amounts))
    if len(steps) < LEAST_SNAPSHOTS or not drops or max(amounts) < LEAST_BYTES:
        return None
    longest = min(MOST_PERIOD, (steps[-1] - steps[0]) // 2)
    phases = ((period, phase) for period in range(2, longest + 1) for phase in range(period))
    return next((period for period, phase in phases if fits(steps, amounts, period, phase)), None)


def fits(steps: Sequence[int], amounts: Sequence[int], period: int, phase: int) -> bool:
    """Whether each amount is proportional to the number of steps since the last release.

    At a release, either nothing or the whole last period is kept: the release may come before or after the end of
    the step.
    """
    since = [(step - phase) % period for step in steps]
    return any(is_proportional(ages, amounts) for ages in (since, [one or period for one in since]))


def is_proportional(ages: Sequence[int], amounts: Sequence[int]) -> bool:
    """Whether the amounts are proportional to the ages."""
    most = max(amounts)
    unit = most / max(1, max(ages))
    return len(set(ages)) > 2 and all(
        abs(amount - unit * age) <= TOLERANCE * most for age, amount in zip(ages, amounts, strict=True)
    )


def comes_and_goes(amounts: Sequence[int]) -> bool:
    """Whether a snapshot without any memory kept lies between two snapshots with some."""
    had = [number for number, amount in enumerate(amounts) if amount]
    return bool(had) and any(not amounts[number] for number in range(had[0], had[-1]))
