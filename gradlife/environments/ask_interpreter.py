"""Ask an interpreter for its version and frameworks. Any failure becomes a one-line error."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradlife.environments import probe_script
from gradlife.environments.child_lines import LineReader, Silence, last_line
from gradlife.errors import UsageError, shortened

#: Seconds for an interpreter to answer and for a framework's import.
START_LIMIT = 60.0
IMPORT_LIMIT = 180.0

#: Seconds for an interpreter to end after it closed its answer pipe.
END_LIMIT = 30.0

#: The oldest Python that the worker supports.
OLDEST_PYTHON = (3, 7)

#: Limits to one thread: a process with several threads cannot be forked safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

#: Environment variables of a child that runs stories.
CHILD_VARIABLES = {**ONE_THREAD, "PYTHONFAULTHANDLER": "1"}

#: Variables that would give an interpreter another one's packages, and the one that makes gradlife serve.
FOREIGN_VARIABLES = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONEXECUTABLE",
    "__PYVENV_LAUNCHER__",
    "GRADLIFE_SERVE",
)


class InterpreterError(UsageError):
    """The interpreter does not start, is too old, or lacks the requested framework."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter's description of itself."""

    path: str
    python: str  # its version
    platform: str
    abi: str
    frameworks: tuple[str, ...] = ()  # installed frameworks, if none was requested by name
    framework: str = ""
    version: str = ""  # of the framework
    is_threaded: bool = False  # whether the framework starts threads when it is imported


def ask(path: str, framework: str = "", name: str = "") -> Interpreter:
    """Start an interpreter, let it import a framework if one is named, and return its answer.

    name is the interpreter's name in errors, by default its path. Raises `InterpreterError` if there is no answer
    within START_LIMIT and IMPORT_LIMIT seconds.
    """
    with Conversation(path, framework, name or path) as talk:
        facts = talk.interpreter()
        if not framework:
            return Interpreter(path, *facts, frameworks=tuple(talk.frameworks()))
        return Interpreter(path, *facts, (framework,), framework, *talk.version_of(framework))


def child_environment(path: str) -> dict[str, str]:
    """Return the environment variables for another interpreter: only its own packages, with their wheels' libraries.

    OneFlow's wheels expect cuDNN on the loader's path, not where nvidia's wheels put it.
    """
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN_VARIABLES}
    brought = sorted(map(str, Path(path).absolute().parent.parent.glob("lib/python3*/site-packages/nvidia/*/lib")))
    if brought:
        known = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join([*([known] if known else []), *brought])
    return environment


