"""The rules that random lifetime programs are written by; the modules `rules_*` enter them.

A rule looks at the draft and gives one statement, or None where it has nothing to speak of now. Its weight is how often it
is tried beside the others.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fuzz.draft import Draft

Rule = Callable[[Draft], str | None]
RULES: dict[str, Rule] = {}
WEIGHTS: list[float] = []


def rule(weight: float = 1.0) -> Callable[[Rule], Rule]:
    """Enter a rule in the grammar."""

    def enter(function: Rule) -> Rule:
        RULES[function.__name__] = function
        WEIGHTS.append(weight)
        return function

    return enter
