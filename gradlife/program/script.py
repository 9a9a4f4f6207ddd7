"""Runs a script as `python SCRIPT` does, or a module as `python -m MODULE` does.

It becomes the main module, with its own arguments, output, errors and exit status.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import pkgutil
import subprocess
import sys
import threading
import traceback
import types
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import cast

import gradlife
from gradlife.errors import UsageError
from gradlife.hunting.process.changed_sources import source_of
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.interrupts import admit
from gradlife.hunting.process.start_folder import working_folder
from gradlife.hunting.session.step_counter import EnoughSteps
from gradlife.hunting.steps.function_calls import DECORATOR, MAIN, CallSteps
from gradlife.hunting.steps.targets import ModuleTarget, ProgramTarget, ScriptTarget, TargetError
from gradlife.output import reason
from gradlife.safe_access import is_a, traceback_of

INTERRUPTED = 130

#: Options of Python that a variable of the environment sets, too.
VARIABLES = {"-B": "PYTHONDONTWRITEBYTECODE", "-O": "PYTHONOPTIMIZE", "-v": "PYTHONVERBOSE"}

OWN_FOLDER = os.path.dirname(os.path.abspath(gradlife.__file__)) + os.sep


@dataclass(frozen=True)
class Ended:
    """The exit status of a script, and the error that ended it."""

    status: int
    error: BaseException | None = None  # its traceback holds the frames


def compiled(path: str) -> types.CodeType:
    """Compile a script; UsageError if it cannot be read or is not Python."""
    try:
        return compile(source_of(path), absolute_as_python(path), "exec", dont_inherit=True)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}", "the name of a Python script") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python script: {error}", f"python {path}") from None


@dataclass(frozen=True)
class Program:
    """The code of the main module, the module, and its source."""

    code: types.CodeType
    main: types.ModuleType
    source: str  # path of the source file


def prepared(target: ProgramTarget) -> Program:
    """Prepare a program, with its main module, arguments and `sys.path`."""
    return prepared_module(target) if isinstance(target, ModuleTarget) else prepared_script(target)


def prepared_script(target: ScriptTarget) -> Program:
    """Prepare a script; as in Python, its path is absolute, in `__file__` and in its code: it may change the working folder."""
    if is_container(target.path):
        return prepared_container(target)
    code, path = compiled(target.path), absolute_as_python(target.path)
    main = become_main({"__file__": path, "__cached__": None, "__loader__": SourceFileLoader(MAIN, path)})
    note_arguments([target.path, *target.arguments], target.path)
    look_first_in(os.path.dirname(os.path.realpath(target.path)))
    return Program(code, main, path)


def is_container(path: str) -> bool:
    """Whether it is a folder or a zip file, whose `__main__` Python runs."""
    return os.path.isdir(path) or (os.path.isfile(path) and zipfile.is_zipfile(path))


def prepared_container(target: ScriptTarget) -> Program:
    """Prepare the `__main__` of a folder or a zip file, which comes first in `sys.path`."""
    path = absolute_as_python(target.path)
    finder = pkgutil.get_importer(path)
    spec = finder.find_spec(MAIN) if finder is not None else None
    if spec is None or spec.loader is None:
        raise UsageError(f"{target.path} has no __main__.py", "the name of a Python script in it")
    code = cast("InspectLoader", spec.loader).get_code(MAIN)
    if code is None:
        raise UsageError(f"the __main__ of {target.path} has no Python code", "the name of a Python script")
    note_arguments([target.path, *target.arguments], target.path)
    sys.path[0] = path
    path = spec.origin or path
    names: dict[str, object] = {
        "__file__": path,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": "",
        "__spec__": spec,
    }
    return Program(code, become_main(names), path)


def absolute_as_python(path: str) -> str:
    """Return the `__file__` that Python gives a script: absolute, with each `.` and `..` left in it."""
    return path if os.path.isabs(path) else os.path.join(working_folder(), path)


def note_arguments(arguments: list[str], *target: str) -> None:
    """Set `sys.argv`, and `sys.orig_argv` to what was to be typed after `python` without gradlife."""
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    options = [option for option in options if not os.environ.get(VARIABLES.get(option, ""))]
    sys.argv[:] = arguments
    sys.orig_argv[1:] = [*options, *target, *arguments[1:]]


def look_first_in(folder: str) -> None:
    """Put the program's folder where Python puts it: first in `sys.path`, unless `-P` asks for none."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def prepared_module(target: ModuleTarget) -> Program:
    """Prepare a module, found from the working folder. Its parent packages are imported first."""
    note_arguments(["-m", *target.arguments], "-m", target.name)
    look_first_in(working_folder())
    spec, code = located(target.name)
    path = os.path.abspath(spec.origin or target.name)
    main = become_main(
        {
            "__file__": path,
            "__cached__": spec.cached,
            "__loader__": spec.loader,
            "__package__": spec.parent,
            "__spec__": spec,
        }
    )
    sys.argv[0] = path
    return Program(code, main, path)


