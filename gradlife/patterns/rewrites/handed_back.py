"""Remove a result from the notes when it is returned: `return notes["output"]` becomes `return notes.pop("output")`.

Otherwise a closure with the dictionary holds the result, whose graph holds the closure. It is safe if nothing else uses
the key.
"""

from __future__ import annotations

import ast

from gradlife.patterns.rewrites.reads import is_reflection, name_of
from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import edited, replace_node
from gradlife.source.syntax import last_name


def handed_back(site: Site) -> str | None:
    """Return the changed source; None if the line sets no key of a local dict that is only returned afterwards."""
    node = site.statement
    function = next(site.reader.around(node, ast.FunctionDef), None) if node is not None else None
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(function, ast.FunctionDef):
        return None
    target = node.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name) or not name_of(target):
        return None
    returned = [one for one in function.body if isinstance(one, ast.Return) and is_item(one.value, target)]
    if len(returned) != 1 or function.body[-1] is not returned[0] or node not in function.body:
        return None
    allowed = {id(target.slice), *(id(part) for part in ast.walk(returned[0]))}
    for part in site.nodes():
        if isinstance(part, ast.Constant) and part.value == name_of(target) and id(part) not in allowed:
            return None
        is_whole = last_name(part) == target.value.id and not site.reader.is_taken_apart(part)
        if is_whole or is_reflection(part, name_of(target)):
            return None
    value = returned[0].value
    assert value is not None
    return edited(site.text, [replace_node(value, f"{target.value.id}.pop({site.written(target.slice)})")])


def is_item(node: ast.expr | None, target: ast.Subscript) -> bool:
    """Whether the expression reads the same item."""
    return isinstance(node, ast.Subscript) and ast.unparse(node) == ast.unparse(target)
