"""When an edit releases memory: after the statement in the holder's frame that uses a storage last."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from gradlife.peaks.analysis.retained import needless_retain
from gradlife.peaks.edits.advice import is_read_below, is_stored_for_nobody
from gradlife.peaks.edits.names import frame_of_name, value_yielded, yield_of
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Frame, Recording
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.liveness import deletion_point
from gradlife.peaks.sources.program import (
    Position,
    function_of,
    last_mention,
    mentions_in_head,
    positions_at,
    source_of,
    spot_at,
)

#: A part of a function: the file, the function's qualified name, its beginning and its end.
Span = tuple[str, str, Position, Position]

#: Kinds of holders that end with a frame.
OF_FRAMES = frozenset(
    {Kind.LOCAL, Kind.GENERATOR, Kind.COROUTINE, Kind.EXCEPTION, Kind.GLOBAL, Kind.ITERATOR, Kind.OTHER}
)


def release(recording: Recording, holders: Iterable[Holder], last: int) -> int:
    """Return the first operation at which a storage is free if every holder releases it after operation ``last``."""
    return max((release_by(recording, holder, last) for holder in holders), default=last + 1)


def release_by(recording: Recording, holder: Holder, last: int) -> int:
    """Return the first operation at which one holder has released a storage after operation ``last``."""
    if last < 0 or is_stored_for_nobody(holder):
        return last + 1
    if holder.kind is Kind.SAVED and is_freed_by_torch(recording, last):
        return last + 1
    frames = recording.operations[last].frames
    frame = frame_of(holder, frames)
    if frame is None:
        return resumption(recording, holder, last)
    if holder.kind is Kind.LOCAL and holder.path and not holder.record and is_read_below(holder, frames):
        return last + 1  # a statement reads the container, not its items: the edit puts fewer items into it
    span, operation = span_of(frame, holder), last + 1
    callers = frames[frames.index(frame) + 1 :]
    while (
        span is not None
        and operation < len(recording.operations)
        and runs(recording.operations[operation].frames, span, callers)
    ):
        operation += 1
    return operation


def is_freed_by_torch(recording: Recording, last: int) -> bool:
    """Whether an edit leaves it to torch to free what a graph saves: none is recorded, or a backward pass ends it."""
    return not recording.operations[last].in_backward or needless_retain(recording, last) is not None


def resumption(recording: Recording, holder: Holder, last: int) -> int:
    """Return when a generator releases a name that it yielded: as it goes on, or at once with a yield without the
    name.
    """
    source = source_of(holder.file) if holder.kind in (Kind.LOCAL, Kind.GENERATOR) else None
    function = function_of(source, holder.function, holder.line) if source is not None else None
    spot = yield_of(function, holder.name) if function is not None else None
    if function is None or spot is None or value_yielded(function, spot, holder.name) is not None:
        return last + 1
    for number in range(last + 1, len(recording.operations)):
        if frame_of(holder, recording.operations[number].frames) is not None:
            return number
    return len(recording.operations)


def frame_of(holder: Holder, frames: Sequence[Frame]) -> Frame | None:
    """Return the frame of a stack that must release the storage; None if no frame of it must."""
    return frame_of_name(holder, frames) if holder.kind in OF_FRAMES else next(iter(frames), None)


def written_name(holder: Holder) -> str:
    """Return the holder's name as the program writes it: an attribute with its dot; empty if unknown."""
    return f".{holder.name}" if holder.kind is Kind.ATTRIBUTE else holder.name


def span_of(frame: Frame, holder: Holder) -> Span | None:
    """Return the part from the statement that a frame runs to where a name is released; None if that is above."""
    file, line, function = frame
    source, name = source_of(file), written_name(holder)
    node = function_of(source, function, line) if source is not None else None
    spot = spot_at(node, line) if node is not None else None
    if spot is not None and name and not mentions_in_head(spot.statement, name) and last_mention(spot, name):
        return None
    first, end = (start_of(spot.statement), spot.end) if spot is not None else positions_at(line)
    if source is not None and node is not None and spot is not None and is_deleted(holder):
        last = deletion_point(node, spot, holder.name, (), source.tree)[0].statement
        first, end = min(first, start_of(last)), end_of(last)
    return file, function, first, end


def statement_span(frame: Frame) -> Span | None:
    """Return the statement that a frame runs; None if its source is unknown."""
    file, line, function = frame
    source = source_of(file)
    node = function_of(source, function, line) if source is not None else None
    spot = spot_at(node, line) if node is not None else None
    return (file, function, start_of(spot.statement), spot.end) if spot is not None else None


def start_of(statement: ast.stmt) -> Position:
    """Return the beginning of a statement."""
    return statement.lineno, statement.col_offset


def end_of(statement: ast.stmt) -> Position:
    """Return the end of a statement and of its blocks."""
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def is_deleted(holder: Holder) -> bool:
    """Whether its edit is a `del` of a name of the running function."""
    return holder.kind in (Kind.LOCAL, Kind.GLOBAL) and bool(holder.name)


def runs(frames: Sequence[Frame], span: Span, callers: Sequence[Frame] = ()) -> bool:
    """Whether a stack runs this part. ``callers``: the frames above, which differ in another call of the function."""
    file, function, first, end = span
    for number, frame in enumerate(frames, 1):
        if frame[0] == file and frame[2] == function:
            here, there = positions_at(frame[1])
            is_same_call = all(map(is_same_place, frames[number:], callers))
            if first <= there and here < end and is_same_call:
                return True
    return False


def is_same_place(one: Frame, other: Frame) -> bool:
    """Whether two frames are at the same place, with the column if it is known."""
    return one == other and getattr(one[1], "column", None) == getattr(other[1], "column", None)
