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
from gradlife.hunting.snapshots.retained import MIN_BYTES, Kept, kept_in, python_holder
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


def release_of(snapshots: Sequence[StepSnapshot], kept: Kept) -> Release | None:
    """Return how often the memory kept by an object is released and accumulates again; None if it never is."""
    graph = snapshots[-1].graph
    address = graph.describe(python_holder(graph, kept.owner)).address
    amounts = [bytes_at(snapshot.graph, address) for snapshot in snapshots]
    steps = [snapshot.steps for snapshot in snapshots]
    period = period_of(steps, amounts)
    if period is None and not comes_and_goes(amounts):
        return None
    return Release(period or 0, max(amounts))


def is_needed(graph: _heap.Graph, kept: Kept, others: Iterable[StepSnapshot]) -> bool:
    """Whether the step of another optimizer releases what an object keeps, because its backward pass needs it."""
    address = graph.describe(python_holder(graph, kept.owner)).address
    lasting = (other.graph for other in others if other.graph.find(address) is not None)
    return any(bytes_at(one, address) < MIN_BYTES for one in lasting)


def bytes_at(graph: _heap.Graph, address: int) -> int:
    """Sum up the bytes of finished steps that the object at an address keeps."""
    holder = graph.find(address)
    if holder is None:
        return 0
    return sum(kept.bytes for kept in kept_in(graph) if python_holder(graph, kept.owner) == holder)


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
