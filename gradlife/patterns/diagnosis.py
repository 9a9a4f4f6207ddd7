"""Diagnose a trace: the first pattern of the table that fits, with its sentences in the program's own names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import UNKNOWN_CODE, Advice, Diagnosis, FindingKind
from gradlife.model.trace import Lifetime, Trace
from gradlife.patterns.known_leaks import library_of
from gradlife.patterns.matching.matcher import find, find_around
from gradlife.patterns.matching.pattern import Case, Fit, Pattern
from gradlife.patterns.rules.table import PATTERNS
from gradlife.patterns.stored_statement import NESTED, StoredStatement
from gradlife.patterns.unknown import unknown
from gradlife.patterns.wording import Wording, expression

#: Codes whose advice is about what an item holds, its graph or a larger storage, and not about how many items there are.
ABOUT_ITEMS = ("GL4", "GL7")


def is_mended_by_removal(code: str) -> bool:
    """Whether a leak of this code ends if its items are taken out again."""
    return not code.startswith(ABOUT_ITEMS)


def diagnose(
    trace: Trace,
    kind: FindingKind,
    lifetime: Lifetime | None = None,
    *,
    growth: Growth = UNKNOWN_GROWTH,
    versions: Mapping[str, str] | None = None,
    created_at: tuple[str, ...] = (),
    statement: str = "",
    read_at: str = "",
    removed_by: str = "",
) -> Diagnosis:
    """Find which kind of leak a trace shows, why it is one, and its fix.

    ``growth`` is the step of the trace whose container has more items after each round, or another kind of growth, if
    known. ``versions`` of libraries, ``{"torch": "2.13.0"}``, select their known bugs. ``statement``: the one that
    stores, if known; the advice's code is then a change of it. ``read_at``: where the program reads more of the growing
    container than its newest items; the advice drops none then. ``removed_by``: the program's own function that takes items
    out of it, if nothing calls that: ``Client.close (client.py:30)``. A trace that no pattern fits gets the code GL000.
    """
    case = Case(trace, kind, lifetime or trace.lifetime, growth)
    for pattern in PATTERNS:
        fit = next(fits(pattern, case), None)
        if fit is not None:
            stored = StoredStatement(statement, tuples_on(trace), stored_types(trace, growth), read_at, removed_by)
            return describe_fit(pattern, Wording(case, fit, created_at, stored), versions or {})
    return replace(unknown(case), library=library_of(UNKNOWN_CODE, case, versions or {}))


def stored_types(trace: Trace, growth: Growth) -> tuple[str, ...]:
    """Return the types from the growing container, or the outermost that it is an item of, to the survivor."""
    first = growth.step
    if first is None:
        return ()
    while first and not (trace.steps[first - 1].variable or trace.steps[first - 1].attributes):
        first -= 1
    return tuple(step.type for step in trace.steps[first:])


def tuples_on(trace: Trace) -> frozenset[str]:
    """Return the names by which the path leads to tuples of tensors."""
    pairs = enumerate(itertools.pairwise(trace.steps))
    named = (
        expression(trace.steps, at) for at, (step, after) in pairs if step.type == "tuple" and after.type not in NESTED
    )
    return frozenset(name.rpartition(".")[2] for name in named if name)


def fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Yield the places where a pattern fits a case."""
    if case.kind not in pattern.kinds or (pattern.when is not None and not pattern.when(case)):
        return
    if case.cycle and not case.trace.steps:
        yield from cycle_fits(pattern, case)
    elif case.path:
        yield from path_fits(pattern, case)
    elif not pattern.paths and not pattern.cycles:
        yield Fit((), 0, 0)


def cycle_fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Yield where a pattern of cycles fits, from any start in the cycle."""
    for row in pattern.cycles:
        start = find_around(row, case.cycle)
        if start is not None:
            turn = case.cycle[start].step
            steps = (*case.trace.cycle[turn:], *case.trace.cycle[:turn])
            yield Fit(steps, 0, len(steps) - 1)


def path_fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Yield where a pattern of paths fits, at or below the container that grows."""
    for row in pattern.paths:
        found = find(row, case.path, case.site)
        if found is None:
            continue
        first, last = case.path[found.start].step, case.path[found.stop - 1].step
        if case.growth.step is None or last >= case.growth.step:
            yield Fit(case.steps, first, last)


def describe_fit(pattern: Pattern, words: Wording, versions: Mapping[str, str]) -> Diagnosis:
    """Fill the pattern's sentences with the names of the case."""
    removed_by = words.statement.removed_by
    if removed_by and is_mended_by_removal(pattern.code):
        text = f"Call {removed_by} for what is needed no longer: it takes items out, and nothing calls it."
        advice = Advice(text, "", pattern.links)
    else:
        code = words.fill_change(pattern.change) or words.fill_code(pattern.fix)
        advice = Advice(words.fill(pattern.advice), code, pattern.links, is_example=words.is_example(code))
    library = library_of(pattern.code, words.case, versions)
    return Diagnosis(pattern.code, pattern.title, words.fill(pattern.reason), advice, library)


__all__ = ["UNKNOWN_CODE", "diagnose"]
