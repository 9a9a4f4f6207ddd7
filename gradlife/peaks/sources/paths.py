"""The paths on from a statement of a function: whether one reads a name before it is bound again.

Blocks are read from their end: what may be read after a statement is known before the statement is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gradlife.peaks.sources.program import Spot

Inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

Loop = ast.For | ast.AsyncFor | ast.While

#: Nodes whose parts may not run, or run in another frame.
PARTLY_RUN = Inner | ast.IfExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Match | ast.Try

#: Statements that cannot fail.
SAFE = ast.Pass | ast.Break | ast.Continue | ast.Global | ast.Nonlocal

#: The attribute in which a node keeps its names.
NAMES = "gradlife_names"

#: A node that may read the name; None if none does.
Reader = ast.AST | None


@dataclass(frozen=True)
class Exits:
    """The first reader after each way out of a block but its end."""

    breaks: Reader = None
    continues: Reader = None
    returns: Reader = None
    fails: Reader = None


class Search:
    """Searches the paths from a place in a function for a reader of a name. ``besides``: statements to skip."""

    def __init__(self, name: str, besides: Sequence[ast.stmt]) -> None:
        self._name = name
        self._besides = {id(one) for one in besides}
        self._place: Spot | None = None
        self._is_after = False
        self._found: Reader = None
        self._known: dict[int, Reader] = {}

    def reader_in(self, block: Sequence[ast.stmt]) -> Reader:
        """Return the first node of a block that may read the name before it is bound there."""
        return self._block(block, None, Exits())

    def since(self, spot: Spot) -> Reader:
        """Return the first node that may read the name's value of before a statement, in it or after it."""
        return self._at(spot, is_after=False)

    def after(self, spot: Spot) -> Reader:
        """Return the first node that may read the name after a statement, were it deleted there.

        That is the loop if a next round deletes it once more, and nothing has bound it since.
        """
        return self._at(spot, is_after=True)

    def _at(self, spot: Spot, is_after: bool) -> Reader:
        self._place, self._is_after, self._found = spot, is_after, None
        outermost = (*spot.outer, spot)[0]
        self._block(outermost.block, None, Exits(), outermost.index)
        self._place = None
        return self._found

    def _block(self, block: Sequence[ast.stmt], end: Reader, exits: Exits, first: int = 0) -> Reader:
        """Return the first reader on the paths from the beginning of a block. ``end``: that from its end on."""
        reader = end
        for index in range(len(block) - 1, first - 1, -1):
            is_place = self._place is not None and self._place.block is block and self._place.index == index
            if is_place and self._is_after:
                reader = self._deleted(reader)
            if id(block[index]) not in self._besides:
                reader = self._statement(block[index], reader, exits)
            if is_place and not self._is_after:
                self._found = self._found or reader
        return reader

    def _deleted(self, reader: Reader) -> Reader:
        """Note what reads the name after the place at which it would be deleted, which needs it bound there."""
        assert self._place is not None
        self._found = self._found or reader
        loops = (one.statement for one in reversed(self._place.outer) if isinstance(one.statement, Loop))
        return next(loops, self._place.statement)

    def _statement(self, statement: ast.stmt, end: Reader, exits: Exits) -> Reader:
        """Return the first reader on the paths from a statement on; it may fail before it binds the name."""
        if isinstance(statement, ast.Break | ast.Continue):
            return exits.breaks if isinstance(statement, ast.Break) else exits.continues
        reader = self._paths(statement, end, exits)
        return reader if reader is not None or isinstance(statement, SAFE) else exits.fails

    def _paths(self, statement: ast.stmt, end: Reader, exits: Exits) -> Reader:
        if isinstance(statement, ast.If):
            branches = [self._block(one, end, exits) for one in (statement.body, statement.orelse)]
            return self._through(statement.test, first(branches))
        if isinstance(statement, Loop):
            return self._of_loop(statement, end, exits)
        if isinstance(statement, ast.With | ast.AsyncWith):
            return self._of_with(statement, end, exits)
        if isinstance(statement, ast.Try | ast.TryStar):
            return self._of_try(statement, end, exits)
        if isinstance(statement, ast.Match):
            return self._of_match(statement, end, exits)
        return self._of_line(statement, end, exits)

    def _of_line(self, statement: ast.stmt, end: Reader, exits: Exits) -> Reader:
        if isinstance(statement, ast.Return):
            end = exits.returns
        elif isinstance(statement, ast.Raise):
            end = exits.fails
        is_bound = any(binds(one, self._name) for one in targets_of(statement))
        return self._through(statement, None if is_bound else end)

    def _through(self, node: ast.AST, end: Reader) -> Reader:
        """Return the reader in a node that always runs, else the one behind it, unless the node binds the name."""
        if self._name not in names_in(node):
            return end
        reader = self._read_in(node)
        return reader if reader is not None or binds_within(node, self._name) else end

    def _of_loop(self, loop: Loop, end: Reader, exits: Exits) -> Reader:
        """Return the first reader on the paths from a loop on. A second look follows the next round, too."""
        after = self._block(loop.orelse, end, exits)
        if isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value:
            after = None  # only `break` leaves it
        head = self._round(loop, None, after, end, exits)
        head = head if head is None else self._round(loop, head, after, end, exits)
        return head if isinstance(loop, ast.While) else self._through(loop.iter, head)

    def _round(self, loop: Loop, head: Reader, after: Reader, end: Reader, exits: Exits) -> Reader:
        """Return the first reader from the head of a loop on. ``head``: that of the next round, as far as known."""
        body = self._block(loop.body, head, replace(exits, breaks=end, continues=head))
        if isinstance(loop, ast.While):
            return self._through(loop.test, first([body, after]))
        in_target = self._read_in(loop.target)
        return first([in_target, None if binds(loop.target, self._name) else body, after])

    def _of_with(self, statement: ast.With | ast.AsyncWith, end: Reader, exits: Exits) -> Reader:
        inner = exits
        if any(map(may_suppress, statement.items)):
            inner = replace(exits, fails=first([end, exits.fails]))
        reader = self._block(statement.body, end, inner)
        for item in reversed(statement.items):
            is_bound = item.optional_vars is not None and binds(item.optional_vars, self._name)
            reader = self._through(item.context_expr, None if is_bound else reader)
        return reader

    def _of_try(self, attempt: ast.Try | ast.TryStar, end: Reader, exits: Exits) -> Reader:
        """Return the first reader on the paths from a `try` on: all of them lead through `finally`."""
        end = self._block(attempt.finalbody, end, exits)
        ways = (exits.breaks, exits.continues, exits.returns, exits.fails)
        exits = Exits(*(self._block(attempt.finalbody, one, exits) for one in ways))
        caught = first([self._of_handler(one, end, exits) for one in attempt.handlers])
        after = self._block(attempt.orelse, end, exits)
        return self._block(attempt.body, after, replace(exits, fails=first([caught, exits.fails])))

    def _of_handler(self, handler: ast.ExceptHandler, end: Reader, exits: Exits) -> Reader:
        reader = self._block(handler.body, end, exits)
        reader = None if handler.name == self._name else reader
        return reader if handler.type is None else self._through(handler.type, reader)

    def _of_match(self, statement: ast.Match, end: Reader, exits: Exits) -> Reader:
        """Return the first reader on the paths from a `match` on, whose patterns may all fail."""
        found: list[Reader] = []
        for case in statement.cases:
            body = self._block(case.body, end, exits)
            found += [self._read_in(case.pattern), case.guard and self._read_in(case.guard), body]
        return self._through(statement.subject, first([*found, end]))

    def _read_in(self, node: ast.AST) -> Reader:
        """Return a node that reads or deletes the name, even if the same statement binds the name first."""
        if self._name not in names_in(node):
            return None
        if id(node) not in self._known:
            self._known[id(node)] = self._reader_within(node)
        return self._known[id(node)]

    def _reader_within(self, node: ast.AST) -> Reader:
        if id(node) in self._besides or (isinstance(node, Inner) and has_its_own(node, self._name)):
            return None
        if is_mention(node, self._name):
            return node
        if isinstance(node, ast.AugAssign) and binds(node.target, self._name):
            return node
        return first(map(self._reader_within, ast.iter_child_nodes(node)))


def names_in(node: ast.AST) -> frozenset[str]:
    """Return the names in a node, which keeps them: a report searches a function many times."""
    known: frozenset[str] | None = getattr(node, NAMES, None)
    if known is None:
        known = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        setattr(node, NAMES, known)
    return known


def first(found: Iterable[Reader]) -> Reader:
    """Return the first of some readers that there is."""
    return next((one for one in found if one is not None), None)


def may_suppress(item: ast.withitem) -> bool:
    """Whether a block may end at an error, and the program goes on."""
    return "suppress" in ast.unparse(item.context_expr)


def has_its_own(inner: Inner, name: str) -> bool:
    """Whether the name is the inner function's own variable."""
    if isinstance(inner, ast.ClassDef):
        return False
    nodes = list(ast.walk(inner))
    if any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in nodes):
        return False
    is_bound = any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)
    return is_bound or any(isinstance(node, ast.arg) and node.arg == name for node in nodes)


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
