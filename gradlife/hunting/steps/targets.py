"""The target of a hunt: a script, a module, a command of a package, or a function that is called once per step."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import shutil
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gradlife.errors import UnknownNameError, UsageError

StepFunction = Callable[..., object]

#: The prefix of a module's name in a target.
MODULE_MARK = "-m "


class TargetError(UsageError):
    """The target does not exist or cannot be run. The program itself has not failed."""


class UnknownFunction(TargetError, UnknownNameError):
    """A function that a file or a module does not have."""


@dataclass(frozen=True)
class ScriptTarget:
    """A Python file, run from end to end."""

    path: str
    arguments: tuple[str, ...]
    is_command: bool = False  # a console script, which may start the Python process that takes steps


@dataclass(frozen=True)
class ModuleTarget:
    """A module, run as `python -m` runs it."""

    name: str
    arguments: tuple[str, ...]


ProgramTarget = ScriptTarget | ModuleTarget


@dataclass(frozen=True)
class FunctionTarget:
    """A function in a file or a module."""

    place: str  # file.py, or the name of a module
    function: str
    is_file: bool


def parse(text: str, arguments: tuple[str, ...] = ()) -> ProgramTarget | FunctionTarget:
    """Return the target that a command line names."""
    if text.startswith(MODULE_MARK):
        return ModuleTarget(text.removeprefix(MODULE_MARK), arguments)
    path, mark, function = text.partition("::")
    if mark and not os.path.exists(text):
        return FunctionTarget(path, function, is_file=True)
    if text.endswith(".py"):
        return ScriptTarget(text, arguments)
    if os.path.isfile(text) and interpreter_of(text) is not None:
        return ScriptTarget(text, arguments, is_command=True)
    if os.path.isfile(text):
        refuse_documents(text)
    if os.path.exists(text):
        command = python_command(text)
        return ScriptTarget(command or text, arguments, is_command=command is not None)
    module, mark, function = text.partition(":")
    if mark and function:
        return FunctionTarget(module, function, is_file=False)
    command = find_command(text)
    if command is not None:
        return ScriptTarget(command, arguments, is_command=True)
    raise UsageError(
        f"{text!r} is no file here and no command on PATH", "script.py, -m module, file.py::function or module:function"
    )


def refuse_documents(path: str) -> None:
    """Raise UsageError for a notebook or a report. Both are JSON, and Python reads most JSON files as a script."""
    if path.endswith(".ipynb"):
        raise UsageError(f"{path} is a notebook, no script", f"jupyter nbconvert --to script {path}")
    if path.endswith(".json"):
        hint = "gradlife hunt --verify before.json after.json compares two reports"
        raise UsageError(f"{path} is a JSON file, no script", hint)


def python_command(name: str) -> str | None:
    """Return the path of a console script that has the same name as a file or folder here; None if none can be run."""
    try:
        return find_command(name)
    except UsageError:
        return None


def find_command(name: str) -> str | None:
    """Find a console script on PATH, else beside this interpreter. Raise UsageError if it belongs to another Python."""
    beside = os.path.dirname(sys.executable)
    path = shutil.which(name) or shutil.which(name, path=beside)
    if path is None or os.path.basename(name) != name:
        return None
    found = interpreter_of(path)
    if found is None:
        raise UsageError(f"{path} is no Python program", "script.py, -m module, or a console script of a package")
    if os.path.isabs(found) and os.path.realpath(os.path.dirname(found)) != os.path.realpath(beside):
        own = shutil.which(name, path=beside)
        if own is None or interpreter_of(own) is None:
            raise UsageError(f"{path} belongs to another Python, {found}", "install gradlife there, and hunt with it")
        path = own
    return path


#: The first lines of a Python script. If the interpreter's path is long, pip writes a shell script that starts it.
SHEBANG = re.compile(
    rb"#!\s*(?:/bin/sh\n'{3}exec' )?(?:/usr/bin/env (?:-\S+ )*)?"
    rb"(?:\"(?P<quoted>[^\"\n]*python[0-9.]*)\"|(?P<bare>[^\s\"]*python[0-9.]*))\s"
)


def interpreter_of(path: str) -> str | None:
    """Return the Python that a script names in its first lines; None if it is not a Python script, or cannot be read."""
    try:
        with open(path, "rb") as file:
            found = SHEBANG.match(file.read(1024))
    except OSError:
        return None
    return os.fsdecode(found["quoted"] or found["bare"]) if found is not None else None


@dataclass(frozen=True)
class Stepper:
    """A step function, with its setup and teardown."""

    step: StepFunction
    setup: Callable[[], object] | None = None
    teardown: Callable[[Any], object] | None = None

    def count_arguments(self) -> int:
        """Count the arguments of the step, at most two: the result of the setup, if there is one, and the step's number."""
        return count_parameters(self.step)


