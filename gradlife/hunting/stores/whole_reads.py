"""Statements that read all of a container, once, after it was filled, as an evaluation does with its results.

`torch.cat(outputs)` after the loop counts. In a request handler or before the loop it does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradlife.hunting.stores.cuts import where
from gradlife.hunting.stores.emptyings import calls_of
from gradlife.hunting.stores.helpers import parameters_of
from gradlife.hunting.stores.place import Place, PlaceKind, place_at
from gradlife.hunting.stores.place_statements import PUTTERS, fills, is_place, may_mention
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement, parts, statements
from gradlife.model.trace import Trace
from gradlife.source.syntax import Function, called

#: Methods that give all items.
ALL_ITEMS = frozenset({"values", "items", "copy"})

#: Methods that take items out without giving them to be read.
REMOVERS = frozenset({"clear", "remove", "discard"})

#: Functions that do not read the items of their argument: they ignore them or pass the container on. Constructors count
#: as such.
PASSING = PUTTERS | {
    *("len", "print", "id", "type", "isinstance", "hasattr", "setattr", "repr", "str", "bool", "range", "hash", "ref"),
    *("partial", "spawn", "run_in_executor", "create_task", "call_soon", "start_new_thread", "run"),
}

#: Hooks that a training library calls once, at the end of a phase: `on_validation_epoch_end`, `epoch_completed`.
#: Hooks of each batch (`on_train_batch_end`) and of each event (`on_message`) are called again and again.
PHASES = "epoch|fit|train|training|val|validation|test|predict|eval|evaluate|evaluation"
PHASE_END = re.compile(rf"(?:\w*_)?(?:{PHASES})_(?:end|completed)")
END_HOOKS = frozenset({"on_evaluate", "teardown", "teardown_class", "teardown_module", "tearDownClass"})

#: A metric has both methods: a library calls `update` for each batch, `compute` once after them.
COMPUTE, UPDATE = "compute", "update"

#: Deepest chain of calls to follow.
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
    # A filling statement reads the container itself once: `outputs.append(x)`.
    return all(len([*reads(one, place)]) <= (1 if fills(one.node, one.scope, place) else 0) for one in found)


def older_read_of(trace: Trace, at: int, sources: Sequence[Source]) -> str:
    """Return where the program reads more of the container at this step of a trace than its newest items; empty if nowhere."""
    place = place_at(trace.steps[at - 1]) if at > 0 else None
    found = [
        one for one in statements_about(place, sources) if place is not None and not fills(one.node, one.scope, place)
    ]
    first = next((one for one in found if place is not None and reads_older(one, place)), None)
    return where(first) if first is not None else ""


def reads_older(one: Statement, place: Place) -> bool:
    """Whether a statement reads the place, and not only whether it is empty, or its newest items: `kept[-1]`, `kept[-10:]`."""
    skipped: set[int] = set()
    test = getattr(one.node, "test", None)
    for part in parts(one.node):
        match part:
            case ast.Subscript(value=value, slice=ast.UnaryOp(op=ast.USub())):
                skipped.add(id(value))
            case ast.Subscript(value=value, slice=ast.Slice(lower=ast.UnaryOp(op=ast.USub()), upper=None)):
                skipped.add(id(value))
            case ast.Attribute(value=value, attr=name) if name in REMOVERS:
                skipped.add(id(value))
            case ast.UnaryOp(op=ast.Not(), operand=value):
                skipped.add(id(value))
    return any(id(read) not in skipped and read is not test for read in reads(one, place))


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
    if given is not None and any(is_whole(value, scope, place) for value in with_elements(given)):
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
    if not any(is_whole(value, scope, place) for one in values for value in with_elements(one)):
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
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in ALL_ITEMS:
            return is_place(value, scope, place)
    return not isinstance(node, ast.Call) and is_place(node, scope, place)


def with_elements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expression, and the elements of a list, tuple or dict display: `{"outputs": outputs}`."""
    yield node
    if isinstance(node, ast.Tuple | ast.List):
        yield from node.elts
    elif isinstance(node, ast.Dict):
        yield from node.values


def is_after(one: Statement, filling: Sequence[Statement]) -> bool:
    """Whether it follows the first filling statement of its function, or its function fills nothing."""
    here = [each.line for each in filling if each.source is one.source and each.function == one.function]
    return bool(filling) and (not here or min(here) < one.line)


def runs_once(scope: Scope, sources: Sequence[Source], depth: int) -> bool:
    """Whether code in this scope runs at most once, as far as the source tells. A function that no code of the program
    calls is called by a library: once if it is a hook at the end of a phase.
    """
    if scope.is_in_loop:
        return False
    if scope.function is None:
        return True
    name = scope.function.name
    found = [*calls_of(name, sources)]
    if not found:
        return name in END_HOOKS or PHASE_END.fullmatch(name) is not None or (name == COMPUTE and is_in_metric(scope))
    return depth > 0 and all(runs_once(one.scope, sources, depth - 1) for one in found)


def is_in_metric(scope: Scope) -> bool:
    """Whether the class around this scope has the method with which a metric gets each batch."""
    classes = (one for one in ast.walk(scope.source.tree) if isinstance(one, ast.ClassDef))
    own = (one for one in classes if one.name == scope.class_name)
    return any(isinstance(part, Function) and part.name == UPDATE for one in own for part in one.body)
