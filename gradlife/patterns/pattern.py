"""A row of the table of patterns, and what it is held against."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Lifetime, Step, Trace
from gradlife.patterns.growing import site_of
from gradlife.patterns.tokens import Token, tokens_of

#: In place of the step that grows, where it is known that no container does: a graph, or a chain of objects.
NO_CONTAINER = -1

#: The same, where what is held gets larger itself.
SWELLING = -2

#: The same, where each step gives something to objects that had none.
SPREAD = -3


@dataclass(frozen=True)
class Case:
    """What is to be named: a trace, what made it a finding, and where it grows as far as that is known."""

    trace: Trace
    kind: FindingKind
    lifetime: Lifetime
    anchor: int | None = None  # the step whose object was there before and holds more after each round

    @functools.cached_property
    def way(self) -> tuple[Token, ...]:
        """The tokens of the way from the root; of an object that hangs on a cycle, from there."""
        return tokens_of(self.steps)

    @functools.cached_property
    def ring(self) -> tuple[Token, ...]:
        """The tokens of the cycle, if there is one."""
        return tokens_of(self.trace.cycle)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the way."""
        return self.trace.steps or self.trace.tail

    @functools.cached_property
    def site(self) -> int | None:
        """The token whose holder grows."""
        return site_of(self.way, self.steps, self.anchor) if self.kind is FindingKind.GROWTH else None

    @property
    def has_graph(self) -> bool:
        """Does a graph hang on the tensor, or does the way lead through one?"""
        tensor = self.trace.tensor
        return bool(tensor and tensor.grad_fn) or any(str(token) == "tensor.grad_fn" for token in self.way)


Condition = Callable[[Case], bool]


@dataclass(frozen=True)
class Fit:
    """Where a pattern fits: steps of the way, or of the ring."""

    steps: tuple[Step, ...]
    first: int  # the step that holds what it should not
    last: int


@dataclass(frozen=True)
class Pattern:
    """One kind of leak: how its trace looks, why it is one, and what to do.

    `reason`, `advice` and `fix` are templates over the words of `wording`. A row with `rings` is for what no root
    reaches, one with `ways` for what a root holds; with neither it is for a reference that native code holds.
    """

    code: str
    title: str
    reason: str
    advice: str
    fix: str = ""
    ways: tuple[str, ...] = ()
    rings: tuple[str, ...] = ()
    when: Condition | None = None
    kinds: frozenset[FindingKind] = field(default_factory=lambda: frozenset(FindingKind))
    links: tuple[str, ...] = ()
    example: str = ""  # of a trace, for `gradlife explain`
