"""Whether a local name may be deleted after a statement, because nothing reads it before it is bound again.

Unclear cases count as reads: a name that an inner function or `locals()` may see is never deleted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import pairwise

from gradlife.peaks.sources.program import Function, Spot

#: Functions by which a program may read any of its variables.
REFLECTION = frozenset({"vars", "globals", "locals", "eval", "exec"})

Inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

#: Nodes whose parts may not run, or run in another frame.
PARTLY_RUN = Inner | ast.IfExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Match | ast.Try


class Effect(Enum):
    """The first effect of a statement on a name."""

    READS = "reads"
    BINDS = "binds"  # or ends the function
    NOTHING = "nothing"


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

    def reader_in(self, block: Iterable[ast.stmt]) -> ast.AST | None:
        """Return the first node of a block that may read the name before it is bound there."""
        return self._through(block)[1]

    def since(self, spot: Spot) -> ast.AST | None:
        """Return the first node that may read the name's value of before a statement, in it or after it."""
        effect, reader = self._effect(spot.statement)
        if effect is Effect.NOTHING:
            return self.after(spot)
        return reader or next(self._of_all_handlers(spot), None)

    def after(self, spot: Spot, is_bound: bool = False) -> ast.AST | None:
        """Return the first node that may read the name after a statement. ``is_bound``: further inside, before that."""
        effect, reader = self._through(spot.block[spot.index + 1 :])
        if effect is not Effect.NOTHING or not spot.outer:
            return reader
        outer = spot.outer[-1]
        is_bound = is_bound or any(map(self._is_bound_by, spot.block[: spot.index + 1]))
        return (
            self._around_again(spot, outer, is_bound)
            or self._of_handlers(spot, outer)
            or self.after(outer, is_bound or self._is_bound_by(outer.statement))
        )

    def _is_bound_by(self, statement: ast.stmt) -> bool:
        """Whether a statement binds the name, however its blocks run."""
        targets = [statement.target] if isinstance(statement, ast.For | ast.AsyncFor) else targets_of(statement)
        return any(binds(one, self._name) for one in targets)

    def _around_again(self, spot: Spot, outer: Spot, is_bound: bool) -> ast.AST | None:
        """Return a reader in the next round of a loop: the loop itself if it neither reads nor binds the name.

        There a ``del`` of the next round would find no name.
        """
        loop = outer.statement
        if not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or spot.block is not loop.body:
            return None
        if isinstance(loop, ast.While):
            reader = self._read_in(loop.test)
            if reader is not None or binds_within(loop.test, self._name):
                return reader
        elif binds(loop.target, self._name):
            return None
        effect, reader = self._through(loop.body)
        return loop if effect is Effect.NOTHING and not is_bound else reader

    def _of_handlers(self, spot: Spot, outer: Spot) -> ast.AST | None:
        """Return a reader in the blocks that run if a `try` fails or ends."""
        attempt = outer.statement
        if not isinstance(attempt, ast.Try) or spot.block is not attempt.body:
            return None
        parts: list[ast.AST] = [*attempt.handlers, *attempt.orelse, *attempt.finalbody]
        return next((reader for part in parts if (reader := self._read_in(part)) is not None), None)

    def _of_all_handlers(self, spot: Spot) -> Iterator[ast.AST]:
        """Yield a reader for each `try` around a statement that has one, innermost first."""
        for inner, outer in pairwise((spot, *reversed(spot.outer))):
            if (reader := self._of_handlers(inner, outer)) is not None:
                yield reader

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
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            return self._of_loop(statement)
        if isinstance(statement, ast.With | ast.AsyncWith):
            return self._of_with(statement)
        reader = self._read_in(statement)
        if reader is not None:
            return Effect.READS, reader
        if isinstance(statement, ast.Return | ast.Raise):
            return Effect.BINDS, None
        is_bound = self._is_bound_by(statement) or binds_within(statement, self._name)
        return (Effect.BINDS if is_bound else Effect.NOTHING), None

    def _of_loop(self, loop: ast.For | ast.AsyncFor | ast.While) -> tuple[Effect, ast.AST | None]:
        """Return the effect of a loop, whose rounds may not run at all."""
        reader = self._read_in(loop.test if isinstance(loop, ast.While) else loop.iter)
        if reader is None and (isinstance(loop, ast.While) or not binds(loop.target, self._name)):
            reader = self._through(loop.body)[1]
        if reader is None:
            reader = self._through(loop.orelse)[1]
        return (Effect.READS if reader is not None else Effect.NOTHING), reader

    def _of_with(self, statement: ast.With | ast.AsyncWith) -> tuple[Effect, ast.AST | None]:
        for item in statement.items:
            if (reader := self._read_in(item.context_expr)) is not None:
                return Effect.READS, reader
            if item.optional_vars is not None and binds(item.optional_vars, self._name):
                return Effect.BINDS, None
        effect, reader = self._through(statement.body)
        is_left = effect is Effect.BINDS and any(map(may_suppress, statement.items))
        return (Effect.NOTHING if is_left else effect), reader

    def _of_branches(self, statement: ast.If) -> tuple[Effect, ast.AST | None]:
        reader = self._read_in(statement.test)
        if reader is not None or binds_within(statement.test, self._name):
            return (Effect.READS if reader is not None else Effect.BINDS), reader
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


def may_suppress(item: ast.withitem) -> bool:
    """Whether a block may end at an error, and the program goes on."""
    return "suppress" in ast.unparse(item.context_expr)


def targets_of(statement: ast.stmt) -> list[ast.expr]:
    """Return what an assignment assigns to."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) and statement.value is not None else []


def is_mention(node: ast.AST, name: str) -> bool:
    """Whether a node reads or deletes a name."""
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)


def binds_within(node: ast.AST, name: str) -> bool:
    """Whether a ``(name := value)`` in a node binds a name whatever the node's conditions are."""
    if isinstance(node, ast.NamedExpr) and binds(node.target, name):
        return True
    if isinstance(node, PARTLY_RUN):
        return False
    always = [node.values[0]] if isinstance(node, ast.BoolOp) else ast.iter_child_nodes(node)
    return any(binds_within(child, name) for child in always)


def binds(target: ast.expr, name: str) -> bool:
    """Whether an assignment to a target binds a name."""
    if isinstance(target, ast.Tuple | ast.List):
        return any(binds(one, name) for one in target.elts)
    if isinstance(target, ast.Starred):
        return binds(target.value, name)
    return isinstance(target, ast.Name) and target.id == name
