"""Plain values: a program of steps, each one statement, and the result of running it on two systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

VERDICTS = ("del", "gc", "held", "never")

NEWEST = (9, 9)
#: Words that only later releases have, with the first; names that the engine leaves out itself are not here.
ADDED = {"materialize_grads": (2, 0), "_sym_sizes": (2, 0), "_input_metadata": (2, 0)}


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

    def fitted(self, release: tuple[int, int]) -> Program:
        """Return the program without the steps that name what this release lacks."""
        lacking = [word for word, first in ADDED.items() if release < first]
        return self.keeping(tuple(step for step in self.steps if not any(word in step.text for word in lacking)))

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
    other_texts: frozenset[int] = frozenset()  # steps that both refuse, with errors of one type and two texts
