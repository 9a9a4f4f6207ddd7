"""Detach a kept tensor from a graph that nothing uses: no gradients are computed, or only those of the kept tensor.

`params = {k: p - 0.1 * g[k] ...}` keeps `(p - 0.1 * g[k]).detach()`. If gradients of the kept tensor itself are
computed, it stays a leaf that requires grad.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from gradlife.patterns.rewrites.kept_graph import DETACH
from gradlife.patterns.rewrites.reads import base_name, is_like, is_reflection, name_of
from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import Edit, called_on, edited, is_plain
from gradlife.source.syntax import last_name

#: Modules that call backward only on request of the program.
QUIET = frozenset({"torch", "numpy", "functorch"}) | sys.stdlib_module_names

#: Attributes that reveal whether a tensor has a graph.
TELL_TALES = frozenset({"requires_grad", "grad_fn", "is_leaf", "retain_grad", "register_hook"})

#: Functions that compute gradients, besides those of torch.func.
ASKING = frozenset({"backward", "jacobian", "hessian", "vjp", "jvp", "hvp", "vhp", "gradcheck", "gradgradcheck"})


def without_unused_graph(site: Site) -> str | None:
    """Return the changed source; None if the line does not assign the place, or if its graph may be used."""
    node = site.statement
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or name_of(node.targets[0]) != site.name:
        return None
    target = node.targets[0]
    if asks_otherwise(site) or any(last_name(part) in TELL_TALES for part in site.nodes()):
        return None
    asked = [*gradients(site)]
    if not asked:
        return edited(site.text, edits) if (edits := [*detaching(node.value, DETACH)]) else None
    is_of_kept = all(is_of_place(site, call, target) for call in asked) and is_only_read_so(site, target, node)
    again = f"{DETACH}.requires_grad_()"
    return edited(site.text, [*called_on(node.value, again)]) if is_of_kept else None


def asks_otherwise(site: Site) -> bool:
    """Whether gradients may be computed otherwise than by `autograd.grad`, or by a library."""
    own = {last_name(node.value) for node in site.nodes() if isinstance(node, ast.Attribute)}
    for node in site.nodes():
        if last_name(node) in ASKING or is_reflection(node, "backward"):
            return True
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        if any(name.partition(".")[0] not in QUIET for name in names):
            return True
    return "autograd.functional" in own


def gradients(site: Site) -> Iterator[ast.Call]:
    """Yield the calls of `autograd.grad`; those of torch.func use no graph that is kept."""
    functional = {
        alias.asname or alias.name
        for node in site.nodes()
        if isinstance(node, ast.ImportFrom) and node.module in {"torch.func", "functorch"}
        for alias in node.names
    }
    for node in site.nodes():
        if isinstance(node, ast.Call) and last_name(node.func) == "grad":
            is_functional = isinstance(node.func, ast.Name) and node.func.id in functional
            if not is_functional and not is_of_func(node.func):
                yield node


def is_of_func(function: ast.expr) -> bool:
    """Whether the function is `torch.func.grad`."""
    return isinstance(function, ast.Attribute) and last_name(function.value) in {"func", "functorch"}


def detaching(value: ast.expr, method: str) -> Iterator[Edit]:
    """Yield the edits that detach a tensor, or each tensor in a container display."""
    if isinstance(value, ast.DictComp):
        yield from detaching(value.value, method)
    elif isinstance(value, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        yield from detaching(value.elt, method)
    elif isinstance(value, ast.Tuple | ast.List | ast.Set):
        for one in value.elts:
            yield from detaching(one, method)
    elif isinstance(value, ast.Dict):
        for one in value.values:
            yield from detaching(one, method)
    elif not is_plain(value) and not isinstance(value, ast.Lambda | ast.Starred):
        yield from called_on(value, method)


def is_of_place(site: Site, call: ast.Call, target: ast.expr) -> bool:
    """Whether the call computes the gradient of a variable that is always the kept tensor."""
    function = next(site.reader.around(call, ast.FunctionDef), None)
    if function is None or len(call.args) < 2 or not isinstance(call.args[1], ast.Name):
        return False
    name = call.args[1].id
    if any(isinstance(part, ast.arg) and part.arg == name for part in ast.walk(function)):
        return False
    stores = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    given = [site.reader.parent(one) for one in stores if isinstance(one.ctx, ast.Store)]
    return bool(given) and all(isinstance(one, ast.Assign) and is_like(one.value, target) for one in given)


def is_only_read_so(site: Site, target: ast.expr, node: ast.Assign) -> bool:
    """Whether the place is only assigned, and read as a whole into variables."""
    base = base_name(target)
    for part in site.nodes():
        if is_reflection(part, site.name) or (
            base and last_name(part) == base and not site.reader.is_taken_apart(part)
        ):
            return False
        if is_like(part, target) and isinstance(getattr(part, "ctx", None), ast.Load):
            up = site.reader.parent(part)
            if not isinstance(up, ast.Assign) or up.value is not part or up is node:
                return False
    return True
