"""Save a tensor on ctx for backward: `ctx.result = result` becomes `ctx.save_for_backward(result)`.

It is safe if only the class's own backward reads the attribute, and the same call saves nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from gradlife.patterns.rewrites.reads import Reader
from gradlife.source.edits import Edit, edited, replace_node
from gradlife.source.syntax import last_name

SAVE = "save_for_backward"


def saved_for_backward(text: str, tree: ast.Module, line: int, name: str, trees: Iterable[ast.Module]) -> str | None:
    """Return the changed source; None if the line sets no such attribute, if other code reads it, or if it may not be a
    tensor.
    """
    reader = Reader([tree])
    node = next((one for one in ast.walk(tree) if isinstance(one, ast.Assign) and one.lineno == line), None)
    forward = next(reader.around(node, ast.FunctionDef), None) if node is not None else None
    owner = reader.parent(forward) if forward is not None else None
    if not isinstance(forward, ast.FunctionDef) or forward.name != "forward" or not isinstance(owner, ast.ClassDef):
        return None
    if node is None or not is_on_ctx(node, forward, name) or not isinstance(node.value, ast.Name):
        return None
    reads = [
        part for one in trees for part in ast.walk(one) if isinstance(part, ast.Attribute) and last_name(part) == name
    ]
    inside = {id(part) for part in reads_in_backward(owner, name)} | {id(node.targets[0])}
    if any(id(part) not in inside for part in reads):
        return None
    if not all(is_exclusive(call, node, reader) for call in savings(owner)):
        return None
    context = forward.args.args[0].arg
    edits = [replace_node(node, f"{context}.{SAVE}({node.value.id})"), *read_edits(owner, name)]
    return edited(text, edits) if len(edits) > 1 else None


def is_on_ctx(node: ast.Assign, forward: ast.FunctionDef, name: str) -> bool:
    """Whether it sets an attribute of the first argument."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Attribute) or target.attr != name or not forward.args.args:
        return False
    return isinstance(target.value, ast.Name) and target.value.id == forward.args.args[0].arg


def reads_in_backward(owner: ast.ClassDef, name: str) -> Iterator[ast.Attribute]:
    """Yield the places where backward reads the attribute of its ctx."""
    for function in owner.body:
        if isinstance(function, ast.FunctionDef) and function.name == "backward" and function.args.args:
            context = function.args.args[0].arg
            yield from (part for part in ast.walk(function) if is_read_of(part, context, name))


def is_read_of(part: ast.AST, context: str, name: str) -> TypeGuard[ast.Attribute]:
    """Whether it reads `ctx.name`."""
    if not isinstance(part, ast.Attribute) or part.attr != name or not isinstance(part.ctx, ast.Load):
        return False
    return isinstance(part.value, ast.Name) and part.value.id == context


def read_edits(owner: ast.ClassDef, name: str) -> Iterator[Edit]:
    """Return the edits that make backward read from `saved_tensors` instead."""
    for part in reads_in_backward(owner, name):
        if isinstance(part.value, ast.Name):
            yield replace_node(part, f"{part.value.id}.saved_tensors[0]")


def savings(owner: ast.ClassDef) -> Iterator[ast.Call]:
    """Return the calls in the class that save something."""
    calls = (part for part in ast.walk(owner) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute))
    return (one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr in {SAVE, "save_for_forward"})


def is_exclusive(call: ast.Call, node: ast.Assign, reader: Reader) -> bool:
    """Whether the call and the assignment are in different branches of one `if`."""
    for choice in reader.around(node, ast.If):
        if isinstance(choice, ast.If):
            arms = [{id(part) for one in arm for part in ast.walk(one)} for arm in (choice.body, choice.orelse)]
            if any(id(node) in one and id(call) in other for one, other in (arms, arms[::-1])):
                return True
    return False
