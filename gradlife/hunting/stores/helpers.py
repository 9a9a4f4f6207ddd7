"""The program's own functions behind a test or a removal: `if self.is_full():`, `self._evict()`, `len(self)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.stores.place import Place, PlaceKind
from gradlife.hunting.stores.place_statements import is_place
from gradlife.hunting.stores.statements import Scope, Statement, calls
from gradlife.source.syntax import Function, last_name

#: Decorators of methods that have no ``self``.
STATIC = "staticmethod"


def functions_called(name: ast.expr, scope: Scope, found: Sequence[Statement], place: Place) -> list[Statement]:
    """Return the functions that the called expression may mean: those of the file, or methods of the own class."""
    match name:
        case ast.Name(id=wanted):
            classes = {""}
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=wanted) if scope.class_name:
            classes = {scope.class_name}
            if any(last_part(owner) in classes for owner in place.owners):
                classes |= {last_part(owner) for owner in place.owners}
        case _:
            return []
    return [
        one
        for one in found
        if isinstance(one.node, Function) and one.node.name == wanted and one.scope.class_name in classes
    ]


def last_part(name: str) -> str:
    """`Cache` of `package.module.Cache`."""
    return name.rpartition(".")[2]


def statements_inside(function: Statement, found: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements of a function, also those of its blocks."""
    return (one for one in found if any(around is function.node for around in one.scope.functions))


def returned(
    node: ast.expr, scope: Scope, found: Sequence[Statement], place: Place
) -> Iterator[tuple[ast.expr, Scope]]:
    """Yield what the functions return that the expression calls, or reads as properties; with their scopes."""
    name = node.func if isinstance(node, ast.Call) else node
    for function in functions_called(name, scope, found, place):
        for one in statements_inside(function, found):
            if isinstance(one.node, ast.Return) and one.node.value is not None:
                yield one.node.value, one.scope


def parameters(found: Sequence[Statement], place: Place) -> Iterator[Place]:
    """Yield the parameters of the program's functions that are given the container."""
    for one in found:
        for call in calls(one.node):
            given = [(number, value) for number, value in enumerate(call.args) if is_place(value, one.scope, place)]
            keywords = [value.arg for value in call.keywords if is_place(value.value, one.scope, place)]
            if given or keywords:
                yield from parameters_of(call, one.scope, found, place, [number for number, _ in given], keywords)


def parameters_of(
    call: ast.Call,
    scope: Scope,
    found: Sequence[Statement],
    place: Place,
    positions: Sequence[int],
    keywords: Sequence[str | None],
) -> Iterator[Place]:
    """Yield the parameters of the called functions at these positions and of these names."""
    for function in functions_called(call.func, scope, found, place):
        node = function.node
        assert isinstance(node, Function)
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        if function.scope.class_name and not any(last_name(one) == STATIC for one in node.decorator_list):
            names = names[1:]
        qualified = ".".join((*function.scope.names, node.name))
        named = [one for one in (*names, *(one.arg for one in node.args.kwonlyargs)) if one in keywords]
        for name in (*(names[at] for at in positions if at < len(names)), *named):
            yield Place(name, PlaceKind.LOCAL, function=qualified)


def called_statements(
    node: ast.stmt, scope: Scope, found: Sequence[Statement], place: Place
) -> Iterator[tuple[ast.stmt, Scope, Place]]:
    """Yield the statements that a statement runs by calling the program's functions, with the container's place there."""
    for call in calls(node):
        positions = [number for number, value in enumerate(call.args) if is_place(value, scope, place)]
        keywords = [value.arg for value in call.keywords if is_place(value.value, scope, place)]
        given = list(parameters_of(call, scope, found, place, positions, keywords))
        for function in functions_called(call.func, scope, found, place):
            for one in statements_inside(function, found):
                yield from ((one.node, one.scope, there) for there in (place, *given))
