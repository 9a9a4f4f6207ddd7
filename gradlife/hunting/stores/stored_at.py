"""The line that stores: of the statements that fit a place the one that the creation stack confirms."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.place import place_of
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Statement, storing
from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import Confidence, StoredAt
from gradlife.model.trace import Trace

#: A line of a creation stack: ``train.py:41 in step``.
CREATED = re.compile(r"(.+):(\d+) in ")

#: Functions that run once for an object, when it is made.
ONCE = ("__init__", "__new__", "__post_init__", "setup")


def stored_at(
    trace: Trace, created_at: Sequence[str], sources: Sequence[Source], growth: Growth = UNKNOWN_GROWTH
) -> StoredAt | None:
    """Find the statement that stores the survivor; None if no statement of the program fits."""
    found = statement_that_stores(trace, created_at, sources, growth)
    if found is None:
        return None
    one, confidence = found
    line = one.node.lineno
    return StoredAt(short_path(one.source.file), line, one.source.line(line), one.function, confidence)


def statement_that_stores(
    trace: Trace, created_at: Sequence[str], sources: Sequence[Source], growth: Growth = UNKNOWN_GROWTH
) -> tuple[Statement, Confidence] | None:
    """The statement, and whether any other one fits as well."""
    place = place_of(trace, growth)
    if place is None:
        return None
    own = [source for source in sources if place.module in {"", source.module}]
    found = [one for source in own for one in storing(source, place)]
    fitting = [one for one in found if not is_initial(one)] or found
    running = [one for one in fitting if ran(one, created_at)]
    chosen = running or fitting
    if not chosen:
        return None
    confidence = Confidence.SURE if len(chosen) == 1 else Confidence.UNSURE
    return min(chosen, key=lambda one: (distance(one, created_at), one.node.lineno)), confidence


def is_initial(one: Statement) -> bool:
    """Does it only give a first value: a constant, an empty container, or anything when the object is made?"""
    if one.scope and one.scope[-1] in ONCE:
        return True
    value = getattr(one.node, "value", None)
    is_empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    return isinstance(one.node, ast.Assign | ast.AnnAssign) and (is_empty or isinstance(value, ast.Constant))


def places(created_at: Sequence[str]) -> list[tuple[str, int]]:
    """The files, as they are shown, and the lines of a creation stack."""
    return [(found[1], int(found[2])) for line in created_at if (found := CREATED.match(line))]


def ran(one: Statement, created_at: Sequence[str]) -> bool:
    """Was its function running when the survivor was created?"""
    file = short_path(one.source.file)
    rows = [line for name, line in places(created_at) if name == file]
    return any(line in one.lines for line in rows) if one.lines else bool(rows)


def distance(one: Statement, created_at: Sequence[str]) -> int:
    """Lines from where the survivor is created; what stands before that counts as farthest."""
    rows = [line for name, line in places(created_at) if os.path.basename(name) == os.path.basename(one.source.file)]
    return min((abs(one.node.lineno - line) + 10_000 * (one.node.lineno < line) for line in rows), default=0)
