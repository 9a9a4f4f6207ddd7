"""A function that an object keeps and that closes over it becomes a method: `self.frame_at = lambda t: self.frames[t]` is
`def frame_at(self, t): return self.frames[t]`, which no object refers to.

It is safe where nothing else assigns the attribute, and the function has no other variable of the method around it.
"""

from __future__ import annotations

import ast

from gradlife.patterns.rewrites.kept_graph import only_target
from gradlife.patterns.rewrites.reads import is_reflection
from gradlife.patterns.rewrites.site import Site
from gradlife.patterns.rewrites.weak_self import attribute, is_own_attribute, method_at, other_values
from gradlife.source.edits import Edit, edited, replace_node

#: The indentation inside a function, where the class shows none.
INDENT = "    "


def as_method(site: Site) -> str | None:
    """The changed source; None where the line stores no such function of its own object."""
    node, owner, me = site.statement, *method_at(site)
    value = node.value if isinstance(node, ast.Assign) else None
    if node is None or owner is None or not isinstance(value, ast.Lambda) or not is_own_attribute(site, node, me):
        return None
    method = next(site.reader.around(node, ast.FunctionDef), None)
    target = only_target(node) if isinstance(node, ast.Assign) else None
    is_alone = not any(other_values(site, node)) and attribute(node) not in names_in_class(owner)
    is_seen = any(is_reflection(one, attribute(node)) for one in site.nodes())
    if (
        not isinstance(method, ast.FunctionDef)
        or node not in method.body
        or not isinstance(target, ast.Attribute)
        or not is_alone
        or is_seen
    ):
        return None
    if not variables_of(method).isdisjoint(names_read(value) - {me}):
        return None
    rows = "\n" + "".join(f"\n{site.before(method)}{row}" for row in method_of(target, value, site.text).splitlines())
    if node is method.body[-1]:
        return edited(site.text, [removal(site, node, rows, is_only=len(method.body) == 1)])
    last = method.end_lineno or method.lineno
    end = len(site.rows[last - 1].encode())
    return edited(site.text, [removal(site, node), Edit(last, end, last, end, rows)])


def removal(site: Site, node: ast.stmt, rows: str = "", *, is_only: bool = False) -> Edit:
    """The edit that takes a statement away, with what stands below in its place."""
    if is_only:
        return replace_node(node, f"pass{rows}")
    above, last = node.lineno - 1, node.end_lineno or node.lineno
    return Edit(above, len(site.rows[above - 1].encode()), last, len(site.rows[last - 1].encode()), rows)


def method_of(target: ast.Attribute, function: ast.Lambda, source: str) -> str:
    """The method, as lines without indentation."""
    me, arguments = ast.unparse(target.value), ast.unparse(function.args)
    body = ast.get_source_segment(source, function.body) or ast.unparse(function.body)
    given = f"{me}, {arguments}" if arguments else me
    return f"def {target.attr}({given}):\n{INDENT}return {body}"


def names_in_class(owner: ast.ClassDef) -> set[str]:
    """The methods and class variables of a class."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {one.name for one in owner.body if isinstance(one, definitions)} | assigned_in(owner)


def variables_of(method: ast.FunctionDef) -> set[str]:
    """The variables of a method, its arguments among them."""
    return {part.arg for part in ast.walk(method) if isinstance(part, ast.arg)} | assigned_in(method)


def assigned_in(node: ast.AST) -> set[str]:
    """The names that are assigned anywhere in a class or a function."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def names_read(function: ast.Lambda) -> set[str]:
    """The variables that a function reads from around it, and its default values."""
    own = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    own |= {one.arg for one in (function.args.vararg, function.args.kwarg) if one is not None}
    defaults = [one for one in (*function.args.defaults, *function.args.kw_defaults) if one is not None]
    inside = {part.id for part in ast.walk(function.body) if isinstance(part, ast.Name)} - own
    return inside | {part.id for one in defaults for part in ast.walk(one) if isinstance(part, ast.Name)}
