"""Whether a program computes a metric again and again, but never resets it: then its states have no end."""

from __future__ import annotations

from collections.abc import Sequence

from gradlife.hunting.stores.emptyings import is_reset, takes
from gradlife.hunting.stores.place import place_at, places_outward
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.whole_reads import COMPUTE, MAX_DEPTH, runs_once, statements_about
from gradlife.model.trace import Trace

METHODS = frozenset({COMPUTE})


def is_computed_but_never_reset(trace: Trace, metric: int, sources: Sequence[Source]) -> bool:
    """Whether the source calls `compute` of the metric at this step repeatedly, but neither resets nor replaces it.

    A library may reset a metric that it was given. So only a metric that the program itself computes counts.
    """
    place = place_at(trace.steps[metric - 1]) if metric > 0 else None
    if place is None or any(".reset(" in source.text.replace("super().reset(", "") for source in sources):
        return False
    computing = [one for one in statements_about(place, sources) if takes(one.node, one.scope, place, METHODS)]
    if all(runs_once(one.scope, sources, MAX_DEPTH) for one in computing):
        return False
    around = (place for _, place in places_outward(trace.steps, metric - 1))
    return not any(is_reset(one, place) for place in around for one in statements_about(place, sources))
