"""The kinds of growth that a hunt distinguishes, and the place of growth in a leak trace."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class GrowthKind(enum.Enum):
    """The kind of thing that grows in each round."""

    UNKNOWN = enum.auto()  # unknown: no two snapshots were compared
    CONTAINER = enum.auto()  # an existing container has more items
    CHAIN = enum.auto()  # a graph or a linked chain gets longer; no container grows
    LARGER = enum.auto()  # one object takes more memory
    SPREAD = enum.auto()  # each of many older objects gets one new object
    UNREACHABLE = enum.auto()  # more unreachable objects


@dataclass(frozen=True)
class Growth:
    """The growth that a trace shows."""

    kind: GrowthKind = GrowthKind.UNKNOWN
    step: int | None = None  # the container in the trace; None if the trace does not pass through it
    hop: int | None = None  # of the references that this step merges, the one whose holder is the container
    is_state: bool = False  # the container is the state of a metric, which its reset() empties

    @property
    def is_located(self) -> bool:
        """Whether it is known which step of the trace grows, or that none does."""
        if self.kind is GrowthKind.CONTAINER:
            return self.step is not None
        return self.kind not in {GrowthKind.UNKNOWN, GrowthKind.UNREACHABLE}


UNKNOWN_GROWTH = Growth()
