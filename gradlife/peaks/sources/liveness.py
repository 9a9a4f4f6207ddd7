"""Whether a local name may be deleted after a statement, because nothing reads it before it is bound again.

Unclear cases count as reads: a name that an inner function or `locals()` may see is never deleted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.peaks.sources.paths import Inner, Search, has_its_own, is_mention
from gradlife.peaks.sources.program import Function, Spot

#: Functions by which a program may read any of its variables.
REFLECTION = frozenset({"vars", "globals", "locals", "eval", "exec"})

#: Calls that a `del` must stand before to save anything.
DECISIVE = frozenset({"backward", "step"})


def deletion_point(
    function: Function, spot: Spot, name: str, besides: Sequence[ast.stmt] = (), module: ast.Module | None = None
) -> tuple[Spot, ast.AST | None]:
    """Return the statement below which a name may be deleted, and None; else the given one and the first reader.

    It is the given statement, one below it in its block, before the next backward pass: ``loss = outputs["loss"]``, or
    a loop around it whose next rounds read the name.
    """
    first = reader = reader_after(function, spot, name, besides, module)
    here = spot
    while reader is not None:
        below = statement_below(here, reader)
        if below is None:
            loop = next(
                (one for one in loops_around(spot) if not reader_after(function, one, name, besides, module)), None
            )
            return (loop, None) if loop is not None else (spot, first)
        here, reader = below, reader_after(function, below, name, besides, module)
    return here, None


def loops_around(spot: Spot) -> Iterator[Spot]:
    """Yield the loops around a statement in which no optimizer steps, innermost first: others are those of the steps."""
    for outer in reversed(spot.outer):
        nodes = list(ast.walk(outer.statement))
        if any(isinstance(node, ast.Attribute) and node.attr == "step" for node in nodes):
            return
        if isinstance(outer.statement, ast.For | ast.AsyncFor | ast.While):
            yield outer


def statement_below(spot: Spot, reader: ast.AST) -> Spot | None:
    """Return the statement of the same block that has a reader in it, if no backward pass is on the way to its end."""
    for index in range(spot.index + 1, len(spot.block)):
        statement = spot.block[index]
        nodes = list(ast.walk(statement))
        if any(isinstance(node, ast.Attribute) and node.attr in DECISIVE for node in nodes):
            return None
        if any(node is reader for node in nodes):
            return Spot(spot.block, index, spot.outer)
    return None


def reader_after(
    function: Function, spot: Spot, name: str, besides: Sequence[ast.stmt] = (), module: ast.Module | None = None
) -> ast.AST | None:
    """Return the first node that may read a name after a statement; None if the name may be deleted there.

    ``besides``: statements that another edit removes. ``module``: where else a global of the function is read.
    """
    search, hidden = Search(name, besides), next(hidden_readers(function, name, module), None)
    if hidden is None and is_declared_global(function, name):
        hidden = search.reader_in(function.body)  # the next call begins with what this one leaves
    return hidden if hidden is not None else search.after(spot)


def is_declared_global(function: Function, name: str) -> bool:
    """Whether a function binds a global of its module."""
    return any(isinstance(node, ast.Global) and name in node.names for node in function.body)


def hidden_readers(function: Function, name: str, module: ast.Module | None) -> Iterator[ast.AST]:
    """Yield readers that the order of statements does not show: inner functions, `locals()`, the rest of a module."""
    if module is not None and is_declared_global(function, name):
        own = {id(node) for node in ast.walk(function)}
        yield from (one for one in ast.walk(module) if is_mention(one, name) and id(one) not in own)
    if (inner := inner_reader(function, name)) is not None:
        yield inner
    for node in ast.walk(function):
        if node is function:
            continue
        is_known = module is not None and isinstance(node, ast.Global) and node in function.body
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names and not is_known:
            yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFLECTION:
            yield node


def inner_reader(function: Function, name: str) -> ast.AST | None:
    """Return the first inner function that reads a name of the function around it."""
    inner = (node for node in ast.walk(function) if isinstance(node, Inner) and node is not function)
    ours = (node for node in inner if not has_its_own(node, name))
    return next((node for node in ours if any(is_mention(one, name) for one in ast.walk(node))), None)
