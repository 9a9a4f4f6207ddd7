"""The variables of a forked copy of the process: the name and frame that hold an object."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import AsyncGeneratorType, CoroutineType, FrameType, GeneratorType, ModuleType
from typing import Any

from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.snapshots.creation_recorder import foreign_files, library_files
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.safe_access import loaded_modules, member


class Kind(StrEnum):
    """The kind of place that holds a tensor."""

    LOCAL = "local"
    GENERATOR = "generator"  # a variable of a suspended generator
    COROUTINE = "coroutine"  # a variable of a coroutine that waits for something
    EXCEPTION = "exception"  # a variable of a frame that a traceback keeps
    GLOBAL = "global"
    ATTRIBUTE = "attribute"
    GRADIENT = "gradient"
    SAVED = "saved"
    PASSED = "passed"  # a variable of the caller, passed to a call that is still running
    EARLY = "early"  # a variable that is assigned earlier than necessary
    ITERATOR = "iterator"  # an iterator that keeps the last item that it gave
    OTHER = ""


#: The types of suspended functions, each with the attribute that has its frame. By id: a class of the program may not be
#: hashable, and its metaclass would run.
SUSPENDED = {
    id(GeneratorType): ("gi_frame", Kind.GENERATOR),
    id(AsyncGeneratorType): ("ag_frame", Kind.GENERATOR),
    id(CoroutineType): ("cr_frame", Kind.COROUTINE),
}

#: Expected reference count of a frame's `f_locals` dict if only the frame, our variable and the `getrefcount` call refer to
#: it.
OWN_REFERENCES = 3


@dataclass(frozen=True)
class Variable:
    """A variable of a frame."""

    kind: Kind
    name: str
    file: str
    function: str  # its qualified name
    line: int  # where the frame is

    def text(self, path: str = "") -> str:
        """Format the variable: ``local logits of step (train.py:40)``. ``path``: from the variable to the tensor."""
        where = f"{self.function} ({os.path.basename(self.file)}:{self.line})"
        kept = {Kind.GENERATOR: "the generator ", Kind.COROUTINE: "the coroutine ", Kind.EXCEPTION: "the failed "}.get(
            self.kind, ""
        )
        return f"local {self.name}{path} of {kept}{where}"


def variables_now() -> dict[int, list[Variable]]:
    """Return the variables by the id of their values: of running frames, suspended functions, and frames in tracebacks.

    A frame of a library has its values without names, at the line of the program that called it. Variables of modules are
    left out. Looks at every object that the collector tracks.
    """
    found: dict[int, list[Variable]] = defaultdict(list)
    running = set()
    libraries = (*library_files(), *foreign_files())
    for frame in running_frames():
        running.add(id(frame))
        if frame.f_code.co_filename.startswith(libraries):
            add_library_values(found, frame, libraries)
        else:
            add_variables(found, frame, Kind.LOCAL)
    for frame, kind in other_frames():
        if id(frame) not in running:
            running.add(id(frame))
            add_variables(found, frame, kind)
    return found


def other_frames() -> Iterator[tuple[FrameType, Kind]]:
    """Yield the frames of suspended functions, then all other frame objects: tracebacks keep those."""
    objects = gc.get_objects()
    for one in objects:
        attribute, kind = SUSPENDED.get(id(type(one)), ("", Kind.OTHER))
        frame: FrameType | None = getattr(one, attribute) if attribute else None
        if frame is not None:
            yield frame, kind
    yield from ((one, Kind.EXCEPTION) for one in objects if type(one) is FrameType)


def optimizer_states() -> dict[int, tuple[int, int]]:
    """Map the id of each per-parameter state dict to the ids of its optimizer and parameter. Looks at every tracked object."""
    found: dict[int, tuple[int, int]] = {}
    for one in optimizers():
        states = vars(one).get("state")
        for parameter, state in states.items() if isinstance(states, dict) else ():
            found[id(state)] = id(one), id(parameter)
    return found


def parameters_of_optimizers() -> frozenset[int]:
    """Return the ids of all optimized parameters. Looks at every tracked object."""
    every = (vars(one).get("param_groups") for one in optimizers())
    groups = (group for groups in every if isinstance(groups, list) for group in groups if isinstance(group, dict))
    found = (group.get("params") for group in groups)
    return frozenset(id(one) for parameters in found if isinstance(parameters, list) for one in parameters)


def optimizers() -> Iterator[Any]:
    """Yield the living optimizers, from all objects that the collector tracks."""
    base: type[Any] | None = member("torch.optim.optimizer", "Optimizer")
    if base is not None:
        yield from (one for one in gc.get_objects() if issubclass(type(one), base))


def modules_now() -> dict[int, ModuleType]:
    """Return the modules by the ids of their dicts. Of modules that share a dict, the one that was imported first counts."""
    return {id(vars(module)): module for _, module in reversed(loaded_modules())}


def frames_now() -> dict[str, Frame]:
    """Return the program's running frames by their description in the heap graph."""
    found: dict[str, Frame] = {}
    libraries = (*library_files(), *foreign_files(), OWN_FOLDER)
    for frame in running_frames():
        file, function, line = frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno
        if not file.startswith(libraries):
            found[f"{function} ({os.path.basename(file)}:{line})"] = file, line, function
    return found


def running_frames() -> Iterator[FrameType]:
    """Yield the frames of each thread, innermost first."""
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            yield frame
            frame = frame.f_back


def add_library_values(found: dict[int, list[Variable]], frame: FrameType, libraries: tuple[str, ...]) -> None:
    """Add what a library's frame holds, at the line of the program that called it: it is held until the call returns."""
    caller = frame.f_back
    while caller is not None and caller.f_code.co_filename.startswith(libraries):
        caller = caller.f_back
    if caller is not None and not caller.f_code.co_filename.startswith(OWN_FOLDER):
        place = caller.f_code.co_filename, caller.f_code.co_qualname, caller.f_lineno
        for value in values_of(frame).values():
            found[id(value)].append(Variable(Kind.OTHER, "", *place))


def values_of(frame: FrameType) -> dict[str, Any]:
    """Return a copy of a frame's variables.

    Up to Python 3.12, `f_locals` caches a dict on the frame, which keeps the values alive. Clear it, unless the program also
    holds it. This matters when we could not fork.
    """
    shown = frame.f_locals
    values = dict(shown)
    is_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    if is_function and sys.version_info < (3, 13) and sys.getrefcount(shown) <= OWN_REFERENCES:
        shown.clear()
    return values


def add_variables(found: dict[int, list[Variable]], frame: FrameType, kind: Kind) -> None:
    """Add the variables of one frame, except those of a module, which are globals."""
    code = frame.f_code
    if code.co_filename.startswith(OWN_FOLDER) or code.co_name == "<module>":
        return
    for name, value in values_of(frame).items():
        if not name.startswith("."):
            line = frame.f_lineno or code.co_firstlineno
            found[id(value)].append(Variable(kind, name, code.co_filename, code.co_qualname, line))
