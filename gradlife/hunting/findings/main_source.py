"""What the source of the main module says of its steps, before it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType

from gradlife.hunting.findings.short_runs import Function, called_in_loops
from gradlife.hunting.steps.sampling import Program

#: Words of programs that make steps of their own.
TRAINS = re.compile(rb"optim|backward|DataLoader|Trainer|\.fit\(")


def program_of(code: CodeType, path: str) -> Program:
    """The program in a file, whose code is this; only the code where the file can't be read."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return Program(code)
    decorated = set(decorated_functions(tree))
    names = tuple(name for name in called_in_loops(tree) if name.rpartition(".")[2] not in decorated)
    return Program(code, names, trains=TRAINS.search(text) is not None)


def decorated_functions(tree: ast.Module) -> Iterator[str]:
    """Functions that something else may replace, as a compiler does."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.decorator_list:
            yield node.name
