"""The rules for writing random lifetime programs; the modules `rules_*` register them.

A rule looks at the draft and returns one statement, or None if it does not apply. Its weight is its relative frequency.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fuzz.draft import Draft

Rule = Callable[[Draft], str | None]
RULES: dict[str, Rule] = {}
WEIGHTS: list[float] = []


def rule(weight: float = 1.0) -> Callable[[Rule], Rule]:
    """Register a rule."""

    def enter(function: Rule) -> Rule:
        RULES[function.__name__] = function
        WEIGHTS.append(weight)
        return function

    return enter
