"""Statements that read all of a container, once, after it was filled: an evaluation gathers its results for that.

`torch.cat(outputs)` after the loop is one, the same in the handler of a request, or before the loop, is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.stores.emptyings import calls_of
from gradlife.hunting.stores.helpers import parameters_of
from gradlife.hunting.stores.limits import where
from gradlife.hunting.stores.place import Place, PlaceKind, place_at
from gradlife.hunting.stores.place_statements import PUTTERS, fills, is_place, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Function, Scope, Statement, called, parts, statements
from gradlife.model.trace import Trace

#: Methods that give all items.
VIEWS = frozenset({"values", "items", "copy"})

#: Functions that do not read what is in their argument, or pass it to another function. So do calls of classes.
PASSING = PUTTERS | {
    *("len", "print", "id", "type", "isinstance", "hasattr", "setattr", "repr", "str", "bool", "range", "hash", "ref"),
    *("partial", "spawn", "run_in_executor", "create_task", "call_soon", "start_new_thread", "run"),
}

#: The ends of names, and the beginning, of methods that a library calls once after what they end.
ENDINGS = ("_end", "_completed", "teardown", "compute")
HOOK = "on_"

#: Most calls of calls that are followed.
MAX_DEPTH = 4


def whole_read_of(trace: Trace, at: int, sources: Sequence[Source]) -> str:
    """Return where the program reads all of the container at this step of a trace, once: ``eval.py:30``; empty if nowhere."""
    place = place_at(trace.steps[at - 1]) if at > 0 else None
    found = statements_about(place, sources)
    if place is None:
        return ""
    filling = [one for one in found if fills(one.node, one.scope, place)]
    reading = (one for one in found if reads_all(one, found, place, MAX_DEPTH))
    first = next((one for one in reading if is_after(one, filling) and runs_once(one.scope, sources, MAX_DEPTH)), None)
    return where(first) if first is not None else ""


def is_only_filled(trace: Trace, at: int, sources: Sequence[Source]) -> bool:
    """Whether the program only fills the container at this step of a trace: nothing but its length is ever read."""
    place = place_at(trace.steps[at - 1]) if at > 0 else None
    found = statements_about(place, sources)
    if place is None or not any(fills(one.node, one.scope, place) for one in found):
        return False
    return all(len([*reads(one, place)]) <= fills(one.node, one.scope, place) for one in found)


def statements_about(place: Place | None, sources: Sequence[Source]) -> list[Statement]:
    """Return the statements of the files that may mention the place."""
    files = [source for source in sources if place is not None and may_mention(source.text, place)]
    return [one for source in files for one in statements(source.tree.body, Scope(source))]


def reads(one: Statement, place: Place) -> Iterator[ast.expr]:
    """Yield the parts of a statement that are the place, without those it assigns and those of `len(place)`."""
    found = [*parts(one.node)]
    lengths = {id(call.args[0]) for call in found if isinstance(call, ast.Call) and called(call) == "len" and call.args}
    values = [part for part in found if isinstance(part, ast.expr) and id(part) not in lengths]
    values = [part for part in values if isinstance(getattr(part, "ctx", ast.Load()), ast.Load)]
    yield from (part for part in values if is_place(part, one.scope, place))


def reads_all(one: Statement, found: Sequence[Statement], place: Place, depth: int) -> bool:
    """Whether the statement reads all items, or returns them to be read."""
    scope = one.scope
    if isinstance(one.node, ast.For | ast.AsyncFor) and is_whole(one.node.iter, scope, place):
        return True
    given = one.node.value if isinstance(one.node, ast.Return) and place.kind is PlaceKind.LOCAL else None
    if given is not None and any(is_whole(value, scope, place) for value in displayed(given)):
        return True
    for part in parts(one.node):
        match part:
            case ast.comprehension(iter=value) | ast.Starred(value=value) if is_whole(value, scope, place):
                return True
            case ast.Call() if is_reading_call(part, scope, found, place, depth):
                return True
    return False


def is_reading_call(call: ast.Call, scope: Scope, found: Sequence[Statement], place: Place, depth: int) -> bool:
    """Whether the call is given the container and reads it: a library's function, or one of the program that does."""
    values = [*call.args, *(one.value for one in call.keywords)]
    if not any(is_whole(value, scope, place) for one in values for value in displayed(one)):
        return False
    name = called(call)
    if any(isinstance(one.node, Function | ast.ClassDef) and one.node.name == name for one in found):
        return depth > 0 and any(
            reads_all(one, found, there, depth - 1) for there in given_to(call, scope, found, place) for one in found
        )
    return name not in PASSING and not name.lstrip("_")[:1].isupper()


def given_to(call: ast.Call, scope: Scope, found: Sequence[Statement], place: Place) -> Iterator[Place]:
    """Yield the parameters of the program's function that get the container."""
    positions = [number for number, value in enumerate(call.args) if is_whole(value, scope, place)]
    keywords = [one.arg for one in call.keywords if is_whole(one.value, scope, place)]
    return parameters_of(call, scope, found, place, positions, keywords)


def is_whole(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the expression is the container, or a call that gives all its items."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in VIEWS:
            return is_place(value, scope, place)
    return not isinstance(node, ast.Call) and is_place(node, scope, place)


def displayed(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expression, and those that it is written out of: `{"outputs": outputs}`."""
    yield node
    if isinstance(node, ast.Tuple | ast.List):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from node.values


def is_after(one: Statement, filling: Sequence[Statement]) -> bool:
    """Whether a statement that fills the container in the same function comes first, or all are elsewhere."""
    here = [each.line for each in filling if each.source is one.source and each.function == one.function]
    return bool(filling) and (not here or min(here) < one.line)


def runs_once(scope: Scope, sources: Sequence[Source], depth: int) -> bool:
    """Whether what is there runs in no loop, as far as the source tells. The handler of a request is called by a library."""
    if scope.is_in_loop:
        return False
    if scope.function is None:
        return True
    name = scope.function.name
    found = [*calls_of(name, sources)]
    if not found:
        return name.startswith(HOOK) or name.endswith(ENDINGS)
    return depth > 0 and all(runs_once(one.scope, sources, depth - 1) for one in found)
