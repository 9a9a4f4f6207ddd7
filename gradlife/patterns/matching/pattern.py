"""A row of the pattern table, and the case that it is matched with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Lifetime, PathStep, Trace
from gradlife.patterns.matching.growing_container import site_of
from gradlife.patterns.matching.path_tokens import Token, tokens_of


@dataclass(frozen=True)
class Case:
    """A trace to diagnose: the kind of its finding, and where it grows if known."""

    trace: Trace
    kind: FindingKind
    lifetime: Lifetime
    growth: Growth = UNKNOWN_GROWTH

    @functools.cached_property
    def path(self) -> tuple[Token, ...]:
        """The tokens of the path from the root, or from the cycle that holds the object."""
        return tokens_of(self.steps)

    @functools.cached_property
    def cycle(self) -> tuple[Token, ...]:
        """The tokens of the cycle, if there is one."""
        return tokens_of(self.trace.cycle)

    @functools.cached_property
    def steps(self) -> tuple[PathStep, ...]:
        """The steps of the path."""
        return self.trace.steps or self.trace.tail

    @functools.cached_property
    def site(self) -> int | None:
        """The token whose holder grows."""
        return site_of(self.path, self.steps, self.growth) if self.kind is FindingKind.GROWTH else None

    @property
    def has_graph(self) -> bool:
        """Whether the tensor has a graph, or the path passes through one."""
        tensor = self.trace.tensor
        return bool(tensor and tensor.grad_fn) or any(str(token) == "tensor.grad_fn" for token in self.path)


Condition = Callable[[Case], bool]


def is_collectable(case: Case) -> bool:
    """Whether the collector frees it."""
    return case.lifetime == "gc"


@dataclass(frozen=True)
class Fit:
    """A match of a pattern: steps of the path or of the cycle."""

    steps: tuple[PathStep, ...]
    first: int  # the step whose object holds what it should not
    last: int


@dataclass(frozen=True)
class Pattern:
    """One kind of leak: how its trace looks, why it is one, and what to do.

    `reason`, `advice` and `fix` are templates with the names of `wording`, `change` one with those of
    `stored_statement`. A row with `paths` matches reachable objects, a row with `cycles` unreachable ones, and a row with
    neither objects that native code holds. A row without `kinds` fits no trace: it is judged elsewhere.
    """

    code: str
    title: str
    reason: str
    advice: str
    fix: str = ""
    change: str = ""  # the fix as a change of the statement that stores, where its form is known
    paths: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ()
    when: Condition | None = None
    kinds: frozenset[FindingKind] = field(default_factory=lambda: frozenset(FindingKind))
    links: tuple[str, ...] = ()
    example: str = ""  # example trace for `gradlife explain`; `state` stands for an object of the program
