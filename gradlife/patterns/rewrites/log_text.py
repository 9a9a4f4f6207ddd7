"""Log text instead of an object: `log.info("%s", x)` becomes `log.info("%s", str(x))`.

A handler that collects records keeps their arguments, too. The message stays the same if the conversion is `%s` and
nothing changes the argument in place before the record is formatted.
"""

from __future__ import annotations

import ast
import re

from gradlife.patterns.rewrites.reads import branches
from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import edited, is_plain, replace_node
from gradlife.source.syntax import last_name

LEVELS = frozenset({"debug", "info", "warning", "error", "critical"})

#: Methods that change their container.
CHANGERS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "update", "add", "setdefault", "sort"})

#: Attributes of a tensor that do not change.
FIXED = frozenset({"shape", "dtype", "device", "ndim"})

#: A conversion of the % operator.
CONVERSION = re.compile(r"%(?:%|[-#0 +]*(?:\d+)?(?:\.\d+)?[a-zA-Z])")


def log_text(site: Site) -> str | None:
    """Return the changed source; None for another statement, or if the program processes records itself."""
    node = site.statement
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    call = node.value
    is_log = isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS and len(call.args) > 1
    if not is_log or not isinstance(call.args[0], ast.Constant) or not isinstance(call.args[0].value, str):
        return None
    marks = [one for one in CONVERSION.findall(call.args[0].value) if one != "%%"]
    if len(marks) != len(call.args) - 1 or looks_into_records(site):
        return None
    shown = [one for one, mark in zip(call.args[1:], marks, strict=True) if mark == "%s" and not is_plain(one)]
    if any(changes_in_place(site, one) for one in shown):
        return None
    return edited(site.text, [replace_node(one, f"str({site.written(one)})") for one in shown]) if shown else None


def looks_into_records(site: Site) -> bool:
    """Whether the program has its own formatters, filters or handlers."""
    names = {"LogRecord", "Formatter", "Filter", "Handler", "addFilter", "setLogRecordFactory", "getMessage"}
    return any(last_name(node) in names for node in site.nodes())


def changes_in_place(site: Site, value: ast.expr) -> bool:
    """Whether a name in the value may be changed in place."""
    parts = [part for one in branches(value) or [value] for part in ast.walk(one)]
    attributes = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    if attributes - FIXED:
        return True  # perhaps a weight or a gradient, which the next step changes
    names = {last_name(part) for part in parts} - {""}
    for node in site.nodes():
        is_alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Subscript | ast.Name)
        if is_alias and isinstance(node, ast.Assign) and any(last_name(one) in names for one in node.targets):
            return True
        if isinstance(node, ast.AugAssign) and last_name(node.target) in names:
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and last_name(node.value) in names:
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and last_name(node.func.value) in names:
            is_in_place = node.func.attr.endswith("_") and not node.func.attr.endswith("__")
            if is_in_place or node.func.attr in CHANGERS:
                return True
    return False
