"""Whether an object with tensors as fields is made anew in each step, such as a model's output, or lasts, such as a meter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from gradlife.peaks.sources.program import is_named, source_of
from gradlife.safe_access import exact_text, loaded

#: Methods that run once for each object.
MAKING = frozenset({"__init__", "__post_init__", "__new__", "__setstate__"})

LOOPS = ast.For | ast.AsyncFor | ast.While


def file_of_class(full_name: str) -> str:
    """Return the file of the module of a class; empty if it is unknown."""
    parts = full_name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = loaded(".".join(parts[:end]))
        if module is not None:
            return exact_text(vars(module).get("__file__")) or ""
    return ""


@cache
def is_filled_by_its_class(full_name: str, attribute: str) -> bool:
    """Whether a method of a class stores to an attribute, or to an item of it, after the object is made."""
    source = source_of(file_of_class(full_name))
    name = full_name.rpartition(".")[2]
    classes = ast.walk(source.tree) if source is not None else iter(())
    methods = (method for one in classes if isinstance(one, ast.ClassDef) and one.name == name for method in one.body)
    filling = (one for one in methods if isinstance(one, ast.FunctionDef) and one.name not in MAKING)
    return any(is_stored(node, attribute) for one in filling for node in ast.walk(one))


def is_stored(node: ast.AST, attribute: str) -> bool:
    """Whether a node stores to an attribute of ``self``, or to an item of it."""
    target = node.value if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) else node
    if not isinstance(target, ast.Attribute) or target.attr != attribute:
        return False
    is_own = isinstance(target.value, ast.Name) and target.value.id == "self"
    return is_own and (target is not node or isinstance(target.ctx, ast.Store))


@cache
def is_stored_by_key(file: str, name: str, key: str) -> bool:
    """Whether a statement stores to this item of a container, such as ``['loss']``; an attribute's name has a dot."""
    source = source_of(file)
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.slice, ast.Constant)
        and key == f"[{node.slice.value!r}]"
        and is_named(node.value, name)
        for node in (ast.walk(source.tree) if source is not None else ())
    )


@cache
def is_bound_anew(file: str, name: str) -> bool:
    """Whether a module binds a variable in a loop, or a function binds it as a global one."""
    source = source_of(file)
    if source is None:
        return False
    nodes = list(ast.walk(source.tree))
    if any(isinstance(node, ast.Global) and name in node.names for node in nodes):
        return True
    loops = (one for node in source.tree.body for one in outside_functions(node) if isinstance(one, LOOPS))
    bound = (one for loop in loops for one in outside_functions(loop))
    return any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in bound)


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes in it that run in the same frame."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from outside_functions(child)
