"""Statements that store under a name: append, item, attribute and global assignment, `+=`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradlife.hunting.stores.place import Place
from gradlife.hunting.stores.program_sources import Source

#: Methods that put something into a list, dict, set or deque.
ADDERS = frozenset({"append", "appendleft", "add", "extend", "extendleft", "insert", "setdefault", "update"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may store."""

    source: Source
    node: ast.stmt
    scope: tuple[str, ...]  # names of the classes and functions around it
    class_name: str  # the innermost class around it
    lines: range  # of the innermost function around it

    @property
    def function(self) -> str:
        """Its qualified name."""
        return ".".join(self.scope)


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope that a statement is in."""

    source: Source
    names: tuple[str, ...] = ()
    class_name: str = ""
    function: Function | None = None


def storing(source: Source, place: Place) -> list[Statement]:
    """The statements of a file that store at a place."""
    return list(search(source.tree.body, Scope(source), place)) if place.name in source.text else []


def search(body: list[ast.stmt], scope: Scope, place: Place) -> Iterator[Statement]:
    """Yield the statements of a block and of all blocks inside it."""
    for node in body:
        if isinstance(node, Function):
            inner = Scope(scope.source, (*scope.names, node.name), scope.class_name, node)
            yield from search(node.body, inner, place)
        elif isinstance(node, ast.ClassDef):
            yield from search(node.body, Scope(scope.source, (*scope.names, node.name), node.name), place)
        elif blocks := [block for block in blocks_of(node) if block]:
            for block in blocks:
                yield from search(block, scope, place)
        elif stores(node, scope, place):
            function = scope.function
            lines = range(function.lineno, (function.end_lineno or 0) + 1) if function else range(0)
            yield Statement(scope.source, node, scope.names, scope.class_name, lines)


def blocks_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def stores(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Does a simple statement store at the place?"""
    if place.is_container:
        return any(fills(part, scope, place) for part in ast.walk(node))
    return any(is_place(target, scope, place) for target in targets(node))


def fills(part: ast.AST, scope: Scope, place: Place) -> bool:
    """Does it put something into the container that the place is?"""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        return part.func.attr in ADDERS and is_place(part.func.value, scope, place)
    if isinstance(part, ast.AugAssign):
        return is_place(part.target, scope, place)
    if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
        return is_place(part.value, scope, place)
    return False


def targets(node: ast.stmt) -> list[ast.expr]:
    """Return the targets of an assignment."""
    found = list(node.targets) if isinstance(node, ast.Assign) else []
    found += [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None else []
    return [part for target in found for part in (target.elts if isinstance(target, ast.Tuple) else [target])]


def is_place(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Is it the place's name, or a local variable that stands for it?"""
    if isinstance(node, ast.Attribute):
        return node.attr == place.name and may_be_owner(node.value, scope, place)
    if not isinstance(node, ast.Name):
        return False
    if place.module and node.id == place.name:
        return is_global(node, scope)
    return place.is_container and scope.function is not None and node.id in aliases(scope, place)


def may_be_owner(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Could the object have the attribute? `self` is of the class around it."""
    if isinstance(node, ast.Name) and node.id == "self" and scope.class_name:
        return any(owner.rpartition(".")[2] == scope.class_name for owner in place.owners)
    return True


def is_global(node: ast.Name, scope: Scope) -> bool:
    """Is the name not a local variable of the function?"""
    if scope.function is None:
        return not scope.class_name
    names = [part for part in ast.walk(scope.function) if isinstance(part, ast.Global)]
    if any(node.id in part.names for part in names):
        return True
    parts = list(ast.walk(scope.function))
    is_assigned = any(
        isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Store) for part in parts
    )
    return not is_assigned and all(part.arg != node.id for part in parts if isinstance(part, ast.arg))


def aliases(scope: Scope, place: Place) -> set[str]:
    """Local variables of the function that are assigned the place."""
    found = set()
    for part in ast.walk(scope.function) if scope.function is not None else ():
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Attribute) and part.value.attr == place.name:
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return found
