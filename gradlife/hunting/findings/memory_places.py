"""Names what holds memory: the function and its variable behind a traceback or a frame, else the path from a root."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradlife.heap.diff import path_text, reference_text
from gradlife.model.trace import PathStep

#: The types of a running frame, and of one that an exception keeps.
FRAMES = frozenset({"running frame", "frame"})

#: Roots that hold the last exception. They say nothing about who holds its variables.
HOLDERS_OF_ERRORS = frozenset({"interpreter", "thread"})

#: The file of runpy's frames, and their variables with the global variables of the program that it runs.
RUNPY, GLOBALS = "<frozen runpy>", re.compile(r"^local variable '(?:mod|run)_globals'(?:\[('\w+')\])?")


def owner_name(steps: tuple[PathStep, ...], type_: str) -> str:
    """Return the place and type of an object: ``local variable 'out' of Trainer.step, train.py:14: torch.Tensor``."""
    is_local = frame_at(steps) is not None and not has_globals_of_program(steps)
    shown = without_storage(steps) if is_local else steps
    return f"{place_text(shown)}: {type_ if shown is steps else shown[-1].type}"


def place_text(steps: tuple[PathStep, ...]) -> str:
    """Format a path on one line; of a path through frames, the variable of the last one and who holds its exception."""
    at = frame_at(steps)
    if at is None:
        return path_text(steps)
    if has_globals_of_program(steps):
        return GLOBALS.sub(r"module __main__: global variable \1", reference_text(steps[at:]))
    variable = f"{reference_text(without_storage(steps[at:]))} of {function_text(steps[at])}"
    start = exception_at(steps, at)
    return variable if is_last_error(steps[:start]) else f"{place_text(steps[: start + 1])} → {variable}"


def has_globals_of_program(steps: tuple[PathStep, ...]) -> bool:
    """Whether the path goes through a frame of runpy to the global variables of the program that it runs."""
    at = frame_at(steps)
    return at is not None and RUNPY in steps[at].detail and GLOBALS.match(reference_text(steps[at:])) is not None


def frame_at(steps: Sequence[PathStep]) -> int | None:
    """Return the index of the last frame from which the path goes on."""
    found = (at for at in range(len(steps) - 2, -1, -1) if steps[at].object in FRAMES)
    return next(found, None)


def exception_at(steps: Sequence[PathStep], at: int) -> int:
    """Return the index where the exception begins that holds the step: the exception, its tracebacks and frames."""
    while at and is_of_exception(steps[at - 1]):
        at -= 1
    return at


def is_of_exception(step: PathStep) -> bool:
    """Whether it is an exception, or a traceback or frame on the way to another frame."""
    is_between = step.object == "traceback" or (step.object == "frame" and step.relation != "local")
    return is_between or step.is_a("BaseException", "builtins.BaseException")


def is_last_error(head: Sequence[PathStep]) -> bool:
    """Whether the path before an exception or frame is only a root that holds the last exception, or nothing."""
    return not head or (len(head) == 1 and head[0].object in HOLDERS_OF_ERRORS)


def is_inside_last_error(steps: Sequence[PathStep]) -> bool:
    """Whether the path ends at the last exception, a traceback or a frame of it: others name the variables in it."""
    return len(steps) > 1 and is_of_exception(steps[-1]) and is_last_error(steps[: exception_at(steps, len(steps))])


def without_storage(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Return the path to the tensor of a storage."""
    return steps[:-1] if len(steps) > 2 and steps[-1].kind == "storage" else steps


def function_text(frame: PathStep) -> str:
    """Return the function and its line: ``Trainer.step, train.py:14``."""
    function, _, line = frame.detail.rpartition(" (")
    return f"{function}, {line.removesuffix(')')}" if function else frame.detail
