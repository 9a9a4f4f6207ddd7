"""The rewrites that fit a trace, the one that changes least first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from gradlife.hunting.stores.library_names import is_known_to_library
from gradlife.hunting.stores.mechanisms import registrations_of
from gradlife.hunting.stores.place import Place, container_in, is_tensor, is_text, place_at, places_outward
from gradlife.hunting.stores.place_statements import assigns
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Statement, search
from gradlife.hunting.stores.stored_at import is_initial, may_hold
from gradlife.model.growth import Growth
from gradlife.model.trace import PathStep, Trace, is_scalar_detail
from gradlife.patterns.rewrites.bounded_cache import SIZE, bounded_cache
from gradlife.patterns.rewrites.grad_with_graph import without_gradient
from gradlife.patterns.rewrites.handed_back import handed_back
from gradlife.patterns.rewrites.hook_argument import with_own_argument
from gradlife.patterns.rewrites.kept_graph import DETACH, without_graph
from gradlife.patterns.rewrites.kept_loss import keep_number
from gradlife.patterns.rewrites.kept_traceback import without_traceback
from gradlife.patterns.rewrites.log_text import log_text
from gradlife.patterns.rewrites.numbered_name import with_one_name
from gradlife.patterns.rewrites.pack_hook import packed_without_graph
from gradlife.patterns.rewrites.removed_hook import without_hook_after_use
from gradlife.patterns.rewrites.replaced_head import without_old_groups
from gradlife.patterns.rewrites.saved_on_ctx import saved_for_backward
from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.unread_store import keep_newest, keep_nothing
from gradlife.patterns.rewrites.unused_graph import without_unused_graph
from gradlife.patterns.rewrites.weak_self import weak_argument, weak_method

#: A tensor with its graph in a container that grows.
KEPT_GRAPH = "GL402"

#: Parameters that an optimizer alone keeps.
OLD_HEADS = "GL601"

#: Fewest items of a container that counts as growing without other evidence.
FEW = 8

#: Elements of a tensor that is written out whole; along each dimension of a larger one; and those of a short text.
WRITTEN_OUT, EDGES, FEW_NUMBERS = 1_000, 6, 64

#: Rewrites that depend on the stored line alone, and what remains after each.
ON_ITS_LINE = {
    log_text: "the messages stay, the tensors go",
    bounded_cache: f"the last {SIZE} results stay, older ones are computed again",
    packed_without_graph: "backward gets the same values, the graph goes",
    without_gradient: "the gradient stays until its last use",
    without_hook_after_use: "the hook stays until its last use",
    without_old_groups: "the groups of the model stay, those of earlier heads go",
    with_one_name: "the newest stays, older ones go",
    handed_back: "the result is returned, and kept no longer",
    weak_method: "the method is called as before, the cycle goes",
    weak_argument: "the function computes the same, the cycle goes",
}

#: What remains after the rewrites that take a graph away.
NUMBERS, VALUES = "this keeps the numbers and frees the graphs", "this keeps the values and frees the graphs"


class Change(NamedTuple):
    """A rewrite of one file."""

    source: Source
    text: str | None  # its new text; None if the rewrite does not fit
    remains: str  # of what was kept before


def changes(
    code: str, trace: Trace, line: int, source: Source, sources: Sequence[Source], growth: Growth
) -> Iterator[Change]:
    """Yield the rewrites that fit the trace, the one that changes least first."""
    trees = [one.tree for one in sources]
    held = container_in(trace.steps, growth.step)
    place = place_at(trace.steps[held - 1]) if held else None
    if code == KEPT_GRAPH and place is not None and holds_scalars(trace, growth):
        yield Change(source, keep_number(source.text, line, place.name, trees), NUMBERS)
    if any(hop.label == "__traceback__" for step in (*trace.steps, *trace.cycle) for hop in step.hops):
        text = without_traceback(source.text, source.tree, line, trees)
        yield Change(source, text, "the exceptions stay, their tracebacks go")
    is_growing = held is not None and (growth.step == held or (trace.steps[held].length or 0) >= FEW)
    if not is_growing:
        yield from of_tensors(trace, line, source, sources)
    site = Site(source.text, source.tree, line, "", trees)
    for rewrite, remains in ON_ITS_LINE.items():
        if (rewrite is not log_text or has_short_text(trace)) and (
            rewrite is not without_old_groups or code == OLD_HEADS
        ):
            yield Change(source, rewrite(site), remains)
    if any(registrations_of(hop) for step in trace.cycle for hop in step.hops):
        yield Change(source, with_own_argument(site), "the hook computes the same, the cycle goes")
    is_record = held is not None and held + 1 < len(trace.steps) and not is_tensor(trace.steps[held + 1])
    for change in of_unread(trace, held if is_growing else None, site, source):
        if code != KEPT_GRAPH or not is_record or is_detaching(change):
            yield change


def is_detaching(change: Change) -> bool:
    """Whether a rewrite takes graphs away and nothing else: a record that keeps one is a log that somebody wants."""
    return change.text is not None and change.text.count(DETACH) > change.source.text.count(DETACH)


def has_short_text(trace: Trace) -> bool:
    """Whether the text of the survivor is short, so that records which keep it do not grow by much."""
    shape = [int(one) for one in re.findall(r"\d+", trace.detail.partition("[")[2])]
    count = math.prod(shape)
    return (count if count <= WRITTEN_OUT else math.prod(min(one, EDGES) for one in shape)) <= FEW_NUMBERS


def of_tensors(trace: Trace, line: int, source: Source, sources: Sequence[Source]) -> Iterator[Change]:
    """Yield the rewrites of statements that give a place a tensor with its graph."""
    trees = [one.tree for one in sources]
    for place in places_of_tensors(trace):
        one = only_statement(place, sources, (source.file, line))
        if one is not None:
            where = (one.source.text, one.source.tree, one.line, place.name, trees)
            yield Change(one.source, without_graph(*where), VALUES)
            yield Change(one.source, saved_for_backward(*where), "the tensor stays until backward, the cycle goes")
    steps = trace.steps or (*trace.cycle, *trace.cycle[:1])
    if any(is_tensor(step) and has_graph(step, trace) for step in steps):
        for _, place in places_outward(steps, len(steps) - 2):
            site = Site(source.text, source.tree, line, place.name, trees)
            yield Change(source, without_unused_graph(site), VALUES)


def of_unread(trace: Trace, held: int | None, site: Site, source: Source) -> Iterator[Change]:
    """Yield the rewrites of a statement that stores what the program never reads."""
    steps = trace.steps or (*trace.cycle, *trace.cycle[:1])
    last = len(steps) - 1 if held is None else held - 1
    for _, place in places_outward(steps, last):
        if not is_known_to_library(place):
            named = replace(site, name=place.name)
            if held is not None:
                yield Change(
                    source,
                    keep_newest(named, keys_to_graph(trace, held)),
                    "the entries that the program reads stay, older ones go",
                )
            yield Change(source, keep_nothing(named, partial(is_foreign, place)), "nothing stays, for nothing reads it")


def is_foreign(place: Place, name: str) -> bool:
    """Whether a library may read the attribute `name` of the place's object."""
    return is_known_to_library(replace(place, name=name))


