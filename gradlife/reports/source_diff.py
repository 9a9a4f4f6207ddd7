"""The difference between the sources of a leaking story and its fixed twin, read without running either."""

from __future__ import annotations

import ast
import difflib
import textwrap

from gradlife.model.source_text import plain_rows


def body_lines(file: str, name: str) -> list[str]:
    """Return the source of a function without head and docstring; empty if it cannot be read."""
    try:
        with open(file, encoding="utf-8") as source:
            text = source.read()
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return body_of(node, plain_rows(text))
    return []


def body_of(function: ast.FunctionDef, lines: list[str]) -> list[str]:
    """Return the lines of a function below its docstring, or below its head if it has none."""
    first = function.body[0]
    start = first.end_lineno if ast.get_docstring(function) is not None else first.lineno - 1
    return plain_rows(textwrap.dedent("\n".join(lines[start : function.end_lineno])).strip("\n"))


def source_diff(leaking: list[str], fixed: list[str], context: int = 3) -> list[str]:
    """Return lines that begin with `-`, `+` or a blank, with `...` between parts of the source."""
    lines = list(difflib.unified_diff(leaking, fixed, lineterm="", n=context))[2:]
    kept: list[str] = []
    for line in lines:
        if not line.startswith("@@"):
            kept.append(line.rstrip())
        elif kept:
            kept.append("...")
    return kept
