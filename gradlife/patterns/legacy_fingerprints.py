"""The fingerprint that earlier versions gave a leak, to read the baselines and reports that they wrote.

It knows neither modules nor functions, so different leaks may share one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Hop, Lifetime, PathStep, StepStatus, Trace
from gradlife.patterns.matching.pattern import Case
from gradlife.patterns.wording import step_family

DIGITS = 16

#: Labels that name a place in the program; keys and indices do not.
NAMED = frozenset({"attribute", "slot", "local", "internal", "native", "root", "global"})


def legacy_fingerprint(trace: Trace, *, growth: Growth = UNKNOWN_GROWTH) -> str:
    """Return a hash of the suspect stretch without indices, keys, addresses, sizes and line numbers."""
    lines = of_cycle(trace.cycle) if trace.cycle and not trace.steps else of_path(trace, growth)
    if not lines:
        lines = [trace.object, *(re.sub(r"\d+", "", holder.description) for holder in trace.ledger.native)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS]


def of_path(trace: Trace, growth: Growth) -> list[str]:
    """Return the lines from the last expected step to the growing container, or to the first node of a graph."""
    case = Case(trace, FindingKind.GROWTH, Lifetime.HELD, growth)
    steps = trace.steps
    first = max((i for i, step in enumerate(steps) if step.status is StepStatus.EXPECTED), default=0)
    last = len(steps) - 1
    if case.site is not None:
        last = case.path[case.site].step
    else:
        graph = (token.step for token in case.path if str(token) == "tensor.grad_fn")
        last = next(graph, last)
    return list(without_repeats(line_of(step) for step in steps[first : last + 1]))


def of_cycle(cycle: Sequence[PathStep]) -> list[str]:
    """Return the lines of a cycle, from the rotation that sorts first."""
    lines = [line_of(step) for step in cycle]
    return list(without_repeats(min(lines[i:] + lines[:i] for i in range(len(lines)))))


def without_repeats(lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Drop repeated lines: chains differ in length between survivors."""
    before: list[str] = []
    for line in lines:
        if line not in before[-2:]:
            yield line
        before.append(line)


def line_of(step: PathStep) -> str:
    """Format one step: its object and the names of its references."""
    family = step_family(step)
    shown = family if family in {"running", "node"} else step.object
    return " ".join([shown, *filter(None, map(label_of, with_dicts_named(step.hops)))])


def with_dicts_named(hops: Sequence[Hop]) -> Iterator[Hop]:
    """Show entries of `__dict__`, `__globals__` and `f_locals` as attributes."""
    for number, hop in enumerate(hops):
        is_name = number > 0 and hops[number - 1].label in {"__dict__", "__globals__", "f_locals"}
        yield Hop(hop.type, "attribute", hop.label.strip("'")) if is_name else hop


def label_of(hop: Hop) -> str:
    """Return a reference without its index or key."""
    return f"{hop.relation}:{hop.label}" if hop.relation in NAMED else hop.relation
