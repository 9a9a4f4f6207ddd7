"""Limits that a program itself sets to the length of a container: it may still be filling up."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife.hunting.stores.constant_values import given_to_variable
from gradlife.hunting.stores.cuts import COPYING_FUNCTIONS, bound_by, cut_of, length_at
from gradlife.hunting.stores.helpers import called_statements, parameters, returned
from gradlife.hunting.stores.place import Place, PlaceKind, is_container, place_at
from gradlife.hunting.stores.place_statements import assigns, fills, is_place, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement, calls, statements, targets
from gradlife.model.growth import DeclaredBound
from gradlife.model.trace import PathStep, Trace
from gradlife.source.syntax import blocks_of, called, last_name

#: Methods and functions that remove items.
REMOVERS = frozenset({"pop", "popleft", "popitem", "clear", "remove", "discard"})
REMOVING = frozenset({"heappop", "heapreplace", "heappushpop"})

#: Comparisons of a length with its limit, below which a program adds and above which it removes.
BELOW, ABOVE = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE, ast.Eq)

#: The same comparison with its sides exchanged: ``500 > len(kept)``.
EXCHANGED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}

#: The opposite comparison: ``not len(kept) < 500``.
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}

#: Statements that leave a block: those after it run only if its test is false.
LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)

#: Types to which `kept[key] = value` adds no item.
INDEXED = frozenset({"list", "collections.deque"})


@dataclass(frozen=True)
class Container:
    """The container that grows: its place in the program, its length and type, and the name of the object that has it."""

    place: Place
    length: int
    type: str
    owner: str  # as far as the trace tells it


def limit_of(trace: Trace, container: int, sources: Sequence[Source]) -> DeclaredBound | None:
    """Return the limit that the program sets to the container at this step of a trace; None if it sets none.

    A program adds an item only if the length is below the limit, or removes items if it is above.
    """
    steps = trace.steps
    place = place_at(steps[container - 1]) if container > 0 else None
    above = place_at(steps[container - 2]) if container > 1 else None
    if place is None and above is not None and is_container(steps[container - 1]):
        place, above = replace(above, is_item=True), None
    return limit_at(place, above, steps[container], sources) if place is not None else None


def limit_of_items(trace: Trace, container: int, sources: Sequence[Source], inner: PathStep) -> DeclaredBound | None:
    """Return the limit that the program sets to each container inside the one at this step; ``inner``: the longest of them."""
    place = place_at(trace.steps[container - 1]) if container > 0 else None
    return limit_at(replace(place, is_item=True), None, inner, sources) if place is not None else None


def limit_at(place: Place, above: Place | None, step: PathStep, sources: Sequence[Source]) -> DeclaredBound | None:
    """Return the limit that the program sets to the container at a place; ``above``: the place of its owner."""
    length = length_at(step, 0)
    if length is None:  # of a text or a buffer: only a cut tells that it has an end
        return cut_of(statements_of(sources, place), place, step)
    one = Container(place, length, step.type, above.name if above is not None else "")
    whole = statements_of(sources, place)
    found = [statement for statement in whole if "len(" in statement.source.text]
    given = [replace(one, place=parameter) for parameter in parameters(found, place)]
    limits = (removal_above(found, container) for container in (one, *given))
    return addition_below(found, one) or next(filter(None, limits), None) or cut_of(whole, place, step)


def statements_of(sources: Sequence[Source], place: Place) -> list[Statement]:
    """Return the statements of the files that may mention the place."""
    files = [source for source in sources if may_mention(source.text, place)]
    return [statement for source in files for statement in statements(source.tree.body, Scope(source))]


def addition_below(found: Sequence[Statement], one: Container) -> DeclaredBound | None:
    """Return the first limit, if the program adds to the container only where it found it shorter than a limit."""
    adding = [statement for statement in found if adds(statement, one)]
    limits = [(guard, limit) for guard in found if (limit := limit_in(guard, one, BELOW + ABOVE, found))]
    inside = {id(node) for guard, _ in limits for node in shorter(guard, found, one)}
    is_guarded = bool(adding) and all(id(statement.node) in inside for statement in adding)
    return limits[0][1] if limits and is_guarded else None


def removal_above(found: Sequence[Statement], one: Container) -> DeclaredBound | None:
    """Return the first limit above which the program removes items."""
    limits = ((guard, limit) for guard in found if (limit := limit_in(guard, one, ABOVE, found)))
    return next((limit for guard, limit in limits if removes(guard, one.place, found)), None)


def shorter(guard: Statement, found: Sequence[Statement], one: Container) -> Iterator[ast.stmt]:
    """Yield the statements that run only if the guard found the container shorter than its limit."""
    if limit_in(guard, one, BELOW, found):
        yield from inside_of(getattr(guard.node, "body", []))
    if limit_in(guard, one, ABOVE, found):
        yield from inside_of(getattr(guard.node, "orelse", []))
        if isinstance(guard.node, ast.If) and isinstance(guard.node.body[-1], LEAVING):
            yield from inside_of(after(guard, found))


def after(guard: Statement, found: Sequence[Statement]) -> list[ast.stmt]:
    """Return the statements that follow the guard in its block."""
    blocks = [guard.source.tree.body, *(block for one in found for block in blocks_of(one.node))]
    block = next((block for block in blocks if any(node is guard.node for node in block)), [])
    return [node for node in block if node.lineno > guard.node.lineno]


def inside_of(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a block and of all blocks in it."""
    for one in block:
        yield from (part for part in ast.walk(one) if isinstance(part, ast.stmt))


