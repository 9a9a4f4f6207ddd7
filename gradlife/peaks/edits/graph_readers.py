"""Whether code that did not run in the recorded steps may need the graph of what some statements compute.

The values flow from name to name. Where one leaves the function, or reaches what may run a backward pass, they need it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from gradlife.peaks.edits.names import all_spots, is_filling
from gradlife.peaks.edits.other_files import is_global_read_elsewhere, other_sources
from gradlife.peaks.edits.zeroing import functions_in
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.peaks.sources.liveness import hidden_readers
from gradlife.peaks.sources.paths import Reader, Search
from gradlife.peaks.sources.program import Function, Source, Spot, function_of, source_of, spot_at
from gradlife.safe_access import member
from gradlife.source.syntax import last_name

#: Attributes and methods that need no graph.
PLAIN = frozenset({"item", "detach", "tolist", "data", "shape", "dtype", "device", "size", "argmax", "requires_grad"})

#: Functions whose result has no graph.
PLAIN_CALLS = frozenset({"float", "int", "bool", "str", "repr", "len", "print", "format", "isinstance", "type", "id"})

#: Blocks that record no graph.
UNRECORDED = re.compile(r"\b(no_grad|inference_mode)\b")

#: Blocks in which torch keeps the copies of weights in low precision, and the release that was seen to make them anew
#: where a graph is recorded: some earlier ones use a copy made under `no_grad` again, so that gradients are missing.
AUTOCAST = re.compile(r"autocast|mixed_precision|\bamp\.")
COPIES_ANEW = (2, 13)


def reader_of_graph(source: Source, function: Function, statements: Sequence[ast.stmt]) -> ast.AST | None:
    """Return the first node that may need the graph of what statements of a block compute; None if none does."""
    return Readers(source, function).first(statements)


def other_backward(source: Source, frame: Frame) -> ast.expr | None:
    """Return what may run another backward pass through the graph that a line retains; None if nothing does.

    It is in the same function, in one that this function calls, or in any other if the function gives its values away.
    """
    function = function_of(source, frame[2], frame[1])
    spot = spot_at(function, frame[1]) if function is not None else None
    if function is None or spot is None:
        return None
    own = {id(node) for node in ast.walk(spot.statement)}
    called = functions_with_backward(source.file) - {getattr(function, "name", "")}
    for node in ast.walk(function):
        is_other = id(node) not in own
        if isinstance(node, ast.expr) and is_other and (is_backward(node) or last_name(node) in called):
            return node
    leaves = any(gives_graph(node) for node in ast.walk(function))
    trees = [source.tree, *(one.tree for one in other_sources(source.file))] if leaves else []
    nodes = (node for tree in trees for node in ast.walk(tree) if id(node) not in own)
    return next((node for node in nodes if isinstance(node, ast.expr) and is_backward(node)), None)


def gives_graph(node: ast.AST) -> bool:
    """Whether a node returns or stores a value that may have a graph."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return True
    value = node.value if isinstance(node, ast.Return | ast.Yield) else None
    called = value.func if isinstance(value, ast.Call) else value
    is_number = value is None or isinstance(value, ast.Constant) or last_name(called) in PLAIN | PLAIN_CALLS
    return not is_number


def may_lose_gradients(source: Source) -> bool:
    """Whether a copy of a weight that is made under `no_grad` may be used again where a graph is recorded."""
    version = re.match(r"(\d+)\.(\d+)", str(member("torch", "__version__", "")))
    if version is not None and (int(version[1]), int(version[2])) >= COPIES_ANEW:
        return False
    return any(AUTOCAST.search(one.text) for one in (source, *other_sources(source.file)))


class Later(Search):
    """Searches for what reads a name after a statement which leaves it bound."""

    def _deleted(self, reader: Reader) -> Reader:
        self._found = self._found or reader
        return reader


