"""Graphs that `backward(retain_graph=True)` keeps although no other backward pass reads them."""

from __future__ import annotations

import ast
from functools import cache

from gradlife.peaks.recording.lifetimes import Frame, Recording, Storage
from gradlife.peaks.sources.program import function_of, source_of, spot_at


def needless_retain(recording: Recording, last: int) -> Frame | None:
    """Return the frame of the `backward(retain_graph=True)` that ran an operation, if no other one needs its graph."""
    operation = recording.operations[last]
    frame = next(filter(retains, operation.frames), None) if operation.in_backward else None
    step = max((first for first in recording.steps if first <= last), default=0)
    return frame if frame is not None and not is_needed(recording, frame, step) else None


@cache
def retains(frame: Frame) -> bool:
    """Whether the statement that a frame runs retains a graph."""
    file, line, function = frame
    source = source_of(file)
    node = function_of(source, function, line) if source is not None else None
    spot = spot_at(node, line) if node is not None else None
    return spot is not None and any(map(is_retaining, ast.walk(spot.statement)))


def is_retaining(node: ast.AST) -> bool:
    """Whether a node is ``loss.backward(retain_graph=True)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "backward":
        return False
    return any(
        one.arg == "retain_graph" and isinstance(one.value, ast.Constant) and one.value.value is True
        for one in node.keywords
    )


@cache
def is_needed(recording: Recording, frame: Frame, step: int) -> bool:
    """Whether another backward pass reads activations after one of this line, from an operation on.

    It may run in a later step, as that of a generator after the step of its discriminator.
    """
    for storage in recording.storages:
        if storage.birth is not None and recording.operations[storage.birth].in_backward:
            continue
        if storage.birth is None and not all(recording.operations[at].in_backward for at in storage.reads):
            continue  # such as a parameter, which each pass reads
        passes = [at for at in storage.reads if step <= at and recording.operations[at].in_backward]
        ours = [at for at in passes if frame in recording.operations[at].frames]
        if ours and any(reads_same_graph(recording, storage, ours[0], at) for at in passes if at > ours[0]):
            return True
    return False


def reads_same_graph(recording: Recording, storage: Storage, first: int, last: int) -> bool:
    """Whether a later backward pass reads a storage for the graph of an earlier one: in a later step only if no forward
    pass has read it since, which would have put it into another graph.
    """
    if is_one_pass(recording, first, last):
        return False
    is_later = any(first < start <= last for start in recording.steps)
    between = (at for at in storage.reads if first < at < last)
    return not is_later or all(recording.operations[at].in_backward for at in between)


def is_one_pass(recording: Recording, first: int, last: int) -> bool:
    """Whether one backward pass runs both operations: the same line does, and nothing but backward runs between."""
    operations = recording.operations
    is_same_line = next(filter(retains, operations[last].frames), None) in operations[first].frames
    return is_same_line and all(one.in_backward for one in operations[first : last + 1])