def limit_in(
    guard: Statement, one: Container, signs: tuple[type[ast.cmpop], ...], found: Sequence[Statement]
) -> DeclaredBound | None:
    """Return the limit with which a statement compares the container's length, if the container has not passed it."""
    if not isinstance(guard.node, ast.If | ast.While):
        return None
    limits = (
        bound_by(limit, scope, one.length, guard)
        for length, sign, limit, scope in all_comparisons(guard.node.test, guard.scope, one, found)
        if sign in signs and is_length(length, scope, one, found)
    )
    return next((limit for limit in limits if limit is not None and limit.is_kept), None)


#: A comparison of two values, and where it stands.
Comparison = tuple[ast.expr, type[ast.cmpop], ast.expr, Scope]


def all_comparisons(test: ast.expr, scope: Scope, one: Container, found: Sequence[Statement]) -> Iterator[Comparison]:
    """Yield the comparisons of a test, and of the functions of the program that it calls: `if self.is_full():`."""
    yield from comparisons(test, scope)
    for part in test.values if isinstance(test, ast.BoolOp) else [test]:
        is_negated = isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)
        for value, around in returned(part.operand if isinstance(part, ast.UnaryOp) else part, scope, found, one.place):
            yield from comparisons(ast.UnaryOp(ast.Not(), value) if is_negated else value, around)


