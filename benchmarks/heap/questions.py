"""Questions about the heap, and their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Targets of the synthetic heap, as weak references.
Targets = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer to a question. `is_right`: it agrees with the heap as built; None if that is not checked. `numbers`:
    for other columns.
    """

    text: str
    is_right: bool | None = None
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """Asked in a forked child. `is_slow`: left out where nobody compares with it."""

    name: str
    ask: Callable[[Targets], Answer]
    package: str
    is_slow: bool


class Questions(dict[str, Question]):
    """By name, in the order in which they are asked."""

    def ask(self, name: str, package: str, *, is_slow: bool = False) -> Callable[[Callable[[Targets], Answer]], None]:
        """A decorator: the function is the question."""

        def add(function: Callable[[Targets], Answer]) -> None:
            self[name] = Question(name, function, package, is_slow)

        return add
