"""From the references as they stand in memory to steps that a person reads.

Memory has more links than people think in: a module's dict, an instance's dict, a closure's tuple and cell, a wrapper and
its C++ object. Each such row of links becomes one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradlife.heap.folds import fold
from gradlife.heap.framework_folds import TABLES
from gradlife.heap.links import (
    ARGUMENT,
    HOOK_TABLES,
    ITS_IMPL,
    Link,
    Links,
    RawStep,
    is_half,
    links_of,
    short_type,
    words,
)
from gradlife.model.trace import Hop, Step

#: References to what only stands between an object and what it refers to.
INNER_LABELS = {"__dict__", "__globals__", "__kwdefaults__", "f_locals", ITS_IMPL}


def merged_steps(raw: Sequence[RawStep], is_cycle: bool = False) -> tuple[Step, ...]:
    """The steps of a path or of a cycle, with internal links folded into the references that they stand for."""
    links = links_of(raw)
    if is_cycle:
        links = begun_outside(links)
    steps: list[Step] = []
    at = 0 if is_cycle else skip_to_module(links)
    while at < len(links):
        taken, via = fold(links, at)
        is_last = at + 1 == len(links) and not is_cycle
        if not is_half(links[at]):
            steps.append(step_of(links[at], "" if is_last else via, () if is_last else links[at : at + taken]))
        elif steps and not is_cycle and at + 1 == len(links):  # the object itself is an impl
            steps.append(step_of(links[at], ""))
        at += taken
    return tuple(steps)


def last_reference(links: Links) -> tuple[Link, str]:
    """Of objects that refer each to the next, the last to something else: to whom that belongs, and what it is called."""
    at, taken, via = 0, 0, ""
    while at + taken < len(links):
        at += taken
        taken, via = fold(links, at)
    return links[at], via


def spans_of(raw: Sequence[RawStep]) -> list[set[int]]:
    """Of each step of a path the nodes that it stands for: the object, and what is folded into its reference."""
    links = links_of(raw)
    spans: list[set[int]] = []
    at = skip_to_module(links)
    while at < len(links):
        taken, _ = fold(links, at)
        if not is_half(links[at]) or (spans and at + 1 == len(links)):
            spans.append({link.node for link in links[at : at + taken]})
        at += taken
    return spans


def step_of(link: Link, via: str, hops: Links = ()) -> Step:
    """The step of one object."""
    return Step(
        object=short_type(link.type),
        detail=link.detail,
        kind=link.kind,
        via=via,
        relation=link.relation,
        type=link.type,
        bases=tuple(link.bases.splitlines()),
        hops=tuple(Hop(hop.type, hop.relation, name_in_program(hop.label), hop.index) for hop in hops),
        length=number_after("len ", link.detail),
        most=number_after("at most ", link.detail),
    )


def name_in_program(label: str) -> str:
    """What a program calls it: a parameter without the word for one, a table of hooks by the attribute that shows it."""
    return HOOK_TABLES.get(label, label.removeprefix(ARGUMENT))


def number_after(words: str, detail: str) -> int | None:
    """The number that a description gives after these words."""
    found = re.search(rf"\b{words}(\d+)", detail)
    return int(found[1]) if found else None


def begun_outside(links: list[Link]) -> list[Link]:
    """A cycle turned so that it does not begin amidst links that are folded into one reference: back to their beginning."""
    if not links:
        return links
    start = len(links)
    while start > 1 and is_inside(links, start % len(links)):
        start -= 1
    return links[start:] + links[:start]


def is_inside(ring: Links, at: int) -> bool:
    """Does this object of a ring only stand between the one before it and what that refers to?"""
    before = ring[at - 1].label
    if before.strip("'") in TABLES:
        return True
    is_inner = before in INNER_LABELS or before.startswith(("__closure__:", "__defaults__:"))
    return is_inner or ring[at].relation == "cell" or is_half(ring[at])


def tail_steps(raw: Sequence[RawStep], cycle: Sequence[RawStep]) -> tuple[Step, ...]:
    """The steps from a cycle to what hangs on it, from the object on to which the reference belongs."""
    if not raw:
        return ()
    links, ring = links_of(raw), links_of(cycle)
    at = next((i for i, link in enumerate(ring) if link.node == links[0].node), 0)
    lead: list[RawStep] = []
    while is_inside(ring, at) and len(lead) < len(ring):
        at -= 1
        lead.insert(0, cycle[at])
    return merged_steps([*lead, *raw])


def skip_to_module(links: Links) -> int:
    """Where a path begins for a reader: everything hangs on sys.modules, so a module is a beginning."""
    found = len(links) > 2 and links[0].label == "sys.modules" and links[2].type == "module"
    return 2 if found else 0


__all__ = ["Link", "RawStep", "is_half", "merged_steps", "short_type", "spans_of", "words"]
