"""Statements that keep only the last part of what grows, whatever its length: `kept = kept[-1000:]`, `del kept[:-1000]`.

Only those count that run wherever the program adds: the statement adds itself, or stands beside one that does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.constant_values import numbers_of
from gradlife.hunting.stores.helpers import called_statements
from gradlife.hunting.stores.place import Place
from gradlife.hunting.stores.place_statements import assigns, fills, is_place
from gradlife.hunting.stores.statements import Scope, Statement, blocks_of
from gradlife.model.trace import TENSOR_DETAIL, PathStep

#: A larger part is never reached in practice.
LARGEST_PART = 1_000_000

#: Calls around the part that is kept: `torch.cat([bank, new])[-1000:].clone()`, `list(kept[-10:])`.
COPYING_METHODS = frozenset({"clone", "contiguous", "copy", "detach"})
COPYING_FUNCTIONS = frozenset({"deque", "list", "tuple"})


def where_it_is_cut(found: Sequence[Statement], place: Place, step: PathStep) -> str:
    """Return the statement that keeps at most so many items of the place: ``train.py:18``; empty if there is none.

    ``step``: what grows, with its length or sizes. It must be able to grow up to that part.
    """
    cuts = [cut_in(block, found, place, step) for block in blocks_that_add(found, place, step)]
    first = cuts[0] if cuts and all(cuts) else None
    return f"{short_path(first.source.file)}:{first.line}" if first is not None else ""


def cut_in(block: Sequence[Statement], found: Sequence[Statement], place: Place, step: PathStep) -> Statement | None:
    """Return the statement of a block that cuts, itself or in a function of the program that it calls."""
    for one in block:
        if any(is_cut(node, scope, there, step) for node, scope, there in run_by(one, found, place)):
            return one
    return None


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
            isinstance(value, ast.Name) or mentions(value, one.scope, place) or is_cut(one.node, one.scope, place, step)
        )
    return fills(one.node, one.scope, place)


def run_by(one: Statement, found: Sequence[Statement], place: Place) -> Iterator[tuple[ast.stmt, Scope, Place]]:
    """Yield the statement, and those of the program's functions that it calls."""
    yield one.node, one.scope, place
    if not any(blocks_of(one.node)):
        yield from called_statements(one.node, one.scope, found, place)


def is_cut(node: ast.stmt, scope: Scope, place: Place, step: PathStep) -> bool:
    """Whether the statement keeps at most so many items."""
    if isinstance(node, ast.Delete):
        return any(is_removed(target, scope, place, step) for target in node.targets)
    if not isinstance(node, ast.Assign):
        return False
    is_whole = assigns(node, scope, place) or any(is_all_of(target, scope, place) for target in node.targets)
    part = kept_part(node.value)
    return is_whole and part is not None and is_short(part, scope, step)


def is_removed(target: ast.expr, scope: Scope, place: Place, step: PathStep) -> bool:
    """Whether it is `place[:-1000]` or `place[1000:]` of a `del` statement: all but so many items."""
    match target:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=ast.UnaryOp(ast.USub(), number), step=None)):
            return is_place(value, scope, place) and may_be_most(number, scope, step.length)
        case ast.Subscript(value=value, slice=ast.Slice(lower=ast.expr() as number, upper=None, step=None)):
            return is_place(value, scope, place) and is_known_most(number, scope, step.length)
    return False


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


def is_short(part: ast.Subscript, scope: Scope, step: PathStep) -> bool:
    """Whether the slice keeps at most so many items of one dimension."""
    slices = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
    return any(is_short_slice(one, scope, length_at(step, number)) for number, one in enumerate(slices))


def is_short_slice(node: ast.expr, scope: Scope, length: int | None) -> bool:
    """Whether the slice is `-1000:` or `:1000`."""
    match node:
        case ast.Slice(lower=ast.UnaryOp(ast.USub(), number), upper=None, step=None):
            return may_be_most(number, scope, length)
        case ast.Slice(lower=None, upper=ast.expr() as number, step=None):
            return is_known_most(number, scope, length)
    return False


def length_at(step: PathStep, dimension: int) -> int | None:
    """Return the length of a container, or the size of a tensor or an array in this dimension; None if unknown."""
    found = re.search(TENSOR_DETAIL, step.detail)
    if found is None or step.length is not None:
        return step.length
    sizes = [int(one) for one in found["sizes"].split(",") if one.strip()]
    return sizes[dimension] if dimension < len(sizes) else None


def may_be_most(number: ast.expr, scope: Scope, length: int | None) -> bool:
    """Whether something of this length can still grow up to the number. A name whose value the source does not tell may be
    such a number; the result of a call or a calculation may grow with it.
    """
    is_named = isinstance(number, ast.Name | ast.Attribute) and numbers_of(number, scope.source.tree) is None
    return is_named or is_known_most(number, scope, length)


def is_known_most(number: ast.expr, scope: Scope, length: int | None) -> bool:
    """Whether the source gives the number, and something of this length can still grow up to it."""
    numbers = numbers_of(number, scope.source.tree) or ()
    return any((length or 1) <= one <= LARGEST_PART for one in numbers)


def mentions(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the place is a part of the expression."""
    return any(isinstance(part, ast.expr) and is_place(part, scope, place) for part in ast.walk(node))
