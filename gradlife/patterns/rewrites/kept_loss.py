"""A list of losses keeps numbers: `append(loss)` becomes `append(loss.item())`.

The source is changed at the places that its syntax tree gives, so that all else in it stays as it is written. The change
is safe only where the program never reads what the list holds: a tensor in it could be asked for its graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradlife.patterns.rewrites.reads import is_reflection
from gradlife.patterns.rewrites.source_edits import called_on, edited

#: Methods of the list that do not touch its items.
HARMLESS = frozenset({"append", "appendleft", "clear"})


def keep_number(text: str, line: int, name: str, trees: Iterable[ast.Module]) -> str | None:
    """The changed source; None where the statement at the line is another, or a program of these trees may notice."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.lineno == line)
    calls = [node for node in found if is_append(node, name)]
    if len(calls) != 1 or not all(is_never_read(tree, name) for tree in trees):
        return None
    [value] = calls[0].args
    edits = [*called_on(value, ".item()")]
    return edited(text, edits) if edits else None


def is_append(node: ast.Call, name: str) -> bool:
    """Is it a call of `append` of what has the name, with one value?"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "append":
        return False
    return is_named(node.func.value, name) and len(node.args) == 1 and not node.keywords


def is_named(node: ast.AST, name: str) -> bool:
    """Is it a variable or an attribute of that name?"""
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def is_never_read(tree: ast.Module, name: str) -> bool:
    """Is the list only made, added to, emptied and counted?"""
    harmless = {id(part) for node in ast.walk(tree) for part in untouched(node)}
    for node in ast.walk(tree):
        if is_reflection(node, name):
            return False
        if is_named(node, name) and id(node) not in harmless:
            return False
    return True


def untouched(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that name a list and don't reach what is in it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        yield from node.args
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in HARMLESS:
            yield function.value
    if isinstance(node, ast.Assign) and is_new_list(node.value):
        yield from node.targets
    if isinstance(node, ast.AnnAssign) and is_new_list(node.value):
        yield node.target


def is_new_list(node: ast.expr | None) -> bool:
    """Is it an empty list?"""
    if isinstance(node, ast.List):
        return not node.elts
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    return is_call and isinstance(node, ast.Call) and not node.args
