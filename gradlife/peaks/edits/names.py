"""Statements that an edit is about: the last use of a name, the call that fills a container."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set as AbstractSet
from functools import cache

from gradlife.heap.program_modules import absolute
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.program import (
    LINE_END,
    MODULE,
    Function,
    Source,
    Spot,
    blocks,
    function_of,
    is_named,
    mentions,
    source_of,
)
from gradlife.source.containers import APPENDING, KEEPING

#: Methods that only copy a tensor.
COPYING = frozenset({"detach", "clone", "cpu", "float"})


def frame_of_name(holder: Holder, frames: Sequence[Frame]) -> Frame | None:
    """Return the frame of a stack that has the name as a variable."""
    for frame in frames:
        if is_same_file(frame[0], holder.file) and has_variable(frame, holder):
            return frame
        if holder.kind is Kind.GLOBAL and not holder.file and frame[2] == MODULE:
            return frame  # a cell of a notebook
    return None


def has_variable(frame: Frame, holder: Holder) -> bool:
    """Whether a frame of the holder's file has the variable, or uses it if it is a global one."""
    if holder.kind is not Kind.GLOBAL or frame[2] == MODULE:
        return frame[2] == holder.function or holder.kind is Kind.GLOBAL
    return uses_global(*frame, holder.name)


@cache
def uses_global(file: str, line: int, qualified: str, name: str) -> bool:
    """Whether a function uses a global variable, and none of its own with that name; true if its source is unknown."""
    source = source_of(file)
    function = function_of(source, qualified, line) if source is not None else None
    if function is None:
        return True
    nodes = list(ast.walk(function))
    is_declared = any(isinstance(node, ast.Global) and name in node.names for node in nodes)
    return is_declared or (mentions(function, name) and not is_bound_by(function, LINE_END, name))


def is_same_file(one: str, other: str) -> bool:
    """Whether both names mean the same file."""
    return one == other or (bool(other) and absolute(one) == absolute(other))


def store_of(tree: Function, name: str, path: str = "") -> Spot | None:
    """Return the only statement that stores to a name which nothing reads; an attribute has a dot before its name.

    For a container, whose item is at ``path``, it is the statement that adds the item; others may create the container.
    """
    every = every_spot(tree)
    adding = [one for one in every if is_adding(one.statement, name)]
    stores = adding if path else [one for one in every if is_plain_store(one.statement, name)]
    own = {id(node) for spot in stores for node in ast.walk(spot.statement)}
    ours = [one for one in stores if may_store_at(one.statement, path)]
    return ours[0] if len(ours) == 1 and not may_read(tree, name, own) else None


def store_of_computed(tree: Function, name: str) -> Spot | None:
    """Return the only statement that stores to an attribute which nothing reads, whatever computes the value.

    The computing may have effects, so that no edit drops the statement. A store of a constant, such as None, is none.
    """
    ours = [one for one in every_spot(tree) if is_store(one.statement, name)]
    return ours[0] if len(ours) == 1 and not may_read(tree, name, frozenset()) else None


def every_spot(tree: Function) -> list[Spot]:
    """Return the statements of a tree and of all functions in it."""
    return [spot for part in (tree, *inner_functions(tree)) for spot in all_spots(part.body, ())]


def may_read(tree: Function, name: str, left_out: AbstractSet[int]) -> bool:
    """Whether a tree reads a name, or may read it without a mention. ``left_out``: the nodes of statements that store to it."""
    others = [node for node in ast.walk(tree) if is_named(node, name) and id(node) not in left_out]
    is_read = any(not isinstance(getattr(node, "ctx", None), ast.Store) for node in others)
    return is_read or any(is_reflection(node, name) for node in outside_getattr(tree))


