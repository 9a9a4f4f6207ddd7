"""Distinguish a program's own modules from Python's and from installed libraries."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import ModuleType

from gradlife.safe_access import exact_text, loaded_modules

#: The module in which a program starts; in a notebook or prompt it has no file.
MAIN = "__main__"

#: Python's and Debian's names of a folder of installed packages.
PACKAGES = frozenset({"site-packages", "dist-packages"})


def program_modules() -> Iterator[str]:
    """Yield the names of loaded modules that belong to the program. Runs none of their code."""
    for name, module in newest_modules():
        file = file_of(name, module)
        if name == MAIN or (file is not None and is_program(file)):
            yield name


def newest_modules() -> list[tuple[str, ModuleType]]:
    """Return the loaded modules, the script first, then the latest import: a large program's own files come last."""
    modules = loaded_modules()
    modules.reverse()
    return sorted(modules, key=lambda module: module[0] != MAIN)


def file_of(name: str, module: ModuleType) -> str | None:
    """Return the file of a module. Python deletes the name from the module of a script that has ended; `argv` keeps it."""
    found = exact_text(vars(module).get("__file__"))
    if found is not None or name != MAIN or not sys.argv:
        return found
    first = exact_text(sys.argv[0])
    return absolute(first) if first is not None else None


def absolute(path: str) -> str:
    """Return an absolute path. A relative one stays as it is if the program has removed its working folder."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def is_program(file: str) -> bool:
    """Whether it belongs to neither a library, Python nor gradlife."""
    return file.endswith(".py") and not absolute(file).startswith(foreign_folders())


@functools.cache
def foreign_folders() -> tuple[str, ...]:
    """Return the folders of installed packages, of Python and of gradlife."""
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    folders.add(os.path.dirname(os.path.dirname(__file__)))
    return (*package_folders(), *(os.path.join(folder, "") for folder in folders))


def package_folders() -> tuple[str, ...]:
    """Return the folders of installed packages: also those of an environment that this one borrows from."""
    return package_folders_on(tuple(sys.path))


@functools.cache
def package_folders_on(search_path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of installed packages, those on a search path of modules among them."""
    folders = {sysconfig.get_path(name) for name in ("purelib", "platlib")} | {site.getusersitepackages()}
    folders |= {path for path in map(absolute, search_path) if os.path.basename(path) in PACKAGES}
    return tuple(os.path.join(folder, "") for folder in sorted(folders))