def located(name: str) -> tuple[ModuleSpec, types.CodeType]:
    """Return the spec and the code of a module; for a package, those of its `__main__`."""
    spec = found_spec(name)
    if spec is None:
        raise TargetError(f"there is no module {name}", "gradlife hunt -m module")
    if spec.submodule_search_locations is not None:
        if found_spec(f"{name}.__main__") is None:
            raise TargetError(f"{name} is a package without a __main__", f"gradlife hunt -m {name}.MODULE")
        return located(f"{name}.__main__")
    try:
        code = getattr(spec.loader, "get_code", lambda name: None)(name)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"the module {name} is no Python code: {error}", f"python -m {name}") from None
    if code is None:
        raise TargetError(f"the module {name} has no Python code", "gradlife hunt -m module")
    return spec, code


def found_spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module; None if there is none. Its parent packages run, and may fail."""
    if not all(name.split(".")):
        return None
    try:
        return importlib.util.find_spec(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            return None
        words = f"{type(error).__name__}: {error}"
        raise TargetError(f"the package of {name} cannot be imported: {words}", f"python -m {name}") from None


def become_main(names: dict[str, object]) -> types.ModuleType:
    """Replace the main module by a new one with these names, in Python's order."""
    main = types.ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__dict__.update(__annotations__={})
    main.__dict__.update(__builtins__=builtins, **names)
    sys.modules["__main__"] = main
    return main


def counted_code(counted: CallSteps, program: Program, is_launcher: bool = False) -> types.CodeType:
    """Return the program's code with calls of one function counted, in the main module or in one that it imports.

    A launcher need not define the function: a main module that it starts may.
    """
    if counted.module != MAIN:
        when_imported(counted.module, counted.attach)
        return program.code
    program.main.__dict__[DECORATOR] = counted.with_counting
    source = source_of(program.source)
    try:
        return counted.compile_decorated(source, program.source)
    except UsageError:
        if is_launcher:
            return program.code
        raise


def run_script(code: types.CodeType, main: types.ModuleType, on_end: Callable[[], object] = lambda: None) -> Ended:
    """Run the script to its end; print what it raises as Python does. ``on_end`` is called before its threads have ended."""
    if not admit():
        return Ended(INTERRUPTED)
    try:
        status = run_to_exit(code, main)
        on_end()
        wait_for_threads()
    except SystemExit as error:
        return Ended(exit_status(error.code))
    except EnoughSteps:
        return Ended(0)
    except TargetError:
        raise
    except BaseException as error:  # also an interrupt: the report comes first
        tell(error)
        return Ended(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, error)
    return Ended(status)


def run_to_exit(code: types.CodeType, main: types.ModuleType) -> int:
    """Run the script until it ends or calls `sys.exit`, which leaves its other threads running."""
    try:
        exec(code, main.__dict__)
    except SystemExit as error:
        return exit_status(error.code)
    return 0


def wait_for_threads() -> None:
    """Wait for threads that the script left running, as Python does at exit: first it runs the functions that end the
    idle threads of executors.
    """
    before: list[Callable[[], object]] = getattr(threading, "_threading_atexits", [])
    while before:
        before.pop()()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def exit_status(code: object) -> int:
    """Return the exit status for `sys.exit(code)`; print a code that is a message."""
    if code is None or is_a(code, int):
        return 0 if code is None else int.__and__(cast(int, code), 0xFF)
    with suppress(Exception):  # the program may have closed its standard error
        print(code, file=sys.stderr)
    return 1


def tell(error: BaseException) -> None:
    """Print the error that ended the script, through its own `excepthook`, without gradlife's frames. The program may have
    closed its standard error, or put an object of its own in its place.
    """
    strip_own_frames(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback_of(error)
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, traceback_of(error))
    except Exception:
        with suppress(Exception):
            traceback.print_exc()
    with suppress(Exception):
        sys.stderr.flush()


def strip_own_frames(error: BaseException) -> None:
    """Remove gradlife's frames from the top of a traceback."""
    trace = traceback_of(error)
    while trace is not None and is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    if trace is not None:
        BaseException.with_traceback(error, trace)


def is_own(file: str) -> bool:
    """Whether code is gradlife's, by its file name."""
    return file == "<hunt>" or file.startswith(OWN_FOLDER)
