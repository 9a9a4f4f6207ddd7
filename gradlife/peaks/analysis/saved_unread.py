"""Tensors that a graph saves and a backward pass frees without a read: no name can let go of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradlife.model.peak.report import Owner
from gradlife.peaks.analysis.holder_snapshots import Gap
from gradlife.peaks.recording.holders import NEVER_UNPACKED, Held, Holder
from gradlife.peaks.recording.lifetimes import Frame, Recording, Storage
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.program import function_of, source_of

SAVING = "save_for_backward"


def is_only_saved(held: Held) -> bool:
    """Whether graphs alone hold a storage."""
    names = [one for one in held.holders if one.can_let_go]
    return bool(names) and all(one.kind is Kind.SAVED for one in names)


def is_freed_in_backward(recording: Recording, storage: Storage) -> bool:
    """Whether a backward pass lets go of a storage."""
    at = storage.died // 2 if storage.died is not None else 0
    around = recording.operations[at - 1 : at + 1] if at else []
    return len(around) == 2 and all(one.in_backward for one in around)


def is_freed_by_its_node(recording: Recording, gap: Gap) -> bool:
    """Whether what was used last is a part of the backward pass: its node lets go of it as soon as it has run."""
    last = gap[0] // 2 - 1
    return last >= 0 and recording.operations[last].in_backward


def saved_unread(recording: Recording, storage: Storage) -> Held:
    """The function that saved a storage, in the place of the names behind which its graph is."""
    numbers = sorted({*storage.reads, *([storage.birth] if storage.birth is not None else [])}, reverse=True)
    stacks = [recording.operations[at].frames for at in numbers if not recording.operations[at].in_backward]
    file, line, function = saving_frame(stacks) or next((stack[0] for stack in stacks if stack), ("", 0, ""))
    text = f"what {function} saves for the backward pass" if function else "saved for the backward pass"
    return Held([Holder(Owner.SAVED, text, Kind.SAVED, NEVER_UNPACKED, file, function, line)])


def saving_frame(stacks: Sequence[Sequence[Frame]]) -> Frame | None:
    """The `ctx.save_for_backward(...)` of the function that used it last; None: no function of the program saved it."""
    for stack in stacks:
        for file, line, function in stack:
            source = source_of(file)
            node = function_of(source, function, line) if source is not None else None
            for call in ast.walk(node) if node is not None else ():
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == SAVING:
                    return file, call.lineno, function
    return None
