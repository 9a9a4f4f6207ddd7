"""Plain values: a program of steps, each one statement, and the result of running it on two systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

VERDICTS = ("del", "gc", "held", "never")


@dataclass(frozen=True)
class Step:
    """One statement of a program, and the rule of the grammar that wrote it."""

    rule: str
    text: str


@dataclass(frozen=True)
class Program:
    """A program. `looks`: every gradient is read after each step; `storages`: storages are watched, too."""

    steps: tuple[Step, ...]
    looks: bool = False
    storages: bool = False

    def keeping(self, steps: tuple[Step, ...]) -> Program:
        """Return the program with only these steps."""
        return replace(self, steps=steps)


@dataclass(frozen=True)
class Difference:
    """The first difference of two systems: its step, its kind, and both sides."""

    step: int  # or the program's length and more, for stages after its last step
    kind: str
    one: Any
    other: Any


@dataclass(frozen=True)
class Outcome:
    """The result of one program: a difference or none, and the lifetimes of the first system's subjects."""

    difference: Difference | None
    verdicts: dict[str, str]
    failed_steps: frozenset[int] = frozenset()
