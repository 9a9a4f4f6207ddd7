"""Statements that an edit is about: the last use of a name, the call that fills a container, `zero_grad()`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence

from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.program import Function, Source, Spot, blocks, spot_at

#: Methods that only add to a container.
ADDING = frozenset({"append", "add", "appendleft"})


def frame_of_name(holder: Holder, frames: Sequence[Frame]) -> Frame | None:
    """The frame of a stack in which a name is a variable."""
    for frame in frames:
        if is_same_file(frame[0], holder.file) and (holder.kind is Kind.GLOBAL or frame[2] == holder.function):
            return frame
    return None


def is_same_file(one: str, other: str) -> bool:
    """Are both the same file?"""
    return one == other or (bool(other) and os.path.abspath(one) == os.path.abspath(other))


def append_of(function: Function, name: str) -> Spot | None:
    """The only statement that adds to a container, if nothing reads the container."""
    spots = [one for one in all_spots(function.body, ()) if is_adding(one.statement, name)]
    own = {id(node) for spot in spots for node in ast.walk(spot.statement)}
    others = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and node.id == name
        and id(node) not in own
        and not isinstance(node.ctx, ast.Store)
    ]
    return spots[0] if len(spots) == 1 and not others else None


def is_adding(statement: ast.stmt, name: str) -> bool:
    """Is it ``name.append(other)``, with nothing in it but names?"""
    if not isinstance(statement, ast.Expr) or not isinstance(call := statement.value, ast.Call):
        return False
    method = call.func
    is_method = isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == name
    is_plain = len(call.args) == 1 and isinstance(call.args[0], ast.Name) and not call.keywords
    return is_method and is_plain and isinstance(method, ast.Attribute) and method.attr in ADDING


def all_spots(block: Sequence[ast.stmt], outer: tuple[Spot, ...]) -> Iterator[Spot]:
    """All statements below one another that run in one frame."""
    for index, statement in enumerate(block):
        spot = Spot(block, index, outer)
        yield spot
        for inner in blocks(statement):
            yield from all_spots(inner, (*outer, spot))


def zeroing_after_step(function: Function, line: int) -> tuple[Spot, Spot] | None:
    """The optimizer's step at a line, and the only ``zero_grad()`` of the function, in the same block."""
    step = spot_at(function, line)
    if step is None or not calls(step.statement, "step"):
        return None
    found = [one for one in all_spots(function.body, ()) if calls(one.statement, "zero_grad")]
    if len(found) != 1 or found[0].block is not step.block or found[0].index == step.index + 1:
        return None
    return step, found[0]


def calls(statement: ast.stmt, method: str) -> bool:
    """Is the statement a call of a method, and nothing else?"""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method


def assigns_call(statement: ast.stmt, name: str) -> bool:
    """Is the statement `name = function(...)`?"""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id == name and isinstance(statement.value, ast.Call)


def imports_torch(source: Source) -> bool:
    """Is torch a name of the file?"""
    imports = (node for node in source.tree.body if isinstance(node, ast.Import))
    return any(alias.name == "torch" and alias.asname is None for node in imports for alias in node.names)


def owner_in(statement: ast.stmt, attribute: str) -> str:
    """How a statement writes the object that has an attribute."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            return ast.unparse(node.value)
    return "self"


def is_read_besides(source: Source, spot: Spot, attribute: str) -> bool:
    """Is an attribute read anywhere but in one statement and those above it in its block, or is that in a loop?"""
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
