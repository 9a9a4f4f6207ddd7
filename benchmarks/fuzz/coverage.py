"""Count what a campaign's programs used: rules, pairs of rules, verdicts, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from benchmarks.fuzz.grammar import RULES
from benchmarks.fuzz.program import VERDICTS, Outcome, Program, Step


def done_steps(program: Program, outcome: Outcome) -> Iterator[Step]:
    """Return the steps that were neither refused nor after the first difference."""
    end = len(program.steps) if outcome.difference is None else outcome.difference.step
    for number, step in enumerate(program.steps[:end]):
        if number not in outcome.failed_steps:
            yield step


@dataclass
class Coverage:
    """Programs with an executed step of each rule and each pair of rules; verdicts of all subjects."""

    programs: int = 0
    steps: int = 0
    failed_steps: int = 0
    other_texts: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)

    def count(self, program: Program, outcome: Outcome) -> None:
        names = sorted({step.rule for step in done_steps(program, outcome)})
        self.programs += 1
        self.steps += len(program.steps)
        self.failed_steps += len(outcome.failed_steps)
        self.other_texts += len(outcome.other_texts)
        self.rules.update(names)
        self.pairs.update(combinations(names, 2))
        self.verdicts.update(outcome.verdicts.values())

    def add(self, other: Coverage) -> None:
        self.programs += other.programs
        self.steps += other.steps
        self.failed_steps += other.failed_steps
        self.other_texts += other.other_texts
        self.rules += other.rules
        self.pairs += other.pairs
        self.verdicts += other.verdicts

    def rarest_rule(self) -> tuple[str, int]:
        """Return the rule that the fewest programs used, and their number."""
        return min(((name, self.rules[name]) for name in RULES), key=lambda pair: pair[1])

    def rarest_pair(self) -> tuple[tuple[str, str], int]:
        """Return the pair of rules that the fewest programs used, and their number."""
        pairs = combinations(sorted(RULES), 2)
        return min(((pair, self.pairs[pair]) for pair in pairs), key=lambda found: found[1])

    def shares(self) -> dict[str, float]:
        """The share of each verdict among the subjects."""
        total = max(self.verdicts.total(), 1)
        return {name: self.verdicts[name] / total for name in VERDICTS}
