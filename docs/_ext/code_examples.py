"""Small programs that leak, for codes without a story, out of the tests of the patterns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CASES = ("cases.py", "rare_cases.py")


@dataclass(frozen=True)
class Example:
    """A function that leaks into `hold` and returns the object that should be gone."""

    name: str
    source: str


def examples_of(folder: Path) -> dict[str, list[Example]]:
    """Read the cases in a folder of tests, by code."""
    found: dict[str, list[Example]] = {}
    for name in CASES:
        text = (folder / name).read_text(encoding="utf-8")
        for code, function in cases_in(ast.parse(text)):
            lines = text.splitlines()[function.lineno - 1 : function.end_lineno]
            found.setdefault(code, []).append(Example(function.name, without_types("\n".join(lines))))
    return found


def cases_in(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions with a decorator `@case("GLnnn", ...)`."""
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        for call in function.decorator_list:
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func) == "case"
                and isinstance(call.args[0], ast.Constant)
            ):
                yield str(call.args[0].value), function


def without_types(source: str) -> str:
    """Remove annotations, which say nothing about a leak."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree)
