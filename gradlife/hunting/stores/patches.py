"""The patch of a finding: the rewrite of its pattern, as a unified diff, where that is safe."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.place import Place, container_in, is_tensor, place_at
from gradlife.hunting.stores.place_statements import assigns
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Statement, search
from gradlife.hunting.stores.stored_at import is_initial, may_hold
from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import Confidence, Patch, StoredAt
from gradlife.model.trace import Step, Trace
from gradlife.patterns.rewrites.kept_graph import without_graph
from gradlife.patterns.rewrites.kept_loss import keep_number
from gradlife.patterns.rewrites.kept_traceback import without_traceback
from gradlife.patterns.rewrites.saved_on_ctx import saved_for_backward

#: A tensor with its graph in a container that grows.
KEPT_GRAPH = "GL402"

#: The shape of a tensor with one element, as shown.
SCALAR = " []"

#: A file and the text that it would have.
Change = tuple[Source, str | None]


def patch_for(
    code: str, trace: Trace, stored: StoredAt | None, sources: Sequence[Source], growth: Growth = UNKNOWN_GROWTH
) -> Patch | None:
    """The patch; None where no safe one is known."""
    if stored is None or stored.confidence is not Confidence.SURE:
        return None
    source = next((one for one in sources if short_path(one.file) == stored.file), None)
    if source is None:
        return None
    for changed, text in changes(code, trace, stored.line, source, sources, growth):
        if text is not None and lies_below(changed.file):
            return patch_of(short_path(changed.file), changed.text, text)
    return None


def changes(
    code: str, trace: Trace, line: int, source: Source, sources: Sequence[Source], growth: Growth
) -> Iterator[Change]:
    """The rewrites that fit the trace, the one that changes least first."""
    trees = [one.tree for one in sources]
    held = container_in(trace.steps, growth.step)
    place = place_at(trace.steps[held - 1]) if held else None
    if code == KEPT_GRAPH and place is not None and holds_scalars(trace, growth):
        yield source, keep_number(source.text, line, place.name, trees)
    if any(hop.label == "__traceback__" for step in (*trace.steps, *trace.cycle) for hop in step.hops):
        yield source, without_traceback(source.text, source.tree, line, trees)
    if held is None or (trace.steps[held].length or 0) < FEW:
        for place in places_of_tensors(trace):
            one = only_statement(place, sources, (source.file, line))
            if one is not None:
                yield one.source, without_graph(one.source.text, one.source.tree, one.line, place.name, trees)
                yield one.source, saved_for_backward(one.source.text, one.source.tree, one.line, place.name, trees)


#: Items of a container that is no place of growth.
FEW = 8


def places_of_tensors(trace: Trace) -> Iterator[Place]:
    """The places that hold a tensor with its graph themselves."""
    steps = trace.steps or (*trace.cycle, *trace.cycle[:1])
    for one, other in pairwise(steps):
        place = place_at(one)
        if place is not None and is_tensor(other) and has_graph(other, trace):
            yield place


def has_graph(step: Step, trace: Trace) -> bool:
    """Does a tensor on the trace have a grad node?"""
    if any(hop.label == "grad_fn" for hop in step.hops):
        return True
    return not step.hops and trace.tensor is not None and bool(trace.tensor.grad_fn)


def only_statement(place: Place, sources: Sequence[Source], stored: tuple[str, int]) -> Statement | None:
    """Find the statement that stores, or the only one that assigns the place what may be a tensor with a graph."""
    found = [one for source in sources for one in search(source, partial(assigns, place=place)) if may_hold(one)]
    there = [one for one in found if (one.source.file, one.line) == stored]
    later = there or [one for one in found if not is_initial(one)] or found
    return later[0] if len(later) == 1 else None


def holds_scalars(trace: Trace, growth: Growth) -> bool:
    """Does the list hold tensors of one number, and the survivor as such a tensor or by its graph?"""
    held = container_in(trace.steps, growth.step)
    if held is None or held + 1 >= len(trace.steps) or trace.steps[held].type != "list":
        return False
    item = trace.steps[held + 1]
    is_survivor = held + 2 == len(trace.steps)
    is_by_graph = any(hop.label == "grad_fn" for hop in item.hops)
    return is_tensor(item) and item.detail.endswith(SCALAR) and (is_survivor or is_by_graph)


def lies_below(file: str) -> bool:
    """Is the file in the working folder, where a diff of it can be applied?"""
    return not os.path.relpath(file).startswith(os.pardir)


def patch_of(file: str, before: str, after: str) -> Patch:
    """The change from one text to the other."""
    name = file.replace(os.sep, "/")
    rows = list(difflib.unified_diff(lines_of(before), lines_of(after), f"a/{name}", f"b/{name}"))
    ended = (row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)
    return Patch("".join(ended), changed_lines(rows, "-"), changed_lines(rows, "+"))


def lines_of(text: str) -> list[str]:
    """The lines with their ends, as git counts them."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + ([text.rpartition("\n")[2]] if text[-1:] != "\n" else [])


def changed_lines(rows: Iterable[str], sign: str) -> tuple[str, ...]:
    """The lines of a diff with that sign, without it and their indentation."""
    return tuple(row[1:].strip() for row in list(rows)[2:] if row.startswith(sign))
