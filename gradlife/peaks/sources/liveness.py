"""Whether a local name may be deleted after a statement, because nothing reads it before it is bound again.

Unclear cases count as reads: a name that an inner function or `locals()` may see is never deleted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from gradlife.peaks.sources.program import Function, Spot

#: Functions by which a program may read any of its variables.
REFLECTION = frozenset({"vars", "globals", "locals", "eval", "exec"})

Inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


class Effect(Enum):
    """The first effect of a statement on a name."""

    READS = "reads"
    BINDS = "binds"  # or ends the function
    NOTHING = "nothing"


def reader_after(function: Function, spot: Spot, name: str, besides: Sequence[ast.stmt] = ()) -> ast.AST | None:
    """Return the first node that may read a name after a statement; None if the name may be deleted there.

    ``besides``: statements that another edit removes.
    """
    hidden = next(hidden_readers(function, name), None)
    return hidden if hidden is not None else Search(name, besides).after(spot)


def hidden_readers(function: Function, name: str) -> Iterator[ast.AST]:
    """Yield readers that the order of statements does not show: inner functions, `locals()`, declarations."""
    for node in ast.walk(function):
        if node is function:
            continue
        if (
            isinstance(node, Inner)
            and not has_its_own(node, name)
            and any(is_mention(one, name) for one in ast.walk(node))
        ):
            yield node
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFLECTION:
            yield node


def has_its_own(inner: Inner, name: str) -> bool:
    """Whether the name is the inner function's own variable."""
    if isinstance(inner, ast.ClassDef):
        return False
    nodes = list(ast.walk(inner))
    if any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in nodes):
        return False
    is_bound = any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)
    return is_bound or any(isinstance(node, ast.arg) and node.arg == name for node in nodes)


class Search:
    """Searches the statements after one for a reader of a name."""

    def __init__(self, name: str, besides: Sequence[ast.stmt]) -> None:
        self._name = name
        self._besides = {id(one) for one in besides}

    def after(self, spot: Spot) -> ast.AST | None:
        """Return the first node that may read the name after a statement."""
        effect, reader = self._through(spot.block[spot.index + 1 :])
        if effect is not Effect.NOTHING or not spot.outer:
            return reader
        outer = spot.outer[-1]
        return self._around_again(spot, outer) or self._of_handlers(spot, outer) or self.after(outer)

    def _around_again(self, spot: Spot, outer: Spot) -> ast.AST | None:
        """Return a reader in the next round of a loop."""
        loop = outer.statement
        if not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or spot.block is not loop.body:
            return None
        if isinstance(loop, ast.While):
            if (reader := self._read_in(loop.test)) is not None:
                return reader
        elif binds(loop.target, self._name):
            return None
        return self._through(loop.body)[1]

    def _of_handlers(self, spot: Spot, outer: Spot) -> ast.AST | None:
        """Return a reader in the blocks that run if a `try` fails or ends."""
        attempt = outer.statement
        if not isinstance(attempt, ast.Try) or spot.block is not attempt.body:
            return None
        parts: list[ast.AST] = [*attempt.handlers, *attempt.orelse, *attempt.finalbody]
        return next((reader for part in parts if (reader := self._read_in(part)) is not None), None)

    def _through(self, block: Iterable[ast.stmt]) -> tuple[Effect, ast.AST | None]:
        for statement in block:
            if id(statement) in self._besides:
                continue
            effect, reader = self._effect(statement)
            if effect is not Effect.NOTHING:
                return effect, reader
        return Effect.NOTHING, None

    def _effect(self, statement: ast.stmt) -> tuple[Effect, ast.AST | None]:
        if isinstance(statement, ast.If):
            return self._of_branches(statement)
        if isinstance(statement, ast.For | ast.AsyncFor) and binds(statement.target, self._name):
            reader = self._read_in(statement.iter)  # the loop's body reads what the loop binds
            return (Effect.READS if reader is not None else Effect.NOTHING), reader
        reader = self._read_in(statement)
        if reader is not None:
            return Effect.READS, reader
        if isinstance(statement, ast.Return | ast.Raise):
            return Effect.BINDS, None
        is_bound = isinstance(statement, ast.Assign) and any(binds(one, self._name) for one in statement.targets)
        return (Effect.BINDS if is_bound else Effect.NOTHING), None

    def _of_branches(self, statement: ast.If) -> tuple[Effect, ast.AST | None]:
        if (reader := self._read_in(statement.test)) is not None:
            return Effect.READS, reader
        found = [self._through(block) for block in (statement.body, statement.orelse)]
        for effect, reader in found:
            if effect is Effect.READS:
                return effect, reader
        are_bound = all(effect is Effect.BINDS for effect, _ in found)
        return (Effect.BINDS if are_bound else Effect.NOTHING), None

    def _read_in(self, node: ast.AST) -> ast.AST | None:
        """Return a node that reads or deletes the name, even if the same statement binds the name first."""
        if id(node) in self._besides or (isinstance(node, Inner) and has_its_own(node, self._name)):
            return None
        if is_mention(node, self._name):
            return node
        if isinstance(node, ast.AugAssign) and binds(node.target, self._name):
            return node
        children = (self._read_in(child) for child in ast.iter_child_nodes(node))
        return next((reader for reader in children if reader is not None), None)


def is_mention(node: ast.AST, name: str) -> bool:
    """Whether a node reads or deletes a name."""
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)


def binds(target: ast.expr, name: str) -> bool:
    """Whether an assignment to a target binds a name."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(binds(one, name) for one in target.elts)
    if isinstance(target, ast.Starred):
        return binds(target.value, name)
    return isinstance(target, ast.Name) and target.id == name