def keys_to_graph(trace: Trace, held: int) -> list[str | int] | None:
    """Return the keys and indexes from a container's item to its tensor with a graph; None if there is none."""
    keys: list[str | int] = []
    for step in trace.steps[held + 1 :]:
        if is_tensor(step):
            return keys if has_graph(step, trace) else None
        if step.type == "dict" and step.hops and is_text(step.hops[0]):
            keys.append(step.hops[0].label[1:-1])
        elif step.type in {"tuple", "list"} and step.hops:
            keys.append(step.hops[0].index)
        else:
            return None
    return None


def places_of_tensors(trace: Trace) -> Iterator[Place]:
    """Yield the places that refer directly to a tensor with its graph."""
    steps = trace.steps or (*trace.cycle, *trace.cycle[:1])
    for one, other in pairwise(steps):
        place = place_at(one)
        if place is not None and is_tensor(other) and has_graph(other, trace):
            yield place


def has_graph(step: PathStep, trace: Trace) -> bool:
    """Whether a tensor on the trace has a grad node."""
    if any(hop.label == "grad_fn" for hop in step.hops):
        return True
    return not step.hops and trace.tensor is not None and bool(trace.tensor.grad_fn)


def only_statement(place: Place, sources: Sequence[Source], stored: tuple[str, int]) -> Statement | None:
    """Find the statement that stores, or the only one that assigns what may be a tensor with a graph to the place."""
    found = [one for source in sources for one in search(source, partial(assigns, place=place)) if may_hold(one)]
    there = [one for one in found if (one.source.file, one.line) == stored]
    later = there or [one for one in found if not is_initial(one)] or found
    return later[0] if len(later) == 1 else None


def holds_scalars(trace: Trace, growth: Growth) -> bool:
    """Whether the list holds one-element tensors, and the survivor is such a tensor or in its graph."""
    held = container_in(trace.steps, growth.step)
    if held is None or held + 1 >= len(trace.steps) or trace.steps[held].type != "list":
        return False
    item = trace.steps[held + 1]
    is_survivor = held + 2 == len(trace.steps)
    is_by_graph = any(hop.label == "grad_fn" for hop in item.hops)
    return is_tensor(item) and is_scalar_detail(item.detail) and (is_survivor or is_by_graph)
