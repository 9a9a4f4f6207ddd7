"""The functions of a program that would take items out of what grows, if anything called them: `close`, `unload`, `reset`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.emptyings import INITIALIZERS, calls_of
from gradlife.hunting.stores.limits import is_removal
from gradlife.hunting.stores.place import Place, place_at
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement
from gradlife.hunting.stores.stored_at import Evidence
from gradlife.hunting.stores.whole_reads import statements_about
from gradlife.model.trace import Trace
from gradlife.safe_access import has_method, member


def unused_remover_of(trace: Trace, at: int, evidence: Evidence, sources: Sequence[Source]) -> str:
    """Return the function that takes items out of the container at this step of a trace, if nothing that runs calls it:
    ``Client.close (client.py:30)``; else empty.
    """
    place = place_at(trace.steps[at - 1]) if at > 0 else None
    if place is None:
        return ""
    removals = [*removals_of(place, sources)]
    if not removals or any(map(evidence.has_run, removals)):
        return ""
    if any(is_called_by_library(one, place, sources) for one in removals):
        return ""
    unused = [unused_caller(one.scope, sources, frozenset()) for one in removals]
    first = unused[0]
    if first is None or None in unused:
        return ""
    return f"{first.qualified} ({short_path(first.source.file)}:{first.functions[-1].lineno})"


def removals_of(place: Place, sources: Sequence[Source]) -> Iterator[Statement]:
    """Yield the statements that take items out of the container, or replace it, but for those that give its first value."""
    for one in statements_about(place, sources):
        function = one.scope.function
        is_first = one.runs_once or (function is not None and function.name in INITIALIZERS)
        if not is_first and is_removal(one.node, one.scope, place):
            yield one


def is_called_by_library(one: Statement, place: Place, sources: Sequence[Source]) -> bool:
    """Whether the function replaces a method of a library's class, which the library may call."""
    function = one.scope.function
    if function is None or not one.scope.class_name:
        return False
    program = {source.module for source in sources}
    owners = (owner.rpartition(".") for owner in place.owners)
    kinds = (member(module, name) for module, _, name in owners if module not in program)
    return any(isinstance(kind, type) and has_method(kind, function.name) for kind in kinds)


def unused_caller(scope: Scope, sources: Sequence[Source], above: frozenset[str]) -> Scope | None:
    """Return this function, or one that leads to it, which nothing calls; None if something calls it that runs, or has it as
    a value: a hook, a callback.
    """
    name = scope.function.name if scope.function is not None else ""
    if not name or name in above or is_special(name) or is_value(name, sources):
        return None
    callers = [unused_caller(one.scope, sources, above | {name}) for one in calls_of(name, sources)]
    if not callers:
        return scope
    return None if None in callers else callers[0]


def is_special(name: str) -> bool:
    """Whether the interpreter calls the method: `__exit__`, `__del__`."""
    return name.startswith("__") and name.endswith("__")


def is_value(name: str, sources: Sequence[Source]) -> bool:
    """Whether the program has what bears this name as a value, which something else may call."""
    for source in sources:
        if name in source.text:
            found = [*ast.walk(source.tree)]
            called = {id(one.func) for one in found if isinstance(one, ast.Call)}
            if any(is_named(one, name) and id(one) not in called for one in found):
                return True
    return False


def is_named(node: ast.AST, name: str) -> bool:
    """Whether the expression reads a variable or an attribute of this name."""
    match node:
        case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(attr=found, ctx=ast.Load()):
            return found == name
    return False
