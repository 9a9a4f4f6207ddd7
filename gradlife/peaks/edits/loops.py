"""Loops over `enumerate`, `zip` and the like, which hold the item that they yielded last until they yield the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.model.peak.report import LineChange
from gradlife.peaks.edits.names import all_spots
from gradlife.peaks.edits.statements import is_alone
from gradlife.peaks.sources.program import Function, Source, Spot


def loops_over(function: Function, name: str) -> Iterator[ast.For]:
    """Yield the loops of a function over a call of this name."""
    for spot in all_spots(function.body, ()):
        if isinstance(spot.statement, ast.For) and is_call_of(spot.statement.iter, name):
            yield spot.statement


def is_call_of(node: ast.expr, name: str) -> bool:
    """Whether a node calls a function by this name."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return called == name


def without_enumerate(source: Source, function: Function, loop: ast.For) -> tuple[LineChange, ...]:
    """Return the edit that replaces ``for i, x in enumerate(xs):`` by a loop with a counter; none if it may not be safe."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords or not is_call_of(call, "enumerate"):
        return ()
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[0], ast.Name):
        return ()
    name, first = target.elts[0].id, loop.body[0]
    head, rows = loop.lineno, source.rows
    is_plain = head == call.end_lineno and first.lineno == head + 1 and is_alone(source, Spot([first], 0))
    if not is_plain or bindings(function, name) != 1 or not rows[head - 1].isascii():
        return ()
    row, outer, inner = rows[head - 1], source.indent_of(loop), source.indent_of(first)
    tail = row[(call.end_col_offset or 0) :]
    items, values = (
        ast.get_source_segment(source.text, target.elts[1]),
        ast.get_source_segment(source.text, call.args[0]),
    )
    lines = (f"{outer}{name} = -1", f"{outer}for {items} in {values}{tail}", f"{inner}{name} += 1")
    return (LineChange(head, head, lines),)


def bindings(function: Function, name: str) -> int:
    """Count the places at which a function binds a name."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    return sum(not isinstance(node.ctx, ast.Load) for node in nodes)