class Readers:
    """Follows values through the names of one function."""

    def __init__(self, source: Source, function: Function) -> None:
        self._source, self._function = source, function
        self._above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._spots = {id(one.statement): one for one in all_spots(function.body, ())}
        self._names: set[str] = set()
        self._left: list[tuple[str, Spot]] = []

    def first(self, statements: Sequence[ast.stmt]) -> ast.AST | None:
        """Return the first reader that may need the graph of what some statements compute."""
        own = {id(node) for one in statements for node in ast.walk(one)}
        spot = self._spots[id(statements[-1])]
        for statement in statements:
            if (leaving := next(leaving_of(statement), None)) is not None:
                return leaving
            self._left += [(name, spot) for name in bound_in(statement)]
        while self._left:
            name, place = self._left.pop()
            if name not in self._names:
                self._names.add(name)
                if (found := self._reader(name, place, own)) is not None:
                    return found
        return None

    def _reader(self, name: str, spot: Spot, own: set[int]) -> ast.AST | None:
        """Return the first node that may need the graph of a name's value after a statement."""
        hidden = next(hidden_readers(self._function, name, self._source.tree), None)
        if hidden is not None:
            return hidden
        if isinstance(self._function, ast.Module) and is_global_read_elsewhere(self._source.file, name):
            return spot.statement
        harmless: list[Any] = []  # a search skips any nodes, not only statements
        while (node := Later(name, harmless).after(spot)) is not None:
            if node in harmless or not (id(node) in own or self._is_harmless(node)):
                return node
            harmless.append(node)
        return None

    def _is_harmless(self, node: ast.AST) -> bool:
        """Whether a reader needs no graph, as far as names that get its value do not: they are followed, too."""
        while not isinstance(node, ast.stmt):
            above = self._above[node]
            if is_plain(node, above) or isinstance(above, ast.If | ast.While | ast.Assert):
                return True
            if isinstance(above, ast.Call) and self._may_go_back(above):
                return False
            node = above
        return any(map(is_unrecorded, self._around(node))) or self._follows(node)

    def _follows(self, statement: ast.stmt) -> bool:
        """Follow the names that get the value of a statement; return whether these are all that gets it."""
        if isinstance(statement, ast.Delete):
            return True
        is_simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr)
        if not is_simple or next(leaving_of(statement), None) is not None or mentions_backward(statement):
            return False
        self._left += [(name, self._spots[id(statement)]) for name in bound_in(statement)]
        return True

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while node is not self._function:
            node = self._above[node]
            yield node

    def _may_go_back(self, call: ast.Call) -> bool:
        """Whether a call may run a backward pass, or keep the value: a function of the program that has one in it."""
        file = self._source.file
        return last_name(call.func) in functions_with_backward(file) | functions_that_keep(file)


def is_plain(node: ast.AST, above: ast.AST) -> bool:
    """Whether what is made of a value has no graph, or is only shown."""
    if isinstance(above, ast.Attribute):
        return above.attr in PLAIN
    if isinstance(above, ast.Call) and node is not above.func:
        return isinstance(above.func, ast.Name) and above.func.id in PLAIN_CALLS
    return isinstance(above, ast.Compare | ast.FormattedValue)


def is_unrecorded(node: ast.AST) -> bool:
    """Whether a node is a block in which no graph is recorded."""
    return isinstance(node, ast.With) and any(UNRECORDED.search(ast.unparse(one.context_expr)) for one in node.items)


def leaving_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield by what a value leaves the function: it is returned, or an object gets it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal):
            yield node
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node
        if isinstance(node, ast.stmt) and is_filling_an_object(node):
            yield node


def is_filling_an_object(statement: ast.stmt) -> bool:
    """Whether a statement adds to a container of an object."""
    attributes = {f".{one.attr}" for one in ast.walk(statement) if isinstance(one, ast.Attribute)}
    return any(is_filling(statement, one) for one in attributes)


def bound_in(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, and the containers to which it adds."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.stmt):
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            yield from (one for one in names if is_filling(node, one))


def mentions_backward(node: ast.AST) -> bool:
    """Whether a node may run a backward pass."""
    return any(is_backward(one) for one in ast.walk(node))


def is_backward(node: ast.AST) -> bool:
    """Whether a node is ``something.backward``, or ``autograd.grad``."""
    if isinstance(node, ast.Attribute) and node.attr == "grad":
        return "autograd" in ast.unparse(node.value)
    return "backward" in (getattr(node, "attr", None) or getattr(node, "id", None) or "")


@cache
def functions_with_backward(file: str) -> frozenset[str]:
    """Return the names of the functions of a program's files in which a backward pass may run."""
    return frozenset(one.name for one in functions_of_program(file) if mentions_backward(one))


@cache
def functions_that_keep(file: str) -> frozenset[str]:
    """Return the names of the functions of a program's files that store to objects."""
    return frozenset(one.name for one in functions_of_program(file) if keeps(one))


def functions_of_program(file: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a file and of the other files of its program."""
    sources = [one.tree for one in (source_of(file), *other_sources(file)) if one is not None]
    yield from functions_in(sources)


def keeps(function: ast.AST) -> bool:
    """Whether a function stores to objects, which may need a graph later."""
    return any(isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) for node in ast.walk(function))
