"""Finds where a name is bound again, which drops its value at the end of the binding statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from gradlife.peaks.analysis.releases import frame_of
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Frame, Recording
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.line import Line
from gradlife.peaks.sources.program import blocks, function_of, source_of, spot_at


def end_of_binding(recording: Recording, holder: Holder, first: int, last: int) -> int:
    """Return the operation between two others before which a name is bound again or its function ends; the last if
    unknown.
    """
    was_binding = False
    for number in range(first, last):
        frame = frame_of(holder, recording.operations[number].frames)
        if frame is None and holder.kind in (Kind.LOCAL, Kind.ITERATOR):
            return max(number, first + 1)
        binding = frame is not None and is_bound_at(frame, holder.name)
        if was_binding and not binding:
            return number
        was_binding = binding
    return last


def is_bound_at(frame: Frame, name: str) -> bool:
    """Whether the statement that a frame runs binds or deletes a name."""
    file, line, function = frame
    return name in names_bound_at(file, int(line), getattr(line, "column", -1), function)


@cache
def names_bound_at(file: str, line: int, column: int, function: str) -> frozenset[str]:
    """Return the names that the statement at a place binds or deletes."""
    source = source_of(file)
    node = function_of(source, function, line) if source is not None else None
    spot = spot_at(node, Line.at(line, column)) if node is not None else None
    return frozenset(bound_names(spot.statement)) if spot is not None else frozenset()


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds or deletes, without its blocks."""
    inner = {id(node) for block in blocks(statement) for part in block for node in ast.walk(part)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in inner:
            yield node.id
