"""Pack a tensor without its graph: in a pack hook, `return tensor` becomes `return tensor.detach()`.

A saved output that is packed unchanged holds the node that holds it. PyTorch gives the unpacked tensor its grad node
again, so the computation is the same. It is safe if the function is only passed to the hooks and never called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import Edit, called_on, edited
from gradlife.source.syntax import last_name

HOOKS = "saved_tensors_hooks"


def packed_without_graph(site: Site) -> str | None:
    """Return the changed source; None if the line sets no hooks, or if the pack hook is used elsewhere."""
    blocks = [node for node in ast.walk(site.tree) if isinstance(node, ast.With) and node.lineno == site.line]
    calls = [one.context_expr for block in blocks for one in block.items]
    hooks = [one for one in calls if isinstance(one, ast.Call) and last_name(one.func) == HOOKS and one.args]
    if len(hooks) != 1 or not isinstance(hooks[0].args[0], ast.Name):
        return None
    functions = [*packers(site, blocks[0], hooks[0].args[0].id)]
    if not functions or not all(is_given_only(site, one.name) for one in functions):
        return None
    edits = [edit for one in functions for edit in detaching(one)]
    return edited(site.text, edits) if edits else None


def packers(site: Site, block: ast.With, name: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions that the name may mean; for an argument, all that the program passes for it."""
    around = next(site.reader.around(block, ast.FunctionDef), None)
    names = {name}
    if isinstance(around, ast.FunctionDef) and name in [one.arg for one in around.args.args]:
        place = [one.arg for one in around.args.args].index(name)
        calls = [one for one in site.nodes() if isinstance(one, ast.Call) and last_name(one.func) == around.name]
        given = [one.args[place] for one in calls if len(one.args) > place]
        if len(given) != len(calls) or not all(isinstance(one, ast.Name) for one in given):
            return
        names = {last_name(one) for one in given}
    for node in ast.walk(site.tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and len(node.args.args) == 1:
            yield node


def is_given_only(site: Site, name: str) -> bool:
    """Whether the function is never called, and only used as an argument."""
    for node in site.nodes():
        up = site.reader.parent(node)
        if last_name(node) == name and not (isinstance(up, ast.Call) and node in up.args):
            return False
    return True


def detaching(function: ast.FunctionDef) -> Iterator[Edit]:
    """Yield the edits that detach the argument where it is returned unchanged."""
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Return)
            and node.value is not None
            and last_name(node.value) == function.args.args[0].arg
        ):
            yield from called_on(node.value, ".detach()")
