"""Parts of Python's syntax trees: names, blocks and lines of statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def last_name(node: ast.AST | None) -> str:
    """Return `b` of `a.b`, and of `b`; empty for another node."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called(call: ast.Call) -> str:
    """Return the last name of the called expression."""
    return last_name(call.func)


def blocks_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def first_line(statement: ast.stmt) -> int:
    """Return the line at which a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
