"""Statements that may empty what grows: `self.outputs.clear()`, `losses = []` in a loop, the next call of a function.

They show that an epoch may end later than the first verdict. Whether anything is emptied, the later snapshots tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradlife.hunting.stores.cuts import mentions, where
from gradlife.hunting.stores.limits import REMOVERS, inside_of
from gradlife.hunting.stores.place import Place, PlaceKind, places_outward
from gradlife.hunting.stores.place_statements import assigns, is_place, is_target, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement, calls, statements
from gradlife.model.trace import Trace
from gradlife.source.syntax import called

#: Methods that give an attribute its first value.
INITIALIZERS = frozenset({"__init__", "__new__", "__post_init__", "__setstate__"})

#: Expressions in which a call is repeated.
REPEATING = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

#: Most calls of calls that are followed to a loop.
MAX_DEPTH = 4


def emptying_of(trace: Trace, at: int, sources: Sequence[Source]) -> str:
    """Return where the program may empty or replace the object at this step of a trace: ``train.py:18``; empty if nowhere.

    Its holders count, too: a meter that is made anew in each epoch has a new list.
    """
    for number, place in places_outward(trace.steps, at - 1):
        files = [source for source in sources if may_mention(source.text, place)]
        found = [one for source in files for one in statements(source.tree.body, Scope(source))]
        is_nearest = number == at - 1
        own = (one for one in found if is_reset(one, place) or (is_nearest and takes_all(one, place)))
        first = next(own, None) or function_called_again(place, sources)
        if first is not None:
            return where(first)
    return ""


def takes_all(one: Statement, place: Place) -> bool:
    """Whether the statement takes all or many items out of the container: `x.clear()`, `del x[:]`, `while x: x.pop()`."""
    if isinstance(one.node, ast.While) and mentions(one.node.test, one.scope, place):
        return any(takes(node, one.scope, place, REMOVERS) for node in inside_of(one.node.body))
    return takes(one.node, one.scope, place, frozenset({"clear"})) or any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Slice)
        and is_place(target.value, one.scope, place)
        for target in (one.node.targets if isinstance(one.node, ast.Delete | ast.Assign) else ())
    )


def takes(node: ast.stmt, scope: Scope, place: Place, methods: frozenset[str]) -> bool:
    """Whether the statement calls one of these methods of the container."""
    found = (call.func for call in calls(node) if isinstance(call.func, ast.Attribute))
    return any(one.attr in methods and is_place(one.value, scope, place) for one in found)


def is_reset(one: Statement, place: Place) -> bool:
    """Whether the statement gives the place a value that is not made of the old one, or deletes it, and not only once."""
    node, scope = one.node, one.scope
    is_repeated = scope.is_in_loop if place.kind is PlaceKind.LOCAL or scope.function is None else True
    if not is_repeated or (scope.function is not None and scope.function.name in INITIALIZERS):
        return False
    if isinstance(node, ast.Delete):
        return any(not isinstance(part, ast.Subscript) and is_target(part, scope, place) for part in node.targets)
    if isinstance(node, ast.AugAssign) or not assigns(node, scope, place):
        return False
    value = getattr(node, "value", None)
    return value is None or not mentions(value, scope, place)


def function_called_again(place: Place, sources: Sequence[Source]) -> Statement | None:
    """Return a call that repeats the function whose variable this is: in a loop, or one of several."""
    if place.kind is not PlaceKind.LOCAL or place.captured_at:
        return None
    return repeated_call(place.function.rpartition(".")[2], sources, MAX_DEPTH)


def repeated_call(name: str, sources: Sequence[Source], depth: int) -> Statement | None:
    """Return a call of a function of this name that is repeated, perhaps because the function around it is."""
    found = [*calls_of(name, sources)]
    for one in found:
        function = one.scope.function
        if one.scope.is_in_loop or is_in_comprehension(one, name) or len(found) > 1:
            return one
        if depth and function is not None and function.name != name:
            around = repeated_call(function.name, sources, depth - 1)
            if around is not None:
                return around
    return None


def calls_of(name: str, sources: Sequence[Source]) -> Iterator[Statement]:
    """Yield the statements that call a function of this name."""
    for source in sources:
        if f"{name}(" in source.text:
            for one in statements(source.tree.body, Scope(source)):
                if any(called(call) == name for call in calls(one.node)):
                    yield one


def is_in_comprehension(one: Statement, name: str) -> bool:
    """Whether the statement calls the function for each item of something."""
    repeating = (part for part in ast.walk(one.node) if isinstance(part, REPEATING))
    return any(isinstance(part, ast.Call) and called(part) == name for outer in repeating for part in ast.walk(outer))
