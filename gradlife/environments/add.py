"""Add and remove environments. Repeating an interrupted addition continues it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gradlife.environments.ask_interpreter import Interpreter, ask
from gradlife.environments.install import InstallError, install, make_virtual_environment
from gradlife.environments.places import environment_folder, environments_folder
from gradlife.environments.probe_script import FRAMEWORKS
from gradlife.environments.records import FILE, Environment, environments, interpreter_at, read_record, write_record
from gradlife.errors import UnknownNameError, UsageError

#: The suffix of a folder that is being removed.
REMOVING = ".removing-"


def add(name: str, base: str, packages: Sequence[str]) -> Environment:
    """Make a virtual environment of this name from an interpreter (path or command) with these packages.

    Takes as long as pip: minutes, and up to 7 GB for a build with CUDA. Repeating a finished call returns at once;
    repeating an interrupted one continues it. `UsageError` if the name is taken or a package is not available.
    """
    folder = environment_folder(name)
    check_packages(packages)
    found = ask(find_python(base))
    wanted = Environment(name, found.path, tuple(packages), found.python)
    known = read_record(name)
    if known is not None and known.is_ready:
        return same_or_refused(known, wanted)
    is_new = prepare(folder, known, wanted)
    with alone(folder):
        write_record(wanted)
        try:
            make_virtual_environment(found.path, folder)
            install(wanted.interpreter, packages)
        except InstallError as error:
            if is_new and error.is_mistake:
                take_away(folder)
            raise
        made = filled(wanted, ask_for_framework(wanted))
        write_record(made)
        return made


def check_packages(packages: Sequence[str]) -> None:
    """Raise `UsageError` if an argument is not a package."""
    for package in packages:
        if not package.strip() or package.startswith("-"):
            raise UsageError(
                f"{package!r} is not a package", "torch==1.1.0; options of pip as its variables: PIP_INDEX_URL=..."
            )


def find_python(base: str) -> str:
    """Return the interpreter given by a path, a virtual environment's folder or a command."""
    if os.sep in base or base.startswith("~"):
        return interpreter_at(Path(os.path.expanduser(base)).absolute())
    found = shutil.which(base)
    if found is None:
        raise UsageError(f"there is no command {base!r}", "the path of a Python interpreter: --python PATH")
    return os.path.abspath(found)


def same_or_refused(known: Environment, wanted: Environment) -> Environment:
    """Return the existing environment if it is the requested one; refuse otherwise."""
    if (known.packages, known.python) == (wanted.packages, wanted.python):
        return known
    has = f"{' '.join(known.packages)} on Python {known.python}"
    raise UsageError(f"{known.name} exists already, with {has}", f"another name, or gradlife env remove {known.name}")


def prepare(folder: Path, known: Environment | None, wanted: Environment) -> bool:
    """Make the folder, or remove an outdated environment from it. Return whether the folder is new."""
    is_new = not folder.exists()
    if known is None and not is_new and any(folder.iterdir()) and not (folder / FILE).exists():
        raise UsageError(
            f"{folder} exists and is not an environment of gradlife", "another name, or remove that folder"
        )
    if not is_new and (known is None or (known.base, known.python) != (wanted.base, wanted.python)):
        with alone(folder):
            take_away(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} can't be made: {error.strerror}", "another folder in GRADLIFE_HOME") from None
    return is_new


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another gradlife works on {folder.name}", "when that is done") from None
        yield
    finally:
        os.close(descriptor)


def ask_for_framework(environment: Environment) -> Interpreter:
    """Import the framework of a new environment, to prove that it works."""
    there = ask(environment.interpreter, name=environment.name).frameworks
    if not there:
        raise UsageError(
            f"{environment.name} has neither {' nor '.join(FRAMEWORKS)}",
            f"gradlife env remove {environment.name}, then with torch==VERSION among its packages",
        )
    named = [name for name in there if any(package.startswith(name) for package in environment.packages)]
    return ask(environment.interpreter, (named or list(there))[0], environment.name)


def filled(environment: Environment, found: Interpreter) -> Environment:
    """Return the environment with its framework and version."""
    return replace(environment, framework=found.framework, version=found.version)


def remove(name: str) -> None:
    """Remove the environment of this name with its files."""
    folder = environment_folder(name)
    if not (folder / FILE).exists():
        names = [environment.name for environment in environments()]
        raise UnknownNameError("environment", name, names, "gradlife env list")
    with alone(folder):
        take_away(folder)


def take_away(folder: Path) -> None:
    """Rename a folder, then remove it, so that no partial environment keeps the name."""
    if folder.is_symlink():
        folder.unlink()
        return
    trash = folder.with_name(REMOVING + folder.name)
    shutil.rmtree(trash, ignore_errors=True)
    os.replace(folder, trash)
    for leftover in environments_folder().glob(REMOVING + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
