"""Drop the parameter groups of earlier heads when another one is added: `opt.add_param_group(...)`.

The optimizer keeps the parameters of a head that the model has replaced, and their state. They get no gradients any more,
so the optimizer passes them over: dropping them changes no number. It is safe if this statement adds all groups but the
first, all for heads at one place, and nothing else reads groups or state.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import edited
from gradlife.source.syntax import last_name

#: Names that tell that something else reads an optimizer's groups or its state.
READERS = frozenset({"param_groups", "state_dict", "load_state_dict", "GradScaler", "lr_scheduler", "state"})

#: How the names of schedulers end, which keep a number for each group.
SCHEDULERS = ("LR", "Scheduler", "Restarts", "scheduler")

ADDING = "add_param_group"


def without_old_groups(site: Site) -> str | None:
    """Return the changed source; None if the line adds no group, or if other code may see the optimizer's groups."""
    node = site.statement
    call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if node is None or call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != ADDING:
        return None
    optimizer = call.func.value
    if not isinstance(optimizer, ast.Name | ast.Attribute) or is_watched(site, last_name(optimizer)):
        return None
    made = [*creations(site, last_name(optimizer))]
    if not made or not all(map(has_one_group, made)) or not is_for_one_place(site, call, optimizer):
        return None
    written = site.written(optimizer)
    lines = (
        f"for old in [one for group in {written}.param_groups[1:] for one in group['params']]:",
        f"    {written}.state.pop(old, None)",
        f"del {written}.param_groups[1:]  # of heads that the model no longer has",
    )
    return edited(site.text, [site.line_above(node, *lines)])


def is_watched(site: Site, name: str) -> bool:
    """Whether groups are added elsewhere, or something reads the groups or the state of an optimizer."""
    added = 0
    for node in site.nodes():
        word = last_name(node)
        if word in {"old", "group"} or word.endswith(SCHEDULERS):
            return True
        if word in READERS and (word != "state" or is_attribute_of(node, name)):
            return True
        added += word == ADDING
    return added != 1


def is_for_one_place(site: Site, call: ast.Call, optimizer: ast.expr) -> bool:
    """Whether the call adds the parameters of an attribute or an item with a fixed name, of an object that stays the
    same: at another place, an earlier head may still be in use.
    """
    found = [one.func for one in ast.walk(call) if isinstance(one, ast.Call) and last_name(one.func) == "parameters"]
    place = found[0].value if len(found) == 1 and isinstance(found[0], ast.Attribute) else None
    is_fixed = isinstance(place, ast.Attribute) or (
        isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Constant)
    )
    if not is_fixed or place is None:
        return False
    variable = first_variable(place)
    return bool(variable) and (variable == first_variable(optimizer) or is_set_once(site, variable))


def first_variable(node: ast.expr) -> str:
    """Return the variable that an expression of attributes and items begins with; "" if it begins with none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return ""
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_set_once(site: Site, name: str) -> bool:
    """Whether one plain assignment outside of loops sets the variable, and nothing else: no loop and no argument."""
    if any(isinstance(node, ast.arg) and node.arg == name for node in site.nodes()):
        return False
    stored = [
        node
        for node in site.nodes()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return (
        len(stored) == 1
        and isinstance(site.reader.parent(stored[0]), ast.Assign)
        and next(site.reader.around(stored[0], ast.For, ast.AsyncFor, ast.While), None) is None
    )


def is_attribute_of(node: ast.AST, name: str) -> bool:
    """Whether it is an attribute of the optimizer."""
    return isinstance(node, ast.Attribute) and last_name(node.value) == name


def creations(site: Site, name: str) -> Iterator[ast.expr]:
    """Yield what the program assigns the optimizer's variable or attribute, or passes under its name."""
    for node in site.nodes():
        if isinstance(node, ast.Assign) and name in map(last_name, node.targets):
            yield node.value
        if isinstance(node, ast.AnnAssign) and last_name(node.target) == name and node.value is not None:
            yield node.value
        if isinstance(node, ast.keyword) and node.arg == name:
            yield node.value


def has_one_group(value: ast.expr) -> bool:
    """Whether it creates an optimizer of `model.parameters()`, which are one group."""
    given = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return isinstance(given, ast.Call) and last_name(given.func) == "parameters"
