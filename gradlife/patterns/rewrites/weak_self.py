"""A function that an object keeps refers to the object weakly: `self.impl = weakref.WeakMethod(self.mean_pool)`, read as
`self.impl()(x)`; `self.smooth = make(self)` becomes `make(weakref.proxy(self))`.

It is safe where the attribute is only called, on a variable that keeps the object alive meanwhile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.kept_graph import only_target
from gradlife.patterns.rewrites.reads import branches, is_reflection
from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import Edit, edited, replace_node
from gradlife.source.syntax import last_name

#: Functions that tell what an attribute is, or find another one by the text in it.
TESTS = frozenset({"isinstance", "getattr"})

#: Functions that make a second object of one, or write it out.
COPIERS = frozenset({"copy", "deepcopy", "dump", "dumps", "save", "spawn", "Process"})


def weak_method(site: Site) -> str | None:
    """The changed source; None where the line stores no method of its own object, or the attribute is more than called."""
    node, owner, me = site.statement, *method_at(site)
    value = node.value if isinstance(node, ast.Assign) else None
    if owner is None or value is None or not is_own_attribute(site, node, me):
        return None
    methods = {one.name for one in owner.body if isinstance(one, ast.FunctionDef) and not one.decorator_list}
    values = [*(branches(value) or [value]), *other_values(site, node)]
    bound = [one for one in values if isinstance(one, ast.Attribute) and last_name(one.value) == me]
    is_known = bound and all(one in bound or isinstance(one, ast.Constant) for one in values)
    calls = calls_of(site, node)
    if not is_known or not calls or any(one.attr not in methods for one in bound):
        return None
    edits = [replace_node(one, f"weakref.WeakMethod({site.written(one)})") for one in bound]
    edits += [replace_node(one.func, f"{site.written(one.func)}()") for one in calls]
    return with_import(site, edits)


def weak_argument(site: Site) -> str | None:
    """The changed source; None where the line calls no function of the file with its own object, or more than attributes
    of that argument are used."""
    node, owner, me = site.statement, *method_at(site)
    value = node.value if isinstance(node, ast.Assign) else None
    if owner is None or value is None or not is_own_attribute(site, node, me) or not calls_of(site, node):
        return None
    calls = [one for one in branches(value) or [value] if isinstance(one, ast.Call)]
    given = [(call, at) for call in calls for at, one in enumerate(call.args) if is_name(one, me)]
    if not given or not all(uses_attributes_only(site, call, at) for call, at in given):
        return None
    return with_import(site, [replace_node(call.args[at], f"weakref.proxy({me})") for call, at in given])


def method_at(site: Site) -> tuple[ast.ClassDef | None, str]:
    """The class around the statement, and the name that its method has for the object."""
    node = site.statement
    method = next(site.reader.around(node, ast.FunctionDef), None) if node is not None else None
    owner = site.reader.parent(method) if method is not None else None
    if not isinstance(method, ast.FunctionDef) or not isinstance(owner, ast.ClassDef) or not method.args.args:
        return None, ""
    return owner, method.args.args[0].arg


def is_own_attribute(site: Site, node: ast.stmt | None, me: str) -> bool:
    """Whether the statement assigns an attribute of the object, and the program copies no object."""
    target = only_target(node) if isinstance(node, ast.Assign) else None
    is_own = isinstance(target, ast.Attribute) and is_name(target.value, me)
    return is_own and not any(last_name(one) in COPIERS for one in site.nodes())


def is_name(node: ast.expr, name: str) -> bool:
    """Whether the expression is this variable."""
    return isinstance(node, ast.Name) and node.id == name


def attribute(node: ast.stmt | None) -> str:
    """The name of the attribute that is assigned."""
    target = only_target(node) if isinstance(node, ast.Assign) else None
    return target.attr if isinstance(target, ast.Attribute) else ""


def other_values(site: Site, node: ast.stmt | None) -> Iterator[ast.expr]:
    """Yield what other statements of the program assign to attributes of that name."""
    for one in site.nodes():
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = one.value if isinstance(one, ast.Assign | ast.AnnAssign) else None
        if one is not node and value is not None and any(is_attribute(target, attribute(node)) for target in targets):
            yield from branches(value) or [value]


def is_attribute(node: ast.AST, name: str) -> bool:
    """Whether the expression is an attribute of that name."""
    return isinstance(node, ast.Attribute) and node.attr == name


def calls_of(site: Site, node: ast.stmt | None) -> list[ast.Call]:
    """The calls of the attribute; none where it is read otherwise than called, tested, or in another file."""
    found: list[ast.Call] = []
    own = {id(part) for part in ast.walk(site.tree)}
    for one in site.nodes():
        if is_reflection(one, attribute(node)) and not is_by_own_name(site, one, node):
            return []
        if not is_attribute(one, attribute(node)) or not isinstance(getattr(one, "ctx", None), ast.Load):
            continue
        up = site.reader.parent(one)
        is_called = isinstance(up, ast.Call) and up.func is one and isinstance(one, ast.Attribute)
        if is_called and isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and id(one) in own:
            found += [up] if isinstance(up, ast.Call) else []
        elif not isinstance(up, ast.Compare) and not (isinstance(up, ast.Call) and last_name(up.func) in TESTS):
            return []
    return found


def is_by_own_name(site: Site, call: ast.AST, node: ast.stmt | None) -> bool:
    """Whether it is `getattr(x, x.impl)`: the attribute `impl` has the names of other attributes."""
    if not isinstance(call, ast.Call) or last_name(call.func) != "getattr" or len(call.args) != 2:
        return False
    value = node.value if isinstance(node, ast.Assign) else None
    texts = [*(branches(value) or [] if value is not None else []), *other_values(site, node)]
    is_other = not any(isinstance(one, ast.Constant) and one.value == attribute(node) for one in texts)
    return is_attribute(call.args[1], attribute(node)) and is_other


def uses_attributes_only(site: Site, call: ast.Call, at: int) -> bool:
    """Whether the called function uses only attributes of that argument."""
    named = [one for one in site.nodes() if isinstance(one, ast.FunctionDef) and one.name == last_name(call.func)]
    if len(named) != 1 or not isinstance(call.func, ast.Name) or at >= len(named[0].args.args):
        return False
    name = named[0].args.args[at].arg
    mentions = [one for one in ast.walk(named[0]) if isinstance(one, ast.Name) and one.id == name]
    above = [site.reader.parent(one) for one in mentions]
    return bool(above) and all(isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) for one in above)


def with_import(site: Site, edits: list[Edit]) -> str | None:
    """The source with these edits, and `weakref` imported; None where the name is another's."""
    imports = [one for one in site.tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    if any(
        isinstance(one, ast.Name) and one.id == "weakref" and isinstance(one.ctx, ast.Store) for one in site.nodes()
    ):
        return None
    if any(alias.name == "weakref" and not alias.asname for one in imports for alias in one.names):
        return edited(site.text, edits)
    first = next((one for one in imports if getattr(one, "module", "") != "__future__"), None)
    return edited(site.text, [*edits, site.line_above(first, "import weakref")]) if first is not None else None
