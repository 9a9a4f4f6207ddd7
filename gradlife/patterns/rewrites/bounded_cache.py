"""Bound a function's cache to its newest results: `@functools.cache` becomes `@functools.lru_cache(maxsize=8)`.

Dropped results are computed again. It is safe if the function is deterministic and changes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradlife.patterns.rewrites.site import Site
from gradlife.source.edits import edited, replace_node
from gradlife.source.syntax import last_name

#: The number of results to keep.
SIZE = 8

#: Most levels of calls to follow.
MAX_NESTED = 4

#: Modules whose functions are deterministic, except those with one of these parts in their name.
SAME = frozenset({"torch", "math", "np", "numpy", "F", "functional", "nn", "self"})
CHANCE = ("rand", "normal", "uniform", "dropout", "bernoulli", "multinomial", "exponential", "poisson", "seed")
BUILTINS = frozenset(
    {"range", "len", "float", "int", "tuple", "list", "sum", "min", "max", "abs", "zip", "enumerate", "sorted", "round"}
)


def bounded_cache(site: Site) -> str | None:
    """Return the changed source; None if no function has the decorator of an unbounded cache at the line."""
    for node in ast.walk(site.tree):
        if isinstance(node, ast.FunctionDef):
            found = next((one for one in node.decorator_list if one.lineno == site.line), None)
            if found is not None:
                name = decorator_name(found)
                is_safe = name and is_same_each_time(site, node, MAX_NESTED) and not is_asked(site, node.name)
                return edited(site.text, [replace_node(found, f"{name}(maxsize={SIZE})")]) if is_safe else None
    return None


def decorator_name(node: ast.expr) -> str:
    """Return the name of `lru_cache` if the decorator is an unbounded cache; else empty."""
    plain = node.func if isinstance(node, ast.Call) else node
    written = ast.unparse(plain)
    if written == "functools.cache" and node is plain:
        return "functools.lru_cache"
    if not isinstance(node, ast.Call) or written not in {"functools.lru_cache", "lru_cache"}:
        return ""
    sizes = [*node.args, *(one.value for one in node.keywords if one.arg == "maxsize")]
    is_open = len(sizes) == 1 and isinstance(sizes[0], ast.Constant) and sizes[0].value is None
    return written if is_open and not any(one.arg == "typed" for one in node.keywords) else ""


def is_asked(site: Site, name: str) -> bool:
    """Whether the program reads the statistics of a cache."""
    return any(last_name(node) in {"cache_info", "cache_parameters"} for node in site.nodes())


def is_same_each_time(site: Site, function: ast.FunctionDef, depth: int) -> bool:
    """Whether the function only computes, and calls only deterministic functions."""
    for node in parts(function):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await | ast.Expr | ast.Delete):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Call) and not is_known(site, node.func, depth):
            return False
    return True


def parts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the parts of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (part for statement in body for part in ast.walk(statement))


def is_known(site: Site, function: ast.expr, depth: int) -> bool:
    """Whether calls of the function are known to be deterministic."""
    name = last_name(function)
    if not name or name.endswith("_") or any(part in name for part in CHANCE):
        return False
    if isinstance(function, ast.Attribute):
        return not is_own(site, name)
    found = [node for node in site.nodes() if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        return name in BUILTINS
    return depth > 0 and all(is_same_each_time(site, one, depth - 1) for one in found)


def is_own(site: Site, name: str) -> bool:
    """Whether the program defines a function of that name."""
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in site.nodes())
