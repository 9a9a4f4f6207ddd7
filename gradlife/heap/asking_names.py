"""Tell the holders of an object from the names that whoever asks about it has for it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType

from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.step_statuses import with_statuses
from gradlife.model.trace import CodePlace, PathStep, Trace, asking_words
from gradlife.safe_access import loaded

#: Most other holders with a path.
MOST_OTHERS = 2

#: Names under which an interactive session keeps what a cell displays.
OUTPUT = re.compile(r"_{1,3}|_[0-9]+|Out|_oh")

#: How many merged steps a path has if a name refers to the object itself: what has the name, and the object.
DIRECT = 2


def with_holders(trace: Trace, others: Sequence[tuple[PathStep, ...]], asker: FrameType) -> Trace:
    """Return the trace with the path of a holder in place of that of a name of the asker's, and the paths of other holders,
    lasting ones first.
    """
    if not trace.steps:
        return trace
    paths = [trace.steps, *(with_statuses(steps) for steps in others)]
    holders = sorted((steps for steps in paths if not is_asking(steps, asker)), key=is_call)
    names = [steps for steps in paths if is_asking(steps, asker)]
    first, *rest = holders or paths[:1]
    asked_by = asking_words(names[0]) if names else ""
    return replace(trace, steps=first, others=tuple(rest[:MOST_OTHERS]) if holders else (), asked_by=asked_by)


def is_call(steps: tuple[PathStep, ...]) -> bool:
    """Whether the path begins with a call, which ends."""
    return steps[0].object == "running frame"


def is_asking(steps: tuple[PathStep, ...], asker: FrameType) -> bool:
    """Whether the path is a variable of the asker, or a result that an interactive session keeps."""
    if asker.f_code.co_filename.startswith(OWN_FOLDER):  # a magic of a notebook says itself what IPython keeps
        return False
    if is_of_session(steps):
        return True
    if is_call(steps):
        code = asker.f_code
        place = CodePlace(code.co_qualname, os.path.basename(code.co_filename), asker.f_lineno)
        return len(steps) == DIRECT and steps[0].code == place
    return is_global(steps, asker)


def is_of_session(steps: tuple[PathStep, ...]) -> bool:
    """Whether the path begins with a name under which an interactive session keeps its results."""
    first = steps[0]
    is_interactive = loaded("IPython") is not None or hasattr(sys, "ps1")
    label = first.hops[-1].label if first.hops else ""
    return (
        is_interactive
        and first.object == "module"
        and first.detail in {"__main__", "builtins"}
        and OUTPUT.fullmatch(label.strip("'")) is not None
    )


def is_global(steps: tuple[PathStep, ...], asker: FrameType) -> bool:
    """Whether the path is a global variable of a module whose own code asks."""
    name = asker.f_globals.get("__name__")
    is_module = asker.f_code.co_name == "<module>" and steps[0].object == "module" and steps[0].detail == name
    return is_module and len(steps) == DIRECT
