"""The functions and statements of a program, found by the file, name and line of a frame."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from gradlife.hunting.process import changed_sources
from gradlife.model.source_text import plain_rows
from gradlife.peaks.sources.line import Line
from gradlife.source.syntax import blocks_of, first_line

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module

#: A place in a file: a line, and a column in bytes.
Position = tuple[int, int]

#: A column after all others.
LINE_END = 1 << 30

#: The name of the frame that runs a module.
MODULE = "<module>"


@dataclass(frozen=True)
class Source:
    """The text of one file, and its syntax tree."""

    file: str
    text: str
    tree: ast.Module

    @cached_property
    def rows(self) -> list[str]:
        """The lines, as the tree counts them."""
        return plain_rows(self.text)

    def indent_of(self, statement: ast.stmt) -> str:
        """Return the spaces or tabs before a statement with which a line begins."""
        return self.rows[statement.lineno - 1].encode()[: statement.col_offset].decode()


@dataclass(frozen=True)
class Spot:
    """One statement: its index in its block, and the statements around it, outermost first."""

    block: Sequence[ast.stmt]
    index: int
    outer: tuple[Spot, ...] = ()

    @property
    def statement(self) -> ast.stmt:
        """The statement."""
        return self.block[self.index]

    @property
    def lines(self) -> tuple[int, int]:
        """The first and last line of the statement, without its blocks."""
        return self.statement.lineno, max(self.statement.lineno, self.end[0])

    @property
    def end(self) -> Position:
        """The end of the statement, without its blocks."""
        return head_end(self.statement)


@cache
def source_of(file: str) -> Source | None:
    """Return the source of a file; None if it cannot be read."""
    try:
        cell = [] if os.path.exists(file) else linecache.getlines(file)  # a notebook's cell has no file
        text = "".join(cell) or importlib.util.decode_source(changed_sources.source_of(file))
        return Source(file, text, ast.parse(text))
    except (OSError, ValueError, SyntaxError):
        return None


def function_of(source: Source, name: str, line: int = 0) -> Function | None:
    """Return the function with a qualified name; of several, the one that contains the line."""
    if name == MODULE:
        return source.tree
    found = [node for path, node in functions(source.tree, "") if path == name]
    there = [node for node in found if node.lineno <= line <= (node.end_lineno or 0)]
    return next(iter(there or found), None)


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield all functions with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def spot_at(function: Function, line: int) -> Spot | None:
    """Return the innermost statement of a function at a line; of several there, the one at its column."""
    return spot_in(function.body, line, ()) or spot_in(function.body, int(line), ())


def spot_in(block: Sequence[ast.stmt], line: int, outer: tuple[Spot, ...]) -> Spot | None:
    """Return the innermost statement of a block at a line."""
    for index, statement in enumerate(block):
        if covers(statement, line):
            spot = Spot(block, index, outer)
            inner = (spot_in(part, line, (*outer, spot)) for part in blocks(statement))
            return next((one for one in inner if one is not None), spot)
    return None


def covers(statement: ast.stmt, line: int) -> bool:
    """Whether a statement has a line, and the column if that is known."""
    end = statement.end_lineno or 0, statement.end_col_offset or 0
    first, last = positions_at(line)
    start = first_line(statement), statement.col_offset
    return start <= last and first < end


def positions_at(line: int) -> tuple[Position, Position]:
    """Return the position at which a frame is; the first and last of its line if its column is unknown."""
    if isinstance(line, Line):
        return (line, line.column), (line, line.column)
    return (line, 0), (line, LINE_END)


def blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the blocks of a statement that run in the same frame."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    yield from filter(None, blocks_of(statement))


def head_end(statement: ast.stmt) -> Position:
    """Return the end of a statement before its blocks."""
    inner = next(blocks(statement), None)
    if not inner:
        return statement.end_lineno or statement.lineno, statement.end_col_offset or LINE_END
    line, column = first_line(inner[0]), inner[0].col_offset
    return (line, column) if line == statement.lineno else (line - 1, LINE_END)


def last_mention(spot: Spot, name: str) -> Spot | None:
    """Return the last statement that mentions a name: the given one, or one above it."""
    if mentions_in_head(spot.statement, name):
        return spot
    for index in range(spot.index - 1, -1, -1):
        if mentions(spot.block[index], name):
            return Spot(spot.block, index, spot.outer)
    return last_mention_above(spot, name)


def last_mention_above(spot: Spot, name: str) -> Spot | None:
    """Return the last statement that mentions a name above the block of a statement."""
    if not spot.outer or mentions_in_head(spot.outer[-1].statement, name):
        return None  # nothing can be deleted before the block begins
    above = spot.outer[-1]
    for index in range(above.index - 1, -1, -1):
        if mentions(above.block[index], name):
            return Spot(above.block, index, above.outer)
    return last_mention_above(above, name)


def mentions(node: ast.AST, name: str) -> bool:
    """Whether a name, or an attribute of that name, occurs in a node."""
    return any(is_named(one, name) for one in ast.walk(node))


def mentions_in_head(statement: ast.stmt, name: str) -> bool:
    """Whether a statement mentions a name outside its blocks."""
    inner = {id(one) for block in blocks(statement) for part in block for one in ast.walk(part)}
    return any(id(one) not in inner and is_named(one, name) for one in ast.walk(statement))


def is_named(node: ast.AST, name: str) -> bool:
    """Whether the node is the name, or the attribute if the name has a dot before it."""
    if isinstance(node, ast.Attribute):
        return f".{node.attr}" == name
    return isinstance(node, ast.Name) and node.id == name
