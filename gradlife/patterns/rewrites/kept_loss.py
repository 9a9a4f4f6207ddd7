"""Keep numbers in a list of losses: `append(loss)` becomes `append(loss.item())`.

Only the syntax node's source range is edited; everything else stays as written. The change is safe only if the program
never reads the list's items: it could use the graph of a tensor in it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from gradlife.patterns.rewrites.reads import is_reflection
from gradlife.source.edits import called_on, edited

#: List methods that do not read its items.
HARMLESS = frozenset({"append", "appendleft", "insert", "extend", "extendleft", "clear"})


def keep_number(text: str, line: int, name: str, trees: Sequence[ast.Module]) -> str | None:
    """Return the changed source; None if the line has another statement, or if the program in these trees may notice."""
    found = (node for node in ast.walk(ast.parse(text)) if getattr(node, "lineno", 0) == line)
    names = {alias for tree in trees for alias in aliases(tree, name)}
    values = [value for node in found for value in added(node, name, names)]
    if len(values) != 1 or not all(is_never_read(tree, name) for tree in trees):
        return None
    [value] = values
    edits = [*called_on(value, ".item()")]
    return edited(text, edits) if edits else None


def aliases(tree: ast.Module, name: str) -> Iterator[str]:
    """Yield variables that stand for a method which adds to the list: `add = self.losses.append`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and is_method(node.value, name):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def is_method(node: ast.expr, name: str) -> bool:
    """Whether it is `append` of the list, not called."""
    return isinstance(node, ast.Attribute) and node.attr in {"append", "appendleft"} and is_named(node.value, name)


def added(node: ast.AST, name: str, names: Collection[str] = ()) -> Iterator[ast.expr]:
    """Yield the values that `rows.append(x)`, `rows.insert(0, x)` and `rows += [x]` add to the list of that name."""
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List) and is_named(node.target, name):
        yield from node.value.elts
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
        yield from node.args
    elif isinstance(node, ast.Call) and is_append(node, name):
        yield node.args[-1]


def is_append(node: ast.Call, name: str) -> bool:
    """Whether the call adds one value to the variable or attribute of that name."""
    counts = {"append": 1, "appendleft": 1, "insert": 2}
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in counts or node.keywords:
        return False
    return is_named(node.func.value, name) and len(node.args) == counts[node.func.attr]


def is_named(node: ast.AST, name: str) -> bool:
    """Whether it is a variable or an attribute of that name."""
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def is_never_read(tree: ast.Module, name: str) -> bool:
    """Whether the list is only created, appended to, cleared and counted."""
    harmless = {id(part) for node in ast.walk(tree) for part in untouched(node)}
    for node in ast.walk(tree):
        if is_reflection(node, name):
            return False
        if is_named(node, name) and id(node) not in harmless:
            return False
    return True


def untouched(node: ast.AST) -> Iterator[ast.AST]:
    """Return parts of a node that name a list without reading its items."""
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
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr in HARMLESS:
        yield node.value.value
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield node.target


def is_new_list(node: ast.expr | None) -> bool:
    """Whether it is an empty list."""
    if isinstance(node, ast.List):
        return not node.elts
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    return is_call and isinstance(node, ast.Call) and not node.args
