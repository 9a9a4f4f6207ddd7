"""Edit a source at the ranges of its syntax nodes, so that everything else stays as written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradlife.model.source_text import rows_of

#: Expressions to which a method call can be added without parentheses.
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)

#: Methods and functions whose result is not a tensor, or a tensor without a graph.
PLAIN_CALLS = frozenset({"item", "tolist", "float", "int", "str", "len", "repr", "bool", "detach"})


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement for a part of a source; columns are in UTF-8 bytes, as in a syntax tree."""

    line: int
    column: int
    last_line: int
    last_column: int
    text: str


def replace_node(node: ast.expr | ast.stmt, text: str) -> Edit:
    """Replace the source text of a node."""
    return Edit(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0, text)


def called_on(node: ast.expr, method: str) -> Iterator[Edit]:
    """Return the edits that call a method on an expression's value, in each branch of a conditional that needs it."""
    if isinstance(node, ast.IfExp):
        yield from called_on(node.body, method)
        yield from called_on(node.orelse, method)
        return
    if is_plain(node) or node.end_lineno is None or node.end_col_offset is None:
        return
    if not isinstance(node, ATOMS):
        yield Edit(node.lineno, node.col_offset, node.lineno, node.col_offset, "(")
        method = f"){method}"
    yield Edit(node.end_lineno, node.end_col_offset, node.end_lineno, node.end_col_offset, method)


def is_plain(node: ast.expr) -> bool:
    """Whether it is certainly a number, a text, or a tensor without a graph."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in PLAIN_CALLS
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the source with all edits applied; none may lie inside another."""
    lines = [line.encode() for line in rows_of(text)]
    for edit in sorted(edits, key=lambda one: (one.line, one.column), reverse=True):
        head, tail = lines[edit.line - 1][: edit.column], lines[edit.last_line - 1][edit.last_column :]
        lines[edit.line - 1 : edit.last_line] = [head + edit.text.encode() + tail]
    return b"".join(lines).decode()
