"""Questions about the heap, and their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Targets of the synthetic heap, as weak references.
Targets = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer to a question. `is_right`: whether it agrees with the heap as built; None if not checked. `numbers`:
    for other columns.
    """

    text: str
    is_right: bool | None = None
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question asked in a forked child. `is_slow`: skipped if there is no comparison."""

    name: str
    ask: Callable[[Targets], Answer]
    package: str
    is_slow: bool


class Questions(dict[str, Question]):
    """The questions by name, in order."""

    def ask(self, name: str, package: str, *, is_slow: bool = False) -> Callable[[Callable[[Targets], Answer]], None]:
        """Register the decorated function as a question."""

        def add(function: Callable[[Targets], Answer]) -> None:
            self[name] = Question(name, function, package, is_slow)

        return add
