"""Remove the traceback of a kept exception: `failures.append(error.with_traceback(None))`.

The exception keeps its type, arguments and text. It is safe only if the program reads no exception's traceback, and if
the handler does not raise it again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradlife.patterns.rewrites.reads import Reader
from gradlife.source.edits import Edit, called_on, edited
from gradlife.source.syntax import last_name

#: Names of functions and attributes that read tracebacks.
READERS = frozenset(
    {"traceback", "__traceback__", "exc_info", "with_traceback", "__context__", "__cause__", "exception"}
)


def without_traceback(text: str, tree: ast.Module, line: int, trees: Iterable[ast.Module]) -> str | None:
    """Return the changed source; None if the line does not store the exception of its handler."""
    known = list(trees)
    reader = Reader(known)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    for node in statements[-1:]:
        handler = next(reader.around(node, ast.ExceptHandler), None)
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None or reads_tracebacks(known):
            return None
        if any(isinstance(part, ast.Raise) for part in ast.walk(handler)):
            return None
        edits = [edit for value in stored(node) for edit in stripped(value, handler.name)]
        return edited(text, edits) if edits else None
    return None


def reads_tracebacks(trees: Iterable[ast.Module]) -> bool:
    """Whether the program uses tracebacks anywhere."""
    for node in (part for tree in trees for part in ast.walk(tree)):
        if last_name(node) in READERS:
            return True
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names] + [getattr(node, "module", None) or ""]
            if "traceback" in names:
                return True
        if isinstance(node, ast.keyword) and node.arg in READERS:
            return True
    return False


def stored(node: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a simple statement stores."""
    if isinstance(node, ast.Assign):
        return [node.value]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return node.value.args
    return []


def stripped(value: ast.expr, name: str) -> list[Edit]:
    """Return the edits for a value that is the exception, or a conditional expression that may be it."""
    if isinstance(value, ast.IfExp):
        return [*stripped(value.body, name), *stripped(value.orelse, name)]
    is_exception = isinstance(value, ast.Name) and value.id == name
    return list(called_on(value, ".with_traceback(None)")) if is_exception else []
