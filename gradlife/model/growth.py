"""The kinds of growth that a hunt distinguishes, the place of growth in a leak trace, and declared bounds."""

from __future__ import annotations

import enum
from dataclasses import dataclass

#: A larger bound is never reached: the largest replay buffers of published agents have this many items.
LARGEST_BOUND = 1_000_000


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
    is_nested: bool = False  # not the container itself: several in it get longer together

    @property
    def is_located(self) -> bool:
        """Whether it is known which step of the trace grows, or that none does."""
        if self.kind is GrowthKind.CONTAINER:
            return self.step is not None
        return self.kind not in {GrowthKind.UNKNOWN, GrowthKind.UNREACHABLE}


UNKNOWN_GROWTH = Growth()


@dataclass(frozen=True)
class DeclaredBound:
    """The most items that a container, or one dimension of a tensor, gets: by its type, its size, or the source."""

    length: int | None  # items now; None if unknown
    most: int | None  # None if the source names a variable whose value it does not tell
    declared_by: str  # "maxlen", "size", "train.py:8"

    @property
    def is_kept(self) -> bool:
        """Whether a usual program reaches the bound, and this one has not passed it."""
        return self.most is None or (self.length or 0) <= self.most <= LARGEST_BOUND

    @property
    def left(self) -> int:
        """Return how many items are still to come; 0 if that is unknown."""
        return 0 if self.most is None else max(0, self.most - (self.length or 0))

    def __str__(self) -> str:
        state = "full" if self.length is not None and self.length == self.most else "still filling"
        words = [f"{number:,}" for number in (self.length, self.most) if number is not None]
        numbers = " of ".join(words) if self.length is not None else f"at most {words[0]}"
        where = f"limit at {self.declared_by}" if ":" in self.declared_by else f"by its {self.declared_by}"
        return f"{state} ({numbers}, {where})"


class Effect(enum.StrEnum):
    """What a row of the table of expectations makes of growth."""

    EXPECTED = "expected"  # no finding
    NOTE = "note"  # a finding that is no leak
    WAIT = "wait and see"  # a leak, unless a later snapshot shows less


@dataclass(frozen=True, kw_only=True)
class ExpectedGrowth:
    """A row of the table of expectations as readers see it."""

    name: str
    applies: str  # to what
    leak: str  # a program that looks alike and leaks, and one that needs the row: rows of the tests' table of programs
    alike: str
    effect: Effect = Effect.EXPECTED
    ends: str = ""  # what bounds it, if anything does


#: What holds for all rows.
FOR_ALL_ROWS = (
    "A graph is never expected.",
    "A bound counts only if memory suffices until it is reached, and if the program has not passed it.",
    f"A bound of more than {LARGEST_BOUND:,} items counts as none.",
)
