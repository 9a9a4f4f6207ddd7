"""What the rounds added, and how the hunt judged what it planted in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from gradlife import _heap
from gradlife.hunting.controls import Controls, planted_name
from gradlife.hunting.growth import Evidence, Grown
from gradlife.hunting.weights import minus, weight
from gradlife.model.hunt import Control, Round


def rounds_of(evidence: Evidence, sure: Sequence[Grown], controls: Controls) -> Iterator[Round]:
    """What each round added, what the hunt planted in it left out."""
    planted = planted_members(evidence, sure, controls)
    for number, (before, after) in enumerate(itertools.pairwise(evidence.looks)):
        mine = weight(evidence.graph, planted.get(number, ()))
        added = minus(minus(after.totals, before.totals), mine)
        yield Round(after.steps - before.steps, added, after.malloc_per_step)


def planted_members(evidence: Evidence, sure: Sequence[Grown], controls: Controls) -> Mapping[int, list[int]]:
    """Nodes that the hunt planted, by the round in which it did."""
    members: dict[int, list[int]] = {}
    for one in sure:
        if planted_name(evidence.graph, one, controls):
            for node in one.group.members:
                members.setdefault(evidence.born[node], []).append(node)
    return members


def judged_controls(graph: _heap.Graph, grown: Sequence[Grown], controls: Controls) -> list[Control]:
    """How the hunt judged what it planted."""
    if not controls.are_planted:
        return []
    found = {planted_name(graph, one, controls) for one in grown}
    return [
        Control("a list that keeps a tensor each step", "growth", "growth" if "held" in found else "clean"),
        Control("a context in a cycle through C++", "never", "never" if "cycle" in found else "clean"),
        Control("a ring of two tensors", "clean", "growth" if "clean" in found else "clean"),
    ]
