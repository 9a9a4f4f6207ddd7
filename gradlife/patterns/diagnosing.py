"""The name of a leak: the first pattern of the table that fits its trace, told in the program's own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradlife.model.hunt import UNKNOWN_CODE, Advice, Diagnosis, FindingKind
from gradlife.model.trace import Lifetime, Trace
from gradlife.patterns.library import library_of
from gradlife.patterns.matching import find, find_around
from gradlife.patterns.pattern import NO_CONTAINER, SPREAD, SWELLING, Case, Fit, Pattern
from gradlife.patterns.table import PATTERNS
from gradlife.patterns.unknown import unknown
from gradlife.patterns.wording import Wording


def diagnose(
    trace: Trace,
    kind: FindingKind,
    lifetime: Lifetime | None = None,
    *,
    anchor: int | None = None,
    versions: Mapping[str, str] | None = None,
    created_at: tuple[str, ...] = (),
) -> Diagnosis:
    """What kind of leak a trace shows, why it is one, and its fix.

    ``anchor`` is the step of the trace whose container holds more after each round, or NO_CONTAINER, SWELLING or SPREAD, where
    known; ``versions`` are those of libraries, ``{"torch": "2.13.0"}``, to tell a known bug of theirs. It never fails to answer:
    a trace that no pattern fits has the code GL000.
    """
    case = Case(trace, kind, lifetime or trace.lifetime, anchor)
    for pattern in PATTERNS:
        fit = next(fits(pattern, case), None)
        if fit is not None:
            return told(pattern, case, fit, versions or {}, created_at)
    return unknown(case)


def fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Where a pattern fits a case."""
    if case.kind not in pattern.kinds or (pattern.when is not None and not pattern.when(case)):
        return
    if case.ring and not case.trace.steps:
        yield from ring_fits(pattern, case)
    elif case.way:
        yield from way_fits(pattern, case)
    elif not pattern.ways and not pattern.rings:
        yield Fit((), 0, 0)


def ring_fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Patterns of rings, turned until they fit."""
    for row in pattern.rings:
        start = find_around(row, case.ring)
        if start is not None:
            turn = case.ring[start].step
            steps = (*case.trace.cycle[turn:], *case.trace.cycle[:turn])
            yield Fit(steps, 0, len(steps) - 1)


def way_fits(pattern: Pattern, case: Case) -> Iterator[Fit]:
    """Patterns of ways, at or below the place that grows."""
    for row in pattern.ways:
        found = find(row, case.way, case.site)
        if found is None:
            continue
        first, last = case.way[found.start].step, case.way[found.stop - 1].step
        if case.anchor is None or last >= case.anchor:
            yield Fit(case.steps, first, last)


def told(pattern: Pattern, case: Case, fit: Fit, versions: Mapping[str, str], created_at: tuple[str, ...]) -> Diagnosis:
    """The diagnosis in words."""
    words = Wording(case, fit, created_at)
    advice = Advice(words.fill(pattern.advice), words.fill_code(pattern.fix), pattern.links)
    library = library_of(pattern.code, case, versions)
    return Diagnosis(pattern.code, pattern.title, words.fill(pattern.reason), advice, library)


__all__ = ["NO_CONTAINER", "SPREAD", "SWELLING", "UNKNOWN_CODE", "diagnose"]