class Conversation:
    """One started interpreter, from the first question to its end."""

    def __init__(self, path: str, framework: str, name: str) -> None:
        self._name = name
        self._folder = tempfile.TemporaryDirectory(prefix="gradlife-", ignore_cleanup_errors=True)
        output, theirs_output = os.pipe()
        answers, theirs = os.pipe()
        self._reader = LineReader(answers, output)
        try:
            self._process = subprocess.Popen(
                [path, "-c", question_text(), str(theirs), framework],
                stdin=subprocess.DEVNULL,
                stdout=theirs_output,
                stderr=theirs_output,
                pass_fds=(theirs,),
                env={**child_environment(path), **ONE_THREAD},
                cwd=self._folder.name,  # OneFlow writes a log where it is started
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._reader.close()
            self._folder.cleanup()
            raise self._error(f"does not start: {reason_of(error)}") from None
        finally:
            os.close(theirs)
            os.close(theirs_output)

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.close()
        self._folder.cleanup()

    def interpreter(self) -> tuple[str, str, str]:
        """Return the version, platform and ABI of the interpreter, if it can run stories."""
        try:
            facts = self._answer(START_LIMIT)
            version, implementation = tuple(facts["version"]), facts["implementation"]
            found = str(facts["python"]), str(facts["platform"]), str(facts["abi"])
        except Silence as silence:
            raise self._error(self._ending("says nothing", START_LIMIT, silence)) from None
        except (ValueError, KeyError, TypeError):
            raise self._error("is not a Python interpreter") from None
        if implementation != "CPython":
            raise self._error(f"is {shortened(str(implementation))}, which does not count references: use CPython")
        if version < OLDEST_PYTHON:
            raise self._error(f"is Python {found[0]}, and the oldest supported is {'.'.join(map(str, OLDEST_PYTHON))}")
        return found

    def frameworks(self) -> list[str]:
        """Return the frameworks that can be imported."""
        try:
            return [str(name) for name in self._answer(START_LIMIT)["there"]]
        except (Silence, ValueError, KeyError, TypeError):
            return []

    def version_of(self, framework: str) -> tuple[str, bool]:
        """Return the version of the requested framework, and whether it starts threads."""
        try:
            facts = self._answer(IMPORT_LIMIT)
        except Silence as silence:
            raise self._error(self._ending(f"does not import {framework}", IMPORT_LIMIT, silence)) from None
        except ValueError:
            raise self._error(f"answers in garbage when it imports {framework}") from None
        if "error" in facts:
            raise self._not_imported(framework, facts)
        own, version = str(facts.get("framework")), str(facts.get("version"))
        if own != framework:
            hint = f"{own}@{self._name}" if own in probe_script.FRAMEWORKS else install_hint(framework)
            raise self._error(f"calls its {framework} {shortened(own)!r}", hint)
        if not version[:1].isdigit():
            raise self._error(f"has a {framework} without a version", install_hint(framework))
        return version, facts.get("threads", 1) != 1

    def _answer(self, limit: float) -> dict[str, Any]:
        facts = json.loads(self._reader.line(limit).decode("utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("no object")
        return facts

    def _ending(self, what: str, limit: float, silence: Silence) -> str:
        """Return why there is no answer: time is up, or the interpreter ended."""
        if silence.is_late:
            return f"{what} in {limit:g} s"
        try:
            code = self._process.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            return f"{what}: it closed its answer descriptor"
        words = shortened(last_line(self._reader.last_words()), 200)
        return f"{what}: {ending(code)}" + (f": {words}" if words else "")

    def _not_imported(self, framework: str, facts: Mapping[str, Any]) -> InterpreterError:
        """Return the error for a framework that is absent or fails to import."""
        there = [str(name) for name in facts.get("there", ())]
        if framework in there:
            return self._error(f"does not import {framework}: {facts['error']}", import_hint(str(facts["error"])))
        hint = " or ".join(f"{name}@{self._name}" for name in there) or install_hint(framework)
        return self._error(f"has no {framework}", hint)

    def _error(
        self, what: str, hint: str = "gradlife env list; or the path of a Python interpreter"
    ) -> InterpreterError:
        return InterpreterError(f"{self._name} {what}", hint)


def question_text() -> str:
    """Return the program for the interpreter. It imports nothing from the current folder."""
    prelude = "import sys\nsys.path[:] = [entry for entry in sys.path if entry]\n"
    return prelude + Path(probe_script.__file__).read_text(encoding="utf-8")


def install_hint(framework: str) -> str:
    """Return how to make an environment with a framework."""
    return f"gradlife env add NAME --python PATH {framework}==VERSION"


def import_hint(error: str) -> str:
    """Return the remedy for a framework that cannot be imported."""
    if "libcudnn" in error or "libcublas" in error:
        return (
            "add nvidia-cudnn-cu11==8.5.0.96 to its packages: gradlife env add NAME --python PATH oneflow==VERSION ..."
        )
    if "numpy" in error.lower():
        return "a numpy of its time: gradlife env add NAME --python PATH torch==VERSION numpy==VERSION"
    return "import it in that interpreter to see the whole error"


def ending(code: int) -> str:
    """Describe how a process ended."""
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was killed by signal {-code}"


def reason_of(error: Exception) -> str:
    """Return why a process could not be started."""
    return (getattr(error, "strerror", None) or str(error)).lower()
