"""The record of a registered environment: one small JSON file in its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from gradlife.environments.places import environment_folder, environments_folder, python_of
from gradlife.errors import UnknownNameError, UsageError

FILE = "gradlife.json"


@dataclass(frozen=True, slots=True)
class Environment:
    """A named virtual environment, with the requested and the installed versions."""

    name: str
    base: str  # path of the interpreter that it was made from
    packages: tuple[str, ...]  # as requested
    python: str  # the version of Python, such as "3.10.13"
    framework: str = ""  # "torch", for example; empty until all packages are installed
    version: str = ""  # of the framework

    @property
    def folder(self) -> Path:
        """The folder of the environment."""
        return environment_folder(self.name)

    @property
    def interpreter(self) -> str:
        """The path of its interpreter."""
        return str(python_of(self.folder))

    @property
    def is_ready(self) -> bool:
        """Whether everything is installed."""
        return bool(self.framework)


def write_record(environment: Environment) -> None:
    """Write an environment's record atomically."""
    file = environment.folder / FILE
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(environment), indent=1) + "\n", encoding="utf-8")
    os.replace(partial, file)


def read_record(name: str) -> Environment | None:
    """Read the record of the environment of this name; None if it is missing or unreadable."""
    try:
        content = json.loads((environment_folder(name) / FILE).read_text(encoding="utf-8"))
        values = {field.name: content[field.name] for field in fields(Environment)}
        values["name"] = name  # the folder may have been renamed since
        values["packages"] = tuple(values["packages"])
        return Environment(**values)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def environments() -> tuple[Environment, ...]:
    """Return all recorded environments, by name."""
    return tuple(_records())


def _records() -> Iterator[Environment]:
    folder = environments_folder()
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for name in names:
        if (folder / name / FILE).is_file():
            record = read_record(name)
            if record is not None:
                yield record


def interpreter_of(place: str) -> str:
    """Return the path of an interpreter.

    `place` is a path of an interpreter, a folder of a virtual environment, or a registered name.
    """
    if os.sep in place or place.startswith("~"):
        return interpreter_at(Path(os.path.expanduser(place)).absolute())
    known = environments()
    for environment in known:
        if environment.name == place:
            return checked(environment).interpreter
    names = [environment.name for environment in known]
    raise UnknownNameError(
        "environment", place, names, "see gradlife env list, or give a path such as ./venv/bin/python"
    )


def interpreter_at(path: Path) -> str:
    """Return the interpreter at a path: the path itself, or if it is a virtual environment's folder, the interpreter in it."""
    if path.is_dir() and not python_of(path).exists():
        raise UsageError(f"{path} is a folder without bin/python", hint="give the path of a Python interpreter")
    return str(python_of(path) if path.is_dir() else path)


def checked(environment: Environment) -> Environment:
    """Return the environment; raise UsageError if its installation was interrupted."""
    if environment.is_ready:
        return environment
    words = " ".join(environment.packages)
    raise UsageError(
        f"the installation of {environment.name} was interrupted",
        f"gradlife env add {environment.name} --python {environment.base} {words}",
    )
