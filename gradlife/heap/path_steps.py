"""Merge a path of raw references into the steps of a report.

A raw path has references that no user wrote: to a module's dict, to an instance's dict, to a closure's tuple and cell,
from a wrapper to its C++ object. `merged_steps` shows each such series as one step.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace

from gradlife.heap.graph import GAP, Reference, References
from gradlife.heap.hidden_steps import fold, parameter_at
from gradlife.heap.internal_steps import TABLES
from gradlife.heap.ownership_links import (
    HOOK_TABLES,
    Links,
    is_native_part,
    short_type,
    words,
)
from gradlife.heap.torch_layout.labels import ARGUMENT, ITS_IMPL
from gradlife.model.trace import MODULE_CONTAINERS, Hop, PathStep, gap_of

#: References to objects that only stand between an object and its referent.
INNER_LABELS = {"__dict__", "__globals__", "__kwdefaults__", "f_locals", ITS_IMPL}


def merged_steps(raw: References, is_cycle: bool = False, growing: Set[int] = frozenset()) -> tuple[PathStep, ...]:
    """Return the steps of a path or cycle, with internal references merged; ``growing``: containers that grow."""
    links = begun_outside(raw) if is_cycle else raw
    steps: list[PathStep] = []
    at = 0 if is_cycle else skip_to_module(links)
    while at < len(links):
        taken, via = fold_up_to_growing(links, at, growing)
        is_last = at + 1 == len(links) and not is_cycle
        if not is_native_part(links[at]):
            step = step_of(links[at], "" if is_last else via, () if is_last else links[at : at + taken])
            steps.append(replace(step, argument=parameter_at(links, at)[1]))
        elif steps and not is_cycle and at + 1 == len(links):  # the target itself is a C++ object
            steps.append(step_of(links[at], ""))
        at += taken
    return tuple(steps)


def last_reference(links: Links) -> tuple[Reference, str]:
    """Find the owner that a user sees at the end of a path, and the words for its last reference."""
    at, taken, via = 0, 0, ""
    while at + taken < len(links):
        at += taken
        taken, via = fold(links, at)
    return links[at], via


def spans_of(raw: References, growing: Set[int] = frozenset()) -> list[set[int]]:
    """Return for each step of a path its nodes: the object, and those merged into its reference. See `merged_steps`."""
    spans: list[set[int]] = []
    at = skip_to_module(raw)
    while at < len(raw):
        taken, _ = fold_up_to_growing(raw, at, growing)
        if not is_native_part(raw[at]) or (spans and at + 1 == len(raw)):
            spans.append({link.node for link in raw[at : at + taken] if link.kind != GAP})
        at += taken
    return spans


def fold_up_to_growing(links: Links, at: int, growing: Set[int]) -> tuple[int, str]:
    """Fold the references of one step; a ModuleDict or the like that grows is an object of its own, no part of another's."""
    taken, via = fold(links, at)
    for inner in range(at + 1, at + taken) if growing else ():
        table = {link.node for link in links[inner : inner + 3]}  # the module, its dict, the dict of its children
        if links[inner].type.startswith(MODULE_CONTAINERS) and not table.isdisjoint(growing):
            return fold(links[:inner], at)
    return taken, via


def step_of(link: Reference, via: str, hops: Links = ()) -> PathStep:
    """Build the step of one object, or of the objects that were left out of a path."""
    if link.kind == GAP:
        return gap_of(link.index)
    length, most = length_and_most(link)
    return PathStep(
        object=short_type(link.type),
        detail=link.detail,
        kind=link.kind,
        via=via,
        relation=link.relation,
        type=link.type,
        bases=tuple(link.bases.splitlines()),
        hops=tuple(Hop(hop.type, hop.relation, name_in_program(hop.label), hop.index) for hop in hops),
        length=length,
        most=most,
    )


def name_in_program(label: str) -> str:
    """Translate a label to the program's name: a parameter's name, or the attribute of a hook table."""
    return HOOK_TABLES.get(label, label.removeprefix(ARGUMENT))


def length_and_most(link: Reference) -> tuple[int | None, int | None]:
    """Return the length of the container that a reference begins at, and the most items that its type lets it have."""
    return number_after("len ", link.detail), number_after("at most ", link.detail)


def number_after(words: str, detail: str) -> int | None:
    """Return the number that follows these words in a description."""
    found = re.search(rf"\b{words}(\d+)", detail)
    return int(found[1]) if found else None


def begun_outside(links: Links) -> Links:
    """Rotate a cycle to begin with an object that is shown, not with a merged one."""
    if not links:
        return links
    start = len(links)
    while start > 1 and is_inside(links, start % len(links)):
        start -= 1
    return [*links[start:], *links[:start]]


def is_inside(ring: Links, at: int) -> bool:
    """Whether this object of a cycle is merged into the reference before it."""
    before = ring[at - 1].label
    if before.strip("'") in TABLES:
        return True
    is_inner = before in INNER_LABELS or before.startswith(("__closure__:", "__defaults__:"))
    return is_inner or ring[at].relation == "cell" or is_native_part(ring[at])


def tail_steps(raw: References, cycle: References) -> tuple[PathStep, ...]:
    """Return the steps from a cycle to an object that it keeps alive, starting at a shown object."""
    if not raw:
        return ()
    at = next((i for i, link in enumerate(cycle) if link.node == raw[0].node), 0)
    lead: list[Reference] = []
    while cycle and is_inside(cycle, at) and len(lead) < len(cycle):
        at = (at - 1) % len(cycle)
        lead.insert(0, cycle[at])
    return merged_steps([*lead, *raw])


def skip_to_module(links: Links) -> int:
    """Return where a report starts a path: at the module, because sys.modules holds every module."""
    found = len(links) > 2 and links[0].label == "sys.modules" and links[2].type == "module"
    return 2 if found else 0


__all__ = ["is_native_part", "merged_steps", "short_type", "spans_of", "words"]