def outside_getattr(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes in it, but for `__getattr__`: it passes on names that are written elsewhere."""
    if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from outside_getattr(child)


def may_store_at(statement: ast.stmt, path: str) -> bool:
    """Whether a statement that adds to a container may have added the item at a path, such as ``['loss'][0]``."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    key = target.slice if isinstance(target, ast.Subscript) else None
    return not isinstance(key, ast.Constant) or not path or path.startswith(f"[{key.value!r}]")


def inner_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions inside a tree, at any depth."""
    for node in ast.walk(tree):
        if node is not tree and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_reflection(node: ast.AST, name: str) -> bool:
    """Whether a call may read a name that it does not mention as such: also ``getattr(one, "name")``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id == "getattr" and node.args[1:] and isinstance(node.args[1], ast.Constant):
        return node.args[1].value == name.removeprefix(".")
    return node.func.id in {"vars", "globals", "locals", "eval", "exec", "getattr"}


def is_filling(statement: ast.stmt, name: str) -> bool:
    """Whether a statement adds to a container of that name, whatever it adds."""
    if isinstance(statement, ast.AugAssign):
        return is_named(statement.target, name)
    if isinstance(statement, ast.Assign):
        return any(isinstance(one, ast.Subscript) and is_named(one.value, name) for one in statement.targets)
    call = statement.value if isinstance(statement, ast.Expr) else None
    method = call.func if isinstance(call, ast.Call) else None
    return isinstance(method, ast.Attribute) and is_named(method.value, name) and method.attr in APPENDING


def is_plain_store(statement: ast.stmt, name: str) -> bool:
    """Whether the statement is ``name = value`` with a value that has no effect: a name, or its `detach()`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not is_named(statement.targets[0], name):
        return False
    return not isinstance(statement.value, ast.Constant) and is_plain_value(statement.value)


def is_store(statement: ast.stmt, name: str) -> bool:
    """Whether the statement is ``name = value`` with a value that is no constant."""
    if not isinstance(statement, ast.Assign) or not any(is_named(target, name) for target in statement.targets):
        return False
    return not isinstance(statement.value, ast.Constant)


def is_plain_value(value: ast.expr) -> bool:
    """Whether the value is a name, an attribute, or a call that only copies one."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in COPYING:
        return not value.args and not value.keywords and is_plain_value(value.func.value)
    if isinstance(value, ast.Attribute):
        return is_plain_value(value.value)
    return isinstance(value, ast.Name)


def is_adding(statement: ast.stmt, name: str) -> bool:
    """Whether the statement is ``name.append(value)`` or ``name[key] = value``, with a value that has no effect."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        is_item = isinstance(target, ast.Subscript) and is_named(target.value, name)
        return is_item and is_plain_value(statement.value)
    if not isinstance(statement, ast.Expr) or not isinstance(call := statement.value, ast.Call):
        return False
    method = call.func
    is_plain = len(call.args) == 1 and is_plain_value(call.args[0]) and not call.keywords
    return isinstance(method, ast.Attribute) and is_named(method.value, name) and is_plain and method.attr in APPENDING


def stores_to(statement: ast.stmt, name: str) -> bool:
    """Whether a statement binds one name or attribute alone to what it makes, or adds that to a container."""
    if is_filling(statement, name):
        return True
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return any(is_named(one, name) for one in target.elts)
    return is_named(target, name)


def all_spots(block: Sequence[ast.stmt], outer: tuple[Spot, ...]) -> Iterator[Spot]:
    """Yield all statements of a block and of the blocks in it that run in one frame."""
    for index, statement in enumerate(block):
        spot = Spot(block, index, outer)
        yield spot
        for inner in blocks(statement):
            yield from all_spots(inner, (*outer, spot))


def yield_of(function: Function, name: str) -> Spot | None:
    """Return the only statement of a generator that yields a name."""
    spots = [one for one in all_spots(function.body, ()) if is_yield(one.statement)]
    found = [one for one in spots if mentions(one.statement, name)]
    return found[0] if len(found) == 1 else None


def is_yield(statement: ast.stmt) -> bool:
    """Whether the statement only yields."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield)


def is_value_of_yield(statement: ast.stmt, name: str) -> bool:
    """Whether the statement computes from a name what it yields, and does not yield the name itself."""
    values = [node.value for node in ast.walk(statement) if isinstance(node, ast.Yield) and node.value is not None]
    items = [item for value in values for item in items_of(value)]
    is_yielded = any(isinstance(item, ast.Name) and item.id == name for item in items)
    return not is_yielded and any(mentions(item, name) for item in items)


def value_yielded(function: Function, spot: Spot, name: str) -> ast.Assign | None:
    """Return the assignment directly above `yield name` if nothing else mentions the name."""
    yielded = spot.statement.value if isinstance(spot.statement, ast.Expr) else None
    value = yielded.value if isinstance(yielded, ast.Yield) else None
    return value_above(function, spot, name) if isinstance(value, ast.Name) else None


def is_passed_on(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is a call that gets a name as an argument, or assigns or returns its result."""
    call = getattr(statement, "value", None)
    arguments = [*call.args, *(one.value for one in call.keywords)] if isinstance(call, ast.Call) else []
    return sum(mentions(one, name) for one in ast.walk(statement) if isinstance(one, ast.Name)) == 1 and any(
        isinstance(one, ast.Name) and one.id == name for one in arguments
    )


def value_passed(function: Function, spot: Spot, name: str) -> ast.Assign | None:
    """Return the assignment directly above a call with a name as its first argument, if nothing else mentions it."""
    call = getattr(spot.statement, "value", None)
    if not isinstance(call, ast.Call) or not call.args or not is_plain_value(call.func):
        return None
    is_first = isinstance(call.args[0], ast.Name) and call.args[0].id == name
    above = value_above(function, spot, name) if is_first else None
    is_simple = above is not None and isinstance(above.value, ast.Call | ast.BinOp | ast.Subscript | ast.Attribute)
    return above if is_simple else None


def value_above(function: Function, spot: Spot, name: str) -> ast.Assign | None:
    """Return the assignment to a name directly above the statement that reads it, if nothing else mentions it."""
    above = spot.block[spot.index - 1] if spot.index else None
    count = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(function))
    if not isinstance(above, ast.Assign) or count != 2:
        return None
    target = above.targets[0]
    return above if isinstance(target, ast.Name) and target.id == name and len(above.targets) == 1 else None


def kept_exceptions(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield the names of caught exceptions that a handler assigns to another name, or adds to a container."""
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name:
            for node in ast.walk(handler):
                for value in values_stored(node):
                    if isinstance(value, ast.Name) and value.id == handler.name:
                        yield value


def values_stored(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a node assigns or adds to a container; of a list, tuple or dict its items."""
    stored: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        stored = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KEEPING:
        stored = node.args
    for value in stored:
        yield from items_of(value)


def items_of(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the items of a list, tuple or dict, of nested ones too; another value is its own item."""
    inner: list[ast.expr] | None = None
    if isinstance(value, ast.List | ast.Tuple):
        inner = value.elts
    elif isinstance(value, ast.Dict):
        inner = value.values
    if inner is None:
        yield value
    for one in inner or ():
        yield from items_of(one)


def calls(statement: ast.stmt, method: str) -> bool:
    """Whether the statement is only a call of this method."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method


def is_bound_by(function: Function, line: int, name: str) -> bool:
    """Whether a name is an argument of the function, or bound in it up to a line."""
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) and node.lineno <= line)
        for node in ast.walk(function)
    )


def is_argument(function: Function, name: str) -> bool:
    """Whether a name is an argument of the function."""
    arguments = [] if isinstance(function, ast.Module) else ast.walk(function.args)
    return any(isinstance(node, ast.arg) and node.arg == name for node in arguments)


def imports_torch(source: Source) -> bool:
    """Whether the file imports torch under that name."""
    imports = (node for node in source.tree.body if isinstance(node, ast.Import))
    return any(alias.name == "torch" and alias.asname is None for node in imports for alias in node.names)


def owner_in(statement: ast.stmt, attribute: str) -> str:
    """Return the object of an attribute as a statement writes it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            return ast.unparse(node.value)
    return "self"


def is_inner_name(statement: ast.stmt, owner: str) -> bool:
    """Whether an object's name, as `owner_in` returns it, exists only within a comprehension or lambda of a statement."""
    name = re.split(r"\W", owner)[0]
    targets = (node.target for node in ast.walk(statement) if isinstance(node, ast.comprehension))
    bound = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    arguments = (node.args for node in ast.walk(statement) if isinstance(node, ast.Lambda))
    return name in bound | {one.arg for args in arguments for one in ast.walk(args) if isinstance(one, ast.arg)}


def is_read_besides(source: Source, spot: Spot, attribute: str) -> bool:
    """Whether the attribute is read elsewhere than up to this statement in its block. In a loop, the statements
    above count as elsewhere.
    """
    own = {id(node) for one in spot.block[: spot.index + 1] for node in ast.walk(one)}
    if any(isinstance(outer.statement, ast.For | ast.AsyncFor | ast.While) for outer in spot.outer):
        own = {id(node) for node in ast.walk(spot.statement)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.ctx, ast.Load)
        and id(node) not in own
        for node in ast.walk(source.tree)
    )
