"""`zero_grad()` moved to below the optimizers' steps, so that the next forward pass finds no gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.peaks.edits.names import all_spots, calls, owner_in
from gradlife.peaks.edits.other_files import other_sources
from gradlife.peaks.sources.program import Function, Source, Spot, spot_at
from gradlife.source.syntax import last_name

#: What a moved `zero_grad()` would change: code that reads gradients, and passes that add to them.
READING = frozenset({"grad", "backward", "manual_backward"})

#: The same within the loop of the steps: outside of it, an optimizer is made of parameters.
READING_IN_LOOP = READING | {"parameters", "named_parameters"}


@dataclass(frozen=True)
class MovedZeroing:
    """A call of `zero_grad()`, and the step below which it could stand."""

    step: Spot
    zeroing: Spot
    reader: ast.AST | None  # what would find other gradients then


def moved_zeroing(source: Source, function: Function, line: int) -> MovedZeroing | None:
    """Return how to move the only `zero_grad()` for the optimizer whose step is at a line; None if it stands well."""
    step = spot_at(function, line)
    if step is None or not calls(step.statement, "step"):
        return None
    every = [one for one in all_spots(function.body, ()) if calls(one.statement, "zero_grad")]
    owned = [one for one in every if owner_in(one.statement, "zero_grad") in owners_of(step.statement)]
    found = owned or every
    if len(found) != 1 or found[0].block is not step.block:
        return None
    if not owned:
        last = last_step(step, found[0])
        if last is None:
            return None
        step = last
    if found[0].index == step.index + 1:
        return None
    reader = next(readers_between(function, step, found[0]), None)
    return MovedZeroing(step, found[0], reader or next(readers_elsewhere(source, function, step, found[0]), None))


def owners_of(step: ast.stmt) -> set[str]:
    """Return the optimizers whose step a statement calls, also through a scaler: ``scaler.step(optimizer)``."""
    arguments = [ast.unparse(one) for node in ast.walk(step) if isinstance(node, ast.Call) for one in node.args]
    return {owner_in(step, "step"), *arguments}


def last_step(step: Spot, zeroing: Spot) -> Spot | None:
    """Return the last statement of a block that steps, for a zeroing of all gradients; None if it stands between two."""
    steps = [index for index, one in enumerate(step.block) if any(map(is_step, ast.walk(one)))]
    if steps[0] < zeroing.index < steps[-1]:
        return None
    return Spot(step.block, steps[-1], step.outer)


def is_step(node: ast.AST) -> bool:
    """Whether a node is ``something.step``."""
    return isinstance(node, ast.Attribute) and node.attr == "step"


def readers_between(function: Function, step: Spot, zeroing: Spot) -> Iterator[ast.AST]:
    """Yield what runs between the place to which a zeroing moves and the place where it stands, and uses gradients."""
    block = step.block
    if step.index < zeroing.index:
        for statement in block[step.index + 1 : zeroing.index]:
            yield from uses(statement, READING_IN_LOOP)
        return
    between = block[zeroing.index : step.index + 1]
    own = {id(node) for one in (*between, *called_only_in(function, between)) for node in ast.walk(one)}
    loops = (one.statement for one in reversed(step.outer) if isinstance(one.statement, ast.For | ast.While))
    inside = {id(node) for node in ast.walk(next(loops, function))}
    for node in uses(function, READING_IN_LOOP):
        if id(node) not in own and (id(node) in inside or node.attr in READING):
            yield node


def readers_elsewhere(source: Source, function: Function, step: Spot, zeroing: Spot) -> Iterator[ast.Attribute]:
    """Yield what uses gradients elsewhere in the program: it may run between a moved zeroing and the place where it stands.

    Functions that only the statements from the zeroing to the step name run as before.
    """
    trees = [source.tree, *(one.tree for one in other_sources(source.file))]
    ours = {id(node) for node in ast.walk(function)} if not isinstance(function, ast.Module) else set[int]()
    if step.index < zeroing.index:
        called = {last_name(node) for one in step.block[step.index + 1 : zeroing.index] for node in ast.walk(one)}
        for one in functions_in(trees):
            yield from (node for node in uses(one, READING) if one.name in called and id(node) not in ours)
        return
    between = {
        id(node): last_name(node) for one in step.block[zeroing.index : step.index + 1] for node in ast.walk(one)
    }
    named = {last_name(node) for tree in trees for node in ast.walk(tree) if id(node) not in between}
    kept = [one for one in functions_in(trees) if one.name in set(between.values()) - named]
    own = {id(node) for one in kept for node in ast.walk(one)} | set(between) | ours
    yield from (node for tree in trees for node in uses(tree, READING) if id(node) not in own)


def reader_of_gradients(source: Source) -> ast.Attribute | None:
    """Return the first attribute of the program that is a gradient and read; None if there is none."""
    trees = (source.tree, *(one.tree for one in other_sources(source.file)))
    found = (node for tree in trees for node in uses(tree, frozenset({"grad"})) if isinstance(node.ctx, ast.Load))
    return next((node for node in found if not ast.unparse(node.value).endswith("autograd")), None)


def functions_in(trees: Sequence[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions of some trees."""
    for tree in trees:
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def called_only_in(function: Function, between: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the inner functions that only some statements mention."""
    own = {id(node) for one in between for node in ast.walk(one)}
    named = {name for node in ast.walk(function) if id(node) not in own and (name := last_name(node))}
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef) and node is not function and node.name not in named:
            yield node


def uses(tree: ast.AST, attributes: frozenset[str]) -> Iterator[ast.Attribute]:
    """Yield the attributes of these names in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in attributes:
            yield node