def stepper_of(
    step: StepFunction,
    setup: Callable[[], object] | None = None,
    teardown: Callable[[Any], object] | None = None,
) -> Stepper:
    """Return a stepper whose step runs whole when it is called. TargetError: a generator function, whose call runs nothing."""
    if inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step):
        need = f"{getattr(step, '__qualname__', 'the step')} is a generator function: calling it runs nothing"
        raise TargetError(need, "a function that runs one step and returns")
    return Stepper(awaited(step) if inspect.iscoroutinefunction(step) else step, setup, teardown)


def awaited(step: StepFunction) -> StepFunction:
    """Return a function that runs a coroutine function to its end, in one event loop for all steps."""
    import asyncio  # takes longer to load than the whole command line

    loop = asyncio.new_event_loop()
    weakref.finalize(loop, loop.close)

    @functools.wraps(step)
    def run(*arguments: object) -> object:
        if asyncio._get_running_loop() is not None:
            raise TargetError("an async step cannot run in an event loop that is running", "hunt it in another thread")
        return loop.run_until_complete(step(*arguments))  # type: ignore[arg-type]

    return run


def load(target: FunctionTarget) -> Stepper:
    """Import the module and find the functions."""
    module = load_file(target.place) if target.is_file else load_module(target.place)
    step = getattr(module, target.function, None)
    if not callable(step):
        names = [name for name, value in vars(module).items() if callable(value)]
        raise UnknownFunction("function", target.function, names, f"a function of {target.place}")
    setup = getattr(module, "setup", None)
    if setup is None and count_required(step) > 1:
        need = f"{target.function} takes more than the step's number, but {target.place} has no setup()"
        raise TargetError(need, "def setup(): return the first argument")
    return stepper_of(step, setup, getattr(module, "teardown", None))


def load_file(path: str) -> ModuleType:
    """Import a file as a module of its own name, with its folder first on the path as for a script."""
    if not os.path.isfile(path):
        raise TargetError(f"there is no file {path}", "file.py::function")
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is no Python file", "file.py::function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_module(name: str) -> ModuleType:
    """Import a module, with the working folder first on the path as for `python -m`."""
    sys.path.insert(0, os.getcwd())
    missing = TargetError(f"there is no module {name or 'without a name'}", "module:function")
    if not all(name.split(".")):
        raise missing
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise missing from None


def count_parameters(step: StepFunction) -> int:
    """Count the arguments that a step may get by position, at most two; two for `*args`."""
    found = parameters_of(step)
    return 2 if any(one.kind is one.VAR_POSITIONAL for one in found) else min(2, len(found))


def count_required(step: StepFunction) -> int:
    """Count the arguments that a step needs by position."""
    return sum(one.kind is not one.VAR_POSITIONAL and one.default is one.empty for one in parameters_of(step))


def parameters_of(step: StepFunction) -> list[inspect.Parameter]:
    """Return the parameters that take arguments by position; none if the step does not show its signature."""
    try:
        found = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one for one in found if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
