"""The variables of a forked copy: the name and frame that hold an object."""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import FrameType, GeneratorType, ModuleType
from typing import Any

from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.snapshots.creation_recorder import foreign_files, library_files
from gradlife.peaks.recording.lifetimes import Frame


class Kind(StrEnum):
    """The kind of place that holds a tensor."""

    LOCAL = "local"
    GENERATOR = "generator"  # a variable of a suspended generator
    EXCEPTION = "exception"  # a variable of a frame that a traceback keeps
    GLOBAL = "global"
    ATTRIBUTE = "attribute"
    GRADIENT = "gradient"
    SAVED = "saved"
    PASSED = "passed"  # a variable of the caller, passed to a call that is still running
    EARLY = "early"  # a variable that is assigned earlier than necessary
    ITERATOR = "iterator"  # an iterator that keeps the last item that it gave
    OTHER = ""


#: References to the dict of a frame's variables if the program has none: of the frame, a variable here, and a call.
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
        kept = {Kind.GENERATOR: "the generator ", Kind.EXCEPTION: "the failed "}.get(self.kind, "")
        return f"local {self.name}{path} of {kept}{where}"


def variables_now() -> dict[int, list[Variable]]:
    """Return the variables by the address of their values."""
    found: dict[int, list[Variable]] = defaultdict(list)
    running = set()
    libraries = (*library_files(), *foreign_files())
    for frame in running_frames():
        running.add(id(frame))
        if frame.f_code.co_filename.startswith(libraries):
            add_library(found, frame, libraries)
        else:
            add(found, frame, Kind.LOCAL)
    for other in gc.get_objects():
        if type(other) is GeneratorType and other.gi_frame is not None and id(other.gi_frame) not in running:
            running.add(id(other.gi_frame))
            add(found, other.gi_frame, Kind.GENERATOR)
        elif type(other) is FrameType and id(other) not in running:
            running.add(id(other))
            add(found, other, Kind.EXCEPTION)
    return found


def optimizer_states() -> dict[int, tuple[int, int]]:
    """Return the optimizer and the parameter of each dict with the state of one parameter, all by address."""
    found: dict[int, tuple[int, int]] = {}
    for one in optimizers():
        states = vars(one).get("state")
        for parameter, state in states.items() if isinstance(states, dict) else ():
            found[id(state)] = id(one), id(parameter)
    return found


def parameters_of_optimizers() -> frozenset[int]:
    """Return the addresses of the parameters that optimizers have."""
    every = (vars(one).get("param_groups") for one in optimizers())
    groups = (group for groups in every if isinstance(groups, list) for group in groups if isinstance(group, dict))
    found = (group.get("params") for group in groups)
    return frozenset(id(one) for parameters in found if isinstance(parameters, list) for one in parameters)


def optimizers() -> Iterator[Any]:
    """Yield the living optimizers."""
    base: type[Any] | None = getattr(sys.modules.get("torch.optim.optimizer"), "Optimizer", None)
    if base is not None:
        yield from (one for one in gc.get_objects() if issubclass(type(one), base))


def modules_now() -> dict[int, ModuleType]:
    """Return the modules by the addresses of their dicts."""
    loaded = list(sys.modules.values())
    return {id(vars(module)): module for module in reversed(loaded) if type(module) is ModuleType}


def frames_now() -> dict[str, Frame]:
    """Return the program's running frames by the text with which the heap graph describes them."""
    found: dict[str, Frame] = {}
    libraries = (*library_files(), *foreign_files(), OWN_FOLDER)
    for frame in running_frames():
        file, function, line = frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno
        if not file.startswith(libraries):
            found[f"{function} ({os.path.basename(file)}:{line})"] = file, line, function
    return found


def running_frames() -> Iterator[FrameType]:
    """Yield the frames of all threads, innermost first."""
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            yield frame
            frame = frame.f_back


def add_library(found: dict[int, list[Variable]], frame: FrameType, libraries: tuple[str, ...]) -> None:
    """Add what a library's frame holds, at the line of the program that called the library: it is held until that ends."""
    caller = frame.f_back
    while caller is not None and caller.f_code.co_filename.startswith(libraries):
        caller = caller.f_back
    if caller is not None and not caller.f_code.co_filename.startswith(OWN_FOLDER):
        place = caller.f_code.co_filename, caller.f_code.co_qualname, caller.f_lineno
        for value in values_of(frame).values():
            found[id(value)].append(Variable(Kind.OTHER, "", *place))


def values_of(frame: FrameType) -> dict[str, Any]:
    """Return a copy of a frame's variables.

    Up to Python 3.12, the frame of a function keeps the dict that it shows. It is emptied, unless the program has it:
    where no copy of the process can be forked, the frame would hold all its variables twice.
    """
    shown = frame.f_locals
    values = dict(shown)
    is_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    if is_function and sys.version_info < (3, 13) and sys.getrefcount(shown) <= OWN_REFERENCES:
        shown.clear()
    return values


def add(found: dict[int, list[Variable]], frame: FrameType, kind: Kind) -> None:
    """Add the variables of one frame, except those of a module, which are globals."""
    code = frame.f_code
    if code.co_filename.startswith(OWN_FOLDER) or code.co_name == "<module>":
        return
    for name, value in values_of(frame).items():
        if not name.startswith("."):
            line = frame.f_lineno or code.co_firstlineno
            found[id(value)].append(Variable(kind, name, code.co_filename, code.co_qualname, line))
