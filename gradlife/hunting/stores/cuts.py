"""Statements that keep only the last part of what grows, whatever its length: `kept = kept[-1000:]`, `del kept[:-1000]`.

Only those count that run wherever the program adds: the statement adds itself, or stands beside one that does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.constant_values import is_moving, numbers_of
from gradlife.hunting.stores.helpers import called_statements
from gradlife.hunting.stores.place import Place
from gradlife.hunting.stores.place_statements import assigns, fills, is_place
from gradlife.hunting.stores.statements import Scope, Statement
from gradlife.model.growth import LARGEST_BOUND, DeclaredBound
from gradlife.model.trace import TENSOR_DETAIL, PathStep
from gradlife.source.syntax import blocks_of

#: Calls around the part that is kept: `torch.cat([bank, new])[-1000:].clone()`, `list(kept[-10:])`.
COPYING_METHODS = frozenset({"clone", "contiguous", "copy", "detach"})
COPYING_FUNCTIONS = frozenset({"deque", "list", "tuple"})


def cut_of(found: Sequence[Statement], place: Place, step: PathStep) -> DeclaredBound | None:
    """Return the bound of a place of which a statement keeps at most so many items; None if none does.

    ``step``: what grows, with its length or sizes. It must be able to grow up to that part.
    """
    cuts = [cut_in(block, found, place, step) for block in blocks_that_add(found, place, step)]
    return cuts[0] if cuts and all(cuts) else None


def cut_in(
    block: Sequence[Statement], found: Sequence[Statement], place: Place, step: PathStep
) -> DeclaredBound | None:
    """Return the bound that a statement of a block sets, itself or in a function of the program that it calls."""
    for one in block:
        for node, scope, there in run_by(one, found, place):
            if (bound := cut(node, scope, there, step)) is not None:
                return replace(bound, declared_by=where(one))
    return None


def where(one: Statement) -> str:
    """Return the file and the line of a statement."""
    return f"{short_path(one.source.file)}:{one.line}"


def blocks_that_add(found: Sequence[Statement], place: Place, step: PathStep) -> Iterator[list[Statement]]:
    """Yield the blocks that add to the place, or assign it a value that may be a longer one."""
    by_node = {id(one.node): one for one in found}
    adding = {id(one.node) for one in found if adds(one, place, step)}
    bodies = {id(one.source): one.source.tree.body for one in found}
    for block in (*bodies.values(), *(block for one in found for block in blocks_of(one.node))):
        if any(id(node) in adding for node in block):
            yield [by_node[id(node)] for node in block]


def adds(one: Statement, place: Place, step: PathStep) -> bool:
    """Whether the statement may make what is at the place longer. One that cuts a longer value does not stand alone."""
    if isinstance(one.node, ast.Assign) and assigns(one.node, one.scope, place):
        value = one.node.value
        return (
            isinstance(value, ast.Name)
            or mentions(value, one.scope, place)
            or cut(one.node, one.scope, place, step) is not None
        )
    return fills(one.node, one.scope, place)


def run_by(one: Statement, found: Sequence[Statement], place: Place) -> Iterator[tuple[ast.stmt, Scope, Place]]:
    """Yield the statement, and those of the program's functions that it calls."""
    yield one.node, one.scope, place
    if not any(blocks_of(one.node)):
        yield from called_statements(one.node, one.scope, found, place)


def cut(node: ast.stmt, scope: Scope, place: Place, step: PathStep) -> DeclaredBound | None:
    """Return the bound of a place of which the statement keeps at most so many items."""
    if isinstance(node, ast.Delete):
        bounds = (removed(target, scope, place, step) for target in node.targets)
        return next(filter(None, bounds), None)
    if not isinstance(node, ast.Assign):
        return None
    is_whole = assigns(node, scope, place) or any(is_all_of(target, scope, place) for target in node.targets)
    part = kept_part(node.value)
    return shortened(part, scope, step) if is_whole and part is not None else None


def removed(target: ast.expr, scope: Scope, place: Place, step: PathStep) -> DeclaredBound | None:
    """Return the bound of `place[:-1000]` or `place[1000:]` of a `del` statement: all but so many items."""
    match target:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=ast.UnaryOp(ast.USub(), number), step=None)):
            return most_of(number, scope, step.length, may_be_named=True) if is_place(value, scope, place) else None
        case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as number, upper=None, step=None)):
            return most_of(number, scope, step.length) if is_place(value, scope, place) else None
    return None


def is_all_of(target: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether it is `place[:]`."""
    match target:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=None)):
            return is_place(value, scope, place)
    return False


def kept_part(node: ast.expr) -> ast.Subscript | None:
    """Return `value[-1000:]` within calls that copy it; None if it is something else."""
    match node:
        case ast.Subscript():
            return node
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in COPYING_METHODS:
            return kept_part(value)
        case ast.Call(func=ast.Name(id=name), args=[value]) if name in COPYING_FUNCTIONS:
            return kept_part(value)
    return None


def shortened(part: ast.Subscript, scope: Scope, step: PathStep) -> DeclaredBound | None:
    """Return the bound of a slice that keeps at most so many items of one dimension."""
    slices = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
    bounds = (slice_bound(one, scope, length_at(step, number)) for number, one in enumerate(slices))
    return next(filter(None, bounds), None)


def slice_bound(node: ast.expr, scope: Scope, length: int | None) -> DeclaredBound | None:
    """Return the bound of the slice `-1000:` or `:1000`."""
    match node:
        case ast.Slice(lower=ast.UnaryOp(ast.USub(), number), upper=None, step=None):
            return most_of(number, scope, length, may_be_named=True)
        case ast.Slice(lower=None, upper=ast.expr() as number, step=None):
            return most_of(number, scope, length)
    return None


def length_at(step: PathStep, dimension: int) -> int | None:
    """Return the length of a container, or the size of a tensor or an array in this dimension; None if unknown."""
    found = re.search(TENSOR_DETAIL, step.detail)
    if found is None or step.length is not None:
        return step.length
    sizes = [int(one) for one in found["sizes"].split(",") if one.strip()]
    return sizes[dimension] if dimension < len(sizes) else None


def most_of(number: ast.expr, scope: Scope, length: int | None, *, may_be_named: bool = False) -> DeclaredBound | None:
    """Return the bound, if something of this length can still grow up to it. The result of a call or a calculation may
    grow with it; a name whose value the source does not tell is a bound if ``may_be_named``.
    """
    bound = bound_by(number, scope, length or 1)
    is_named = may_be_named and isinstance(number, ast.Name | ast.Attribute)
    return bound if bound is not None and bound.is_kept and (bound.most is not None or is_named) else None


def bound_by(number: ast.expr, scope: Scope, length: int, by: Statement | None = None) -> DeclaredBound | None:
    """Return the bound that a number of the source sets: the least that something of this length can still fill up to. What
    moves as the program goes on sets none.
    """
    numbers = numbers_of(number, scope.source.tree)
    if numbers is None and is_moving(number, scope.source.tree):
        return None
    fitting = [one for one in numbers or () if length <= one <= LARGEST_BOUND]
    most = None if numbers is None else min(fitting, default=max(numbers))
    return DeclaredBound(length, most, where(by) if by is not None else "")


def mentions(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the place is a part of the expression."""
    return any(isinstance(part, ast.expr) and is_place(part, scope, place) for part in ast.walk(node))
