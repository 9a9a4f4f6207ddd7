"""Make a hook use its module argument instead of `self`: `output * self.scale` becomes `output * module.scale`.

PyTorch passes a hook the module that it is registered on, which is `self`. Without `self` the function does not refer
to the module, so module, hook table and function form no cycle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import Edit, edited, replace_node
from gradlife.source.syntax import last_name

REGISTERS = frozenset({"register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"})

#: Functions that are written in place or defined by name.
Hook = ast.FunctionDef | ast.Lambda


def with_own_argument(site: Site) -> str | None:
    """Return the changed source; None if the method registers on `self` no function of its own that uses `self`."""
    methods = [node for node in ast.walk(site.tree) if isinstance(node, ast.FunctionDef) and is_around(node, site.line)]
    owners = [one for one in methods if isinstance(site.reader.parent(one), ast.ClassDef) and one.args.args]
    if len(owners) != 1 or any(last_name(node) == "deepcopy" for node in site.nodes()):
        return None  # the hook of a copy would get the copy
    method, me = owners[0], owners[0].args.args[0].arg
    hooks = [hook for call in registrations(method, me) for hook in functions(method, call.args[0])]
    edits = [edit for hook in hooks if is_given_only(site, method, hook) for edit in renamed(hook, me)]
    return edited(site.text, edits) if edits else None


def is_around(node: ast.FunctionDef, line: int) -> bool:
    """Whether the function contains the line."""
    return node.lineno <= line <= (node.end_lineno or 0)


def registrations(method: ast.FunctionDef, me: str) -> Iterator[ast.Call]:
    """Yield the calls that register a hook on the object itself."""
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            owner = node.func.value
            if node.func.attr in REGISTERS and isinstance(owner, ast.Name) and owner.id == me:
                yield node


def functions(method: ast.FunctionDef, given: ast.expr) -> Iterator[Hook]:
    """Yield the functions that an argument may be."""
    if isinstance(given, ast.IfExp):
        yield from functions(method, given.body)
        yield from functions(method, given.orelse)
    elif isinstance(given, ast.Lambda):
        yield given
    elif isinstance(given, ast.Name):
        yield from (one for one in ast.walk(method) if isinstance(one, ast.FunctionDef) and one.name == given.id)


def is_given_only(site: Site, method: ast.FunctionDef, hook: Hook) -> bool:
    """Whether the function is only passed to registrations."""
    calls = {id(part) for call in registrations(method, method.args.args[0].arg) for part in ast.walk(call.args[0])}
    if isinstance(hook, ast.Lambda):
        return True
    return all(id(node) in calls for node in ast.walk(method) if last_name(node) == hook.name)


def renamed(hook: Hook, me: str) -> Iterator[Edit]:
    """Yield the edits that replace a name by the first argument."""
    if hook.args.args:
        first = hook.args.args[0].arg
        body = hook.body if isinstance(hook.body, list) else [hook.body]
        names = [part for one in body for part in ast.walk(one) if isinstance(part, ast.Name)]
        is_kept = not any(one.id == first and not isinstance(one.ctx, ast.Load) for one in names)
        yield from (replace_node(one, first) for one in names if one.id == me and is_kept)