def comparisons(test: ast.expr, scope: Scope) -> Iterator[Comparison]:
    """Yield the comparisons of a test, in both directions. A test that the source makes false has none."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            for left, sign, right, around in comparisons(operand, scope):
                if sign in OPPOSITE:
                    yield left, OPPOSITE[sign], right, around
        case ast.BoolOp(op=sign, values=values):
            if isinstance(sign, ast.And) and any(is_false(value, scope.source.tree) for value in values):
                return
            for value in values:
                yield from comparisons(value, scope)
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            yield left, type(sign), right, scope
            if type(sign) in EXCHANGED:
                yield right, EXCHANGED[type(sign)], left, scope


def is_false(node: ast.expr, tree: ast.Module) -> bool:
    """Whether the value is false whatever the program does, as that of `debug = False`."""
    if isinstance(node, ast.Constant):
        return not node.value
    if not isinstance(node, ast.Name):
        return False
    values = list(given_to_variable(node.id, tree))
    return bool(values) and all(isinstance(one, ast.Constant) and one.value in {False} for one in values)


def is_length(node: ast.expr, scope: Scope, one: Container, found: Sequence[Statement] = ()) -> bool:
    """Whether the expression is the length of the container, and not that of another object's container.

    `len(self)` is if the class's `__len__` returns it.
    """
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id="self") as owner]):
            method = ast.Attribute(owner, "__len__")
            return any(is_length(value, around, one) for value, around in returned(method, scope, found, one.place))
        case ast.Call(func=ast.Name(id="len"), args=[container]):
            return is_place(container, scope, one.place) and not is_of_another(container, scope, one.owner)
    return False


def is_of_another(node: ast.expr, scope: Scope, owner: str) -> bool:
    """Whether the expression is an attribute or a key of an object that the program made for another name.

    `replay.items` is another list than `recorder.items`. A parameter, or a name for what a call or another name gave, may
    stand for any object.
    """
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return False
    name = last_name(node.value)
    if not owner or name in {"", "self", "cls", owner}:
        return False
    values = [*given_to(name, scope.source.tree)]
    parameters = [part.arg for part in ast.walk(scope.source.tree) if isinstance(part, ast.arg)]
    return bool(values) and name not in parameters and all(map(makes_object, values))


def given_to(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what the source assigns to variables and attributes of this name, also in `a, b = c, d`."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign | ast.AnnAssign):
            yield from (value_for(target, part) for target in targets(part) if last_name(target) == name)


def value_for(target: ast.expr, node: ast.Assign | ast.AnnAssign) -> ast.expr:
    """Return the part of the assigned value that a target gets; all of it if that is not written out."""
    for one in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(one, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(one.elts) == len(node.value.elts):
            return next((value for part, value in zip(one.elts, node.value.elts, strict=True) if part is target), one)
    return node.value or target


def makes_object(node: ast.expr) -> bool:
    """Whether the expression makes a new object: a dict that is written out, or a call of what is named like a class."""
    if isinstance(node, ast.Call):
        name = last_name(node.func).lstrip("_")
        return name[:1].isupper() or name == "dict"
    return isinstance(node, ast.Dict)


def adds(statement: Statement, one: Container) -> bool:
    """Whether the statement may make the container longer."""
    node, scope = statement.node, statement.scope
    if one.type in INDEXED:
        if any(isinstance(target, ast.Subscript) for target in stored_to(node)):
            return False
        if any(called(call) in REMOVING for call in calls(node)):
            return False
    return fills(node, scope, one.place)


def stored_to(node: ast.stmt) -> list[ast.expr]:
    """Return the targets of an assignment."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AugAssign) else []


def removes(guard: Statement, place: Place, found: Sequence[Statement]) -> bool:
    """Whether a statement inside, or a function of the program that it calls, removes items or replaces the container."""
    inside = [*body_of(guard.node)]
    return any(is_removal(node, guard.scope, place) for node in inside) or any(
        is_removal(one, scope, there) and not rebinds(one, there)
        for node in inside
        for one, scope, there in called_statements(node, guard.scope, found, place)
    )


def rebinds(node: ast.stmt, place: Place) -> bool:
    """Whether the statement gives a variable another value: what it was given keeps its items."""
    return place.kind is PlaceKind.LOCAL and any(isinstance(one, ast.Name) for one in targets(node))


def body_of(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements of a block that runs if the test is true."""
    for block in list(blocks_of(node))[:1]:
        yield from inside_of(block)


def is_removal(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Whether the statement removes items from the container or replaces it."""
    for call in calls(node):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in REMOVERS
            and is_place(call.func.value, scope, place)
        ):
            return True
        if called(call) in REMOVING and call.args and is_place(call.args[0], scope, place):
            return True
    if isinstance(node, ast.Delete):
        return any(isinstance(one, ast.Subscript) and is_place(one.value, scope, place) for one in node.targets)
    return assigns(node, scope, place) and not is_copy(getattr(node, "value", None), scope, place)


def is_copy(node: ast.expr | None, scope: Scope, place: Place) -> bool:
    """Whether the expression has all items of the place: `[*place]`, `list(place)`, `place.copy()`, `place[:]`."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return any(isinstance(one, ast.Starred) and is_place(one.value, scope, place) for one in items)
        case ast.Call(func=ast.Name(id=name), args=[one]):
            return name in COPYING_FUNCTIONS | {"sorted", "dict", "set"} and is_place(one, scope, place)
        case ast.Call(func=ast.Attribute(value=one, attr="copy")):
            return is_place(one, scope, place)
        case ast.Subscript(value=one, slice=ast.Slice(lower=None, upper=None, step=None)):
            return is_place(one, scope, place)
    return False
