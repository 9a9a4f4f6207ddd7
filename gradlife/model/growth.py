"""The kinds of growth that a hunt distinguishes, and the place of growth in a leak trace."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class GrowthKind(enum.Enum):
    """The thing that there is more of after each round."""

    UNKNOWN = enum.auto()  # only the trace is known: nobody compared two snapshots
    CONTAINER = enum.auto()  # a container that was there before has more items
    CHAIN = enum.auto()  # a graph or a chain of objects gets longer; no container does
    LARGER = enum.auto()  # one object takes more memory
    SPREAD = enum.auto()  # many older objects get one new object each
    UNREACHABLE = enum.auto()  # more objects that no root reaches


@dataclass(frozen=True)
class Growth:
    """Growth as a trace shows it."""

    kind: GrowthKind = GrowthKind.UNKNOWN
    step: int | None = None  # the container in the trace; None if the trace does not lead through it

    @property
    def is_located(self) -> bool:
        """Is it known which step of the trace grows, or that none does?"""
        if self.kind is GrowthKind.CONTAINER:
            return self.step is not None
        return self.kind not in {GrowthKind.UNKNOWN, GrowthKind.UNREACHABLE}


UNKNOWN_GROWTH = Growth()
