"""Remove an object's hook after the object's last use: `extractor.handle.remove()`.

An extractor registers its own method, which writes into the extractor. After the extractor's last use nothing can read
what the hook writes. It is safe if the object never leaves its function, or the turn of its loop, and the method does
nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import Edit, edited
from gradlife.source.syntax import last_name

#: Code that creates an object, uses it and lets it go.
Scope = ast.FunctionDef | ast.For | ast.While

#: Methods without an effect outside the object.
QUIET = frozenset(
    {"detach", "clone", "cpu", "float", "mean", "norm", "abs", "max", "min", "sum", "item", "numpy", "append"}
)


def without_hook_after_use(site: Site) -> str | None:
    """Return the changed source; None if the line keeps no handle of such a hook, or the object is used elsewhere."""
    node = site.statement
    init = next(site.reader.around(node, ast.FunctionDef), None) if node is not None else None
    owner = site.reader.parent(init) if init is not None else None
    if not isinstance(node, ast.Assign) or not isinstance(init, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
        return None
    if init.name != "__init__" or not init.args.args:
        return None
    handle, method = handle_of(node, init), method_of(node, init)
    if not handle or not is_watching(owner, method) or is_removed(site, owner, handle):
        return None
    uses = [*functions_with(site, owner.name)]
    edits = [[*removing(site, function, name, handle)] for function, name in uses if function is not None and name]
    is_complete = bool(uses) and len(edits) == len(uses) and all(edits)
    return edited(site.text, [one for found in edits for one in found]) if is_complete else None


def handle_of(node: ast.Assign, init: ast.FunctionDef) -> str:
    """Return the attribute of the object that keeps the handle."""
    target, me = node.targets[0], init.args.args[0].arg
    is_own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == me
    return target.attr if is_own and isinstance(target, ast.Attribute) and len(node.targets) == 1 else ""


def method_of(node: ast.Assign, init: ast.FunctionDef) -> str:
    """Return the object's method that is registered."""
    call, me = node.value, init.args.args[0].arg
    if not isinstance(call, ast.Call) or not last_name(call.func).startswith("register_") or len(call.args) != 1:
        return ""
    given = call.args[0]
    is_own = isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name) and given.value.id == me
    return given.attr if is_own and isinstance(given, ast.Attribute) else ""


def is_watching(owner: ast.ClassDef, name: str) -> bool:
    """Whether the method only writes into its own object."""
    method = next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name), None)
    if method is None or not method.args.args:
        return False
    me = method.args.args[0].arg
    for node in (part for statement in method.body for part in ast.walk(statement)):
        if isinstance(node, ast.Return | ast.Yield | ast.Global | ast.Nonlocal | ast.Raise | ast.Await | ast.Delete):
            return False
        if isinstance(node, ast.Call) and (not isinstance(node.func, ast.Attribute) or node.func.attr not in QUIET):
            return False
        is_store = isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        if (is_store or (isinstance(node, ast.Attribute) and node.attr == "append")) and root_of(node) != me:
            return False
    return True


def root_of(node: ast.AST) -> str:
    """Return `a` of `a.b["key"].c`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return last_name(node)


def is_removed(site: Site, owner: ast.ClassDef, handle: str) -> bool:
    """Whether the program removes the hook somewhere, besides in a method of the class that nothing calls."""
    methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)]
    used = {last_name(node) for node in site.nodes()}
    idle = {id(part) for one in methods if one.name not in used and one.name[:2] != "__" for part in ast.walk(one)}
    return any(
        isinstance(node, ast.Attribute) and node.attr == "remove" and last_name(node.value) == handle
        for node in site.nodes()
        if id(node) not in idle
    )


def functions_with(site: Site, name: str) -> Iterator[tuple[Scope | None, str]]:
    """Yield each function or loop that creates an object of the class, and its variable; empty if that is not a
    variable.
    """
    for node in site.nodes():
        if last_name(node) == name and isinstance(getattr(node, "ctx", None), ast.Load):
            call = site.reader.parent(node)
            made = site.reader.parent(call) if isinstance(call, ast.Call) and call.func is node else None
            scope = site.reader.parent(made) if isinstance(made, ast.Assign) and len(made.targets) == 1 else None
            is_there = isinstance(scope, Scope) and scope in [*ast.walk(site.tree)]
            if not is_there or not isinstance(made, ast.Assign) or not isinstance(scope, Scope):
                yield None, ""
            else:
                yield scope, made.targets[0].id if isinstance(made.targets[0], ast.Name) else ""


def removing(site: Site, scope: Scope, name: str, handle: str) -> Iterator[Edit]:
    """Yield the edits that remove the hook after the last use of a variable, if only its attributes are used."""
    names = [part for part in ast.walk(scope) if isinstance(part, ast.Name) and part.id == name]
    made = [one for one in names if isinstance(one.ctx, ast.Store)]
    is_own = len(made) == 1 and all(
        isinstance(site.reader.parent(one), ast.Attribute) for one in names if isinstance(one.ctx, ast.Load)
    )
    inner = [part for part in ast.walk(scope) if isinstance(part, ast.Lambda | ast.FunctionDef) and part is not scope]
    users = [one for one in scope.body if any(part in names for part in ast.walk(one))]
    is_own = is_own and (isinstance(scope, ast.FunctionDef) or is_of_turn(site, scope, names, made))
    if is_own and not inner and users and not hasattr(users[-1], "body"):
        yield from site.then(scope, users[-1], f"{name}.{handle}.remove()")


def is_of_turn(site: Site, loop: ast.For | ast.While, names: Sequence[ast.Name], made: Sequence[ast.Name]) -> bool:
    """Whether a variable is made and used in the same turn of a loop, and nowhere else, and each turn goes to its end."""
    first = next(one for one in loop.body if any(part in names for part in ast.walk(one)))
    leaves = any(isinstance(part, ast.Continue | ast.Break | ast.Return) for part in ast.walk(loop))
    around = next(site.reader.around(loop, ast.FunctionDef, ast.AsyncFunctionDef), None)
    others = [
        part for part in (ast.walk(around) if around is not None else site.nodes()) if last_name(part) == names[0].id
    ]
    return made[0] in [*ast.walk(first)] and not leaves and len(others) == len(names)
