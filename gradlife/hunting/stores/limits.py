"""Limits that a program itself sets to the length of a container: it may still be filling up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.constant_values import numbers_of
from gradlife.hunting.stores.place import Place, place_at
from gradlife.hunting.stores.place_statements import ADDERS, assigns, is_adder, is_place, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement, blocks_of, calls, statements
from gradlife.model.trace import Trace

#: A larger limit is never reached in practice.
LARGEST_LIMIT = 1_000_000

#: Methods that remove items.
REMOVERS = frozenset({"pop", "popleft", "popitem", "clear"})

#: Comparisons of a length with its limit, below which a program adds and above which it removes.
BELOW, ABOVE = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE, ast.Eq)


def limit_of(trace: Trace, container: int, sources: Sequence[Source]) -> str:
    """Return where the program limits the container at this step of a trace: ``train.py:18``; empty if nowhere.

    A program adds an item only if the length is below the limit, or removes items if it is above.
    """
    place = place_at(trace.steps[container - 1]) if container > 0 else None
    if place is None:
        return ""
    files = [one for one in sources if "len(" in one.text and may_mention(one.text, place)]
    found = [one for source in files for one in statements(source.tree.body, Scope(source))]
    length = trace.steps[container].length or 0
    guards = [one for one in found if is_guard(one, place, length, BELOW)]
    inside = {id(one) for guard in guards for one in ast.walk(guard.node)}
    adding = [one for one in found if adds(one, place)]
    if guards and adding and all(id(one.node) in inside for one in adding):
        return where(guards[0])
    return next((where(one) for one in found if is_guard(one, place, length, ABOVE) and removes(one, place)), "")


def where(one: Statement) -> str:
    """Return the file and the line of a statement."""
    return f"{short_path(one.source.file)}:{one.line}"


def is_guard(one: Statement, place: Place, length: int, signs: tuple[type[ast.cmpop], ...]) -> bool:
    """Whether the statement compares the container's length with a limit that it has not reached."""
    if not isinstance(one.node, ast.If | ast.While):
        return False
    pairs = [part for part in ast.walk(one.node.test) if isinstance(part, ast.Compare) and len(part.ops) == 1]
    return any(
        isinstance(part.ops[0], signs)
        and is_length(part.left, one.scope, place)
        and may_be_limit(part.comparators[0], length, one.source.tree)
        for part in pairs
    )


def is_length(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the expression is the length of the container."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[container]):
            return is_place(container, scope, place)
    return False


def may_be_limit(node: ast.expr, length: int, tree: ast.Module) -> bool:
    """Whether a container of this length can still fill up to the limit. A number that the source does not tell may be."""
    numbers = numbers_of(node, tree)
    return numbers is None or any(length <= number <= LARGEST_LIMIT for number in numbers)


def adds(one: Statement, place: Place) -> bool:
    """Whether the statement makes the container longer."""
    return any(is_adder(call.func, one.scope, place, ADDERS) for call in calls(one.node))


def removes(guard: Statement, place: Place) -> bool:
    """Whether a statement inside removes items from the container or replaces it."""
    return any(is_removal(node, guard.scope, place) for node in body_of(guard.node))


def body_of(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements of a block that runs if the test is true."""
    for block in list(blocks_of(node))[:1]:
        for one in block:
            yield from (part for part in ast.walk(one) if isinstance(part, ast.stmt))


def is_removal(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Whether the statement removes items from the container or replaces it."""
    for call in calls(node):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in REMOVERS
            and is_place(call.func.value, scope, place)
        ):
            return True
    if isinstance(node, ast.Delete):
        return any(isinstance(one, ast.Subscript) and is_place(one.value, scope, place) for one in node.targets)
    return assigns(node, scope, place)
