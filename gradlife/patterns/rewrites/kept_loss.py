"""A list of losses keeps numbers: `append(loss)` becomes `append(loss.item())`.

The source is changed at the places that its syntax tree gives, so that all else in it stays as it is written. The change
is safe only where the program never reads what the list holds: a tensor in it could be asked for its graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

#: What the program may ask of the list without touching what is in it.
HARMLESS = frozenset({"append", "appendleft", "clear"})

#: Names by which a program may reach each of its variables.
REFLECTION = frozenset({"vars", "globals", "locals", "eval", "exec", "__dict__"})

#: Expressions to which `.item()` can be added without parentheses.
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def keep_number(text: str, line: int, name: str, trees: Iterable[ast.Module]) -> str | None:
    """The changed source; None where the statement at the line is another, or a program of these trees may notice."""
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.lineno == line)
    calls = [node for node in found if is_append(node, name)]
    if len(calls) != 1 or not all(is_never_read(tree, name) for tree in trees):
        return None
    [value] = calls[0].args
    if not isinstance(value, ATOMS) or value.end_lineno is None or value.end_col_offset is None:
        return None
    lines = text.splitlines(keepends=True)
    row = lines[value.end_lineno - 1].encode()
    lines[value.end_lineno - 1] = (row[: value.end_col_offset] + b".item()" + row[value.end_col_offset :]).decode()
    return "".join(lines)


def is_append(node: ast.Call, name: str) -> bool:
    """Is it a call of `append` of what has the name, with one value?"""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "append":
        return False
    return is_named(node.func.value, name) and len(node.args) == 1 and not node.keywords


def is_named(node: ast.AST, name: str) -> bool:
    """Is it a variable or an attribute of that name?"""
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def is_never_read(tree: ast.Module, name: str) -> bool:
    """Is the list only made, added to, emptied and counted? A string of its name may be an attribute that is looked up."""
    harmless = {id(part) for node in ast.walk(tree) for part in untouched(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == name:
            return False
        if any(is_named(node, one) for one in REFLECTION):
            return False
        if isinstance(node, ast.alias) and name in {node.name, node.asname}:
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
