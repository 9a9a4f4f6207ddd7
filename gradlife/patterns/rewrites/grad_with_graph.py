"""Drop a gradient with a graph after its last use: `points.grad = None` follows the last read of `points.grad`.

The graph of the gradient refers to the tensor that holds the gradient: a cycle that no collector sees. It is safe if
the tensor is a variable of one function, and nothing else reads its gradient.
"""

from __future__ import annotations

import ast

from gradlife.patterns.rewrites.site import Site
from gradlife.source.containers import KEEPING
from gradlife.source.edits import edited
from gradlife.source.syntax import last_name

#: Methods and functions that keep their argument.
KEEPERS = (KEEPING - {"update"}) | {"setattr"}  # `update` is most often that of a metric


def without_gradient(site: Site) -> str | None:
    """Return the changed source; None if the line makes no gradients with a graph, or several variables' are read."""
    node = site.statement
    function = next(site.reader.around(node, ast.FunctionDef), None) if node is not None else None
    if node is None or not isinstance(function, ast.FunctionDef) or not is_backward_with_graph(node):
        return None
    names = {last_name(part.value) for part in site.nodes() if is_gradient(part) and isinstance(part, ast.Attribute)}
    if len(names) != 1 or not is_own(site, function, name := names.pop()):
        return None
    readers = [one for one in function.body if any(is_gradient(part) for part in ast.walk(one))]
    if node not in function.body or not readers or hasattr(readers[-1], "body"):
        return None
    edits = [*site.then(function, readers[-1], f"{name}.grad = None")]
    return edited(site.text, edits) if edits else None


def is_backward_with_graph(node: ast.stmt) -> bool:
    """Whether the statement calls `backward` with ``create_graph=True``."""
    if (
        not isinstance(node, ast.Expr)
        or not isinstance(node.value, ast.Call)
        or last_name(node.value.func) != "backward"
    ):
        return False
    given = {one.arg: one.value for one in node.value.keywords}
    asked = given.get("create_graph")
    return isinstance(asked, ast.Constant) and asked.value is True


def is_gradient(node: ast.AST) -> bool:
    """Whether the node reads `.grad` of a variable."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and not is_module(node)
    )


def is_module(node: ast.Attribute) -> bool:
    """Whether the attribute is the function `torch.autograd.grad`, or one of torch.func."""
    return last_name(node.value) in {"autograd", "func", "functorch", "torch"}


def is_own(site: Site, function: ast.FunctionDef, name: str) -> bool:
    """Whether the function creates the variable, and nothing else keeps its tensor or reads a gradient."""
    inside = {id(part) for part in ast.walk(function)}
    made = False
    for node in site.nodes():
        if isinstance(node, ast.Attribute) and is_gradient(node) and id(node) not in inside:
            return False
        if not isinstance(node, ast.Name) or node.id != name or id(node) not in inside:
            continue
        up = site.reader.parent(node)
        made = made or isinstance(node.ctx, ast.Store)
        if isinstance(up, ast.Return | ast.Yield | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Lambda):
            return False
        if isinstance(up, ast.Assign | ast.keyword) and up.value is node:
            return False
        if isinstance(up, ast.Call) and last_name(up.func) in KEEPERS:
            return False
    return made
