"""What finished steps keep for a while and let go together: truncated back-propagation, gradient accumulation.

At each snapshot another number of steps is kept. Where these numbers fit one period, it is no leak, however much it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.snapshots.retained import LEAST_BYTES, Kept, holder_above, kept_in
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot

#: Snapshots that are enough to tell a period, and the longest one that is looked for.
LEAST_SNAPSHOTS = 4
MOST_PERIOD = 64

#: The share of the most that is kept by which a snapshot may differ.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Release:
    """How often something is let go."""

    period: int  # steps; 0: it is not the same every time
    bytes: int  # that are kept at most


def release_of(snapshots: Sequence[StepSnapshot], kept: Kept) -> Release | None:
    """Return how often what hangs on one object is let go and taken again; None where it is not."""
    graph = snapshots[-1].graph
    address = graph.describe(holder_above(graph, kept.keeper)).address
    amounts = [bytes_at(one.graph, address) for one in snapshots]
    steps = [one.steps for one in snapshots]
    period = period_of(steps, amounts)
    if period is None and not comes_and_goes(amounts):
        return None
    return Release(period or 0, max(amounts))


def bytes_at(graph: _heap.Graph, address: int) -> int:
    """Bytes that finished steps keep by the object at an address."""
    holder = graph.find(address)
    if holder is None:
        return 0
    return sum(one.bytes for one in kept_in(graph) if holder_above(graph, one.keeper) == holder)


def period_of(steps: Sequence[int], amounts: Sequence[int]) -> int | None:
    """The least period that the amounts at these steps fit; None where none does."""
    drops = sum(after < before for before, after in itertools.pairwise(amounts))
    if len(steps) < LEAST_SNAPSHOTS or not drops or max(amounts) < LEAST_BYTES:
        return None
    longest = min(MOST_PERIOD, (steps[-1] - steps[0]) // 2)
    phases = ((period, phase) for period in range(2, longest + 1) for phase in range(period))
    return next((period for period, phase in phases if fits(steps, amounts, period, phase)), None)


def fits(steps: Sequence[int], amounts: Sequence[int], period: int, phase: int) -> bool:
    """Is as much kept at each of these steps as so many steps since the last release come to?

    At a release there is all of the last period or nothing, as it comes before or after the end of the step.
    """
    since = [(step - phase) % period for step in steps]
    return any(is_proportional(ages, amounts) for ages in (since, [one or period for one in since]))


def is_proportional(ages: Sequence[int], amounts: Sequence[int]) -> bool:
    """Are the amounts these numbers of the same unit?"""
    most = max(amounts)
    unit = most / max(1, max(ages))
    return len(set(ages)) > 2 and all(
        abs(amount - unit * age) <= TOLERANCE * most for age, amount in zip(ages, amounts, strict=True)
    )


def comes_and_goes(amounts: Sequence[int]) -> bool:
    """Was there nothing at a snapshot between two that had something?"""
    had = [number for number, amount in enumerate(amounts) if amount]
    return bool(had) and any(not amounts[number] for number in range(had[0], had[-1]))
