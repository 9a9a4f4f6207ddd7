"""A lambda that only asks whether something is a certain object keeps the object's id: `lambda x: x is not batch` becomes
`lambda x, *, batch_id=id(batch): id(x) != batch_id`.

It is safe where the variable keeps its object while the function around it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.source_edits import edited, replaced

Function = ast.FunctionDef | ast.AsyncFunctionDef


def by_identity(site: Site) -> str | None:
    """The changed source; None where no lambda on the line closes over variables for their identity alone."""
    node = site.statement
    function = next(site.reader.around(node, ast.FunctionDef, ast.AsyncFunctionDef), None) if node is not None else None
    if node is None or not isinstance(function, Function):
        return None
    edits = []
    for one in (part for part in ast.walk(node) if isinstance(part, ast.Lambda)):
        names = captured(one, function)
        if not names:
            continue
        if not is_argument(site, one) or not all(is_only_compared(site, one, name, function) for name in names):
            return None
        edits.append(replaced(one, written(site, one, names)))
    return edited(site.text, edits) if edits else None


def captured(one: ast.Lambda, function: Function) -> list[str]:
    """The variables of the function that the lambda uses."""
    own = {part.arg for part in ast.walk(one.args) if isinstance(part, ast.arg)}
    made = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
    made |= {part.id for part in ast.walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    used = (part.id for part in ast.walk(one.body) if isinstance(part, ast.Name))
    return list(dict.fromkeys(name for name in used if name in made - own))


def is_argument(site: Site, one: ast.Lambda) -> bool:
    """Is the lambda given to a call, and has it only plain arguments?"""
    up = site.reader.parent(one)
    up = site.reader.parent(up) if isinstance(up, ast.keyword) else up
    arguments = one.args
    return isinstance(up, ast.Call) and not (arguments.vararg or arguments.kwonlyargs or arguments.kwarg)


def is_only_compared(site: Site, one: ast.Lambda, name: str, function: Function) -> bool:
    """Is the variable only compared by `is` with an argument of the lambda, and assigned once?"""
    every = [part for part in ast.walk(function) if isinstance(part, ast.Name) and part.id == name]
    stores = [part for part in every if not isinstance(part.ctx, ast.Load)]
    given = any(isinstance(part, ast.arg) and part.arg == name for part in ast.walk(function.args))
    inside = [part for part in ast.walk(one.body) if isinstance(part, ast.Name) and part.id == name]
    is_compared = all(identity(site.reader.parent(part), one) is not None for part in inside)
    return is_compared and len(stores) + given == 1 and f"{name}_id" not in {part.id for part in names_in(function)}


def identity(node: ast.AST | None, one: ast.Lambda) -> ast.Compare | None:
    """The node, if it is `argument is variable` or `argument is not variable`."""
    own = {part.arg for part in one.args.args}
    is_one = isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot)
    if (
        not isinstance(node, ast.Compare)
        or not is_one
        or not isinstance(node.left, ast.Name)
        or node.left.id not in own
    ):
        return None
    return node if isinstance(node.comparators[0], ast.Name) else None


def names_in(function: Function) -> Iterator[ast.Name]:
    """Yield the names in a function."""
    return (part for part in ast.walk(function) if isinstance(part, ast.Name))


def written(site: Site, one: ast.Lambda, names: list[str]) -> str:
    """The lambda with ids in place of the variables."""
    body = site.written(one.body)
    changed = ast.parse(body, mode="eval").body
    for node in [part for part in ast.walk(changed) if isinstance(part, ast.Compare)]:
        last = node.comparators[0]
        if isinstance(last, ast.Name) and last.id in names:
            operator = "!=" if isinstance(node.ops[0], ast.IsNot) else "=="
            body = body.replace(
                ast.get_source_segment(body, node) or "", f"id({ast.unparse(node.left)}) {operator} {last.id}_id"
            )
    arguments = ast.unparse(one.args)
    ids = ", ".join(f"{name}_id=id({name})" for name in names)
    return f"lambda {arguments}, *, {ids}: {body}"
