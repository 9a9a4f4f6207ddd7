"""Write the programs of a seed, each from its number alone."""

from __future__ import annotations

import random

from benchmarks.fuzz import rules_classes, rules_graph, rules_hooks, rules_tensors  # each registers its rules
from benchmarks.fuzz.draft import Draft
from benchmarks.fuzz.grammar import RULES, WEIGHTS
from benchmarks.fuzz.program import Program, Step

RULE_MODULES = (rules_classes, rules_graph, rules_hooks, rules_tensors)
SHORTEST, LONGEST = 5, 40


def write_program(seed: int, index: int) -> Program:
    """Write the program of this number under this seed."""
    chance = random.Random(seed * 1_000_003 + index)
    draft = Draft(chance)
    names = list(RULES)
    length = chance.randint(SHORTEST, LONGEST)
    steps = [Step("leaf", RULES["leaf"](draft) or "")]
    while len(steps) < length:
        name = chance.choices(names, WEIGHTS)[0]
        text = RULES[name](draft)
        if text is not None:
            steps.append(Step(name, text))
    return Program(tuple(steps), looks=draft.often(0.5), storages=draft.often(0.25))
