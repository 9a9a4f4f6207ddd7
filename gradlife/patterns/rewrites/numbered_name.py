"""Give an attribute one name: `setattr(self, f"act_{n}", x)` becomes `setattr(self, "act_latest", x)`.

The newest value stays, older ones go. It is safe if nothing reads such an attribute: none is written out, and nothing
reaches attributes by names that it computes, copies the object or saves it. A new module or parameter is left alone: the
object's `parameters()` would have it.
"""

from __future__ import annotations

import ast
import re

from gradlife.patterns.rewrites.reads import REFLECTION, is_reflection
from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import edited, replace_node
from gradlife.source.syntax import last_name

#: Names by which a program may see all attributes of an object.
SEEING = REFLECTION | {"dir", "hasattr", "delattr", "getmembers", "pickle", "dump", "dumps", "save", "deepcopy", "copy"}

LATEST = "latest"


def with_one_name(site: Site) -> str | None:
    """Return the changed source; None if the line sets no numbered attribute, or if other code may read it."""
    node = site.statement
    call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if node is None or call is None or last_name(call.func) != "setattr" or len(call.args) != 3:
        return None
    name = call.args[1]
    prefix = prefix_of(name) if isinstance(name, ast.JoinedStr) else ""
    if not prefix or not isinstance(name, ast.JoinedStr):
        return None
    own = {id(part) for part in ast.walk(name)}
    pattern = pattern_of(name)
    if is_made_by_class(site, call.args[2]):
        return None
    if any(may_read(part, pattern) for part in site.nodes() if id(part) not in own):
        return None
    edits = [replace_node(name, f'"{prefix}{LATEST}"'), *site.remark(node, "nothing reads older ones")]
    return edited(site.text, edits)


def is_made_by_class(site: Site, value: ast.expr) -> bool:
    """Whether the value, or what its variable is set to anywhere, is a call of a name with a capital letter."""
    values = [value]
    if isinstance(value, ast.Name):
        stores = [node for node in site.nodes() if isinstance(node, ast.Assign)]
        values += [one.value for one in stores if value.id in map(last_name, one.targets)]
    return any(isinstance(one, ast.Call) and last_name(one.func)[:1].isupper() for one in values)


def prefix_of(name: ast.JoinedStr) -> str:
    """Return the letters that a formatted text begins with; empty if it begins otherwise."""
    first = name.values[0].value if name.values and isinstance(name.values[0], ast.Constant) else ""
    return first if isinstance(first, str) and re.fullmatch(r"[A-Za-z]\w*", first) else ""


def pattern_of(name: ast.JoinedStr) -> re.Pattern[str]:
    """Return the names that a formatted text may give."""
    parts = (re.escape(str(one.value)) if isinstance(one, ast.Constant) else r"\w*" for one in name.values)
    return re.compile("".join(parts))


def may_read(node: ast.AST, pattern: re.Pattern[str]) -> bool:
    """Whether the node may read one of these attributes, or all of them."""
    if isinstance(node, ast.Attribute):
        return node.attr in SEEING | {"__dict__"} or pattern.fullmatch(node.attr) is not None
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and pattern.fullmatch(node.value) is not None
    return last_name(node) in SEEING or is_reflection(node, "")
