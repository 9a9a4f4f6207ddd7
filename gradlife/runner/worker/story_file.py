"""Load a scenario file by its path."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import CodeType
from typing import Any

from gradlife.scenario import COLLECTED, Scenario


def suite_of(path: str) -> str:
    """Return the suite of a scenario file: the name of its folder."""
    return os.path.basename(os.path.dirname(os.path.abspath(path)))


def load_file(path: str) -> list[Scenario]:
    """Return a file's scenarios in file order. Exceptions of the file are passed on."""
    name = module_name(path)
    spec = spec_of(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(code_of(path, spec), vars(module))
    finally:
        del sys.modules[name]
    return list(vars(module).get(COLLECTED, ()))


def spec_of(path: str) -> Any:
    """Return the import spec of a file."""
    spec = importlib.util.spec_from_file_location(module_name(path), path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    return spec


#: The latest file's code, by path, time and size: its stories run one after the other, each in a copy.
_latest: dict[tuple[str, int, int], CodeType] = {}


def code_of(path: str, spec: Any = None) -> CodeType:
    """Return a file's compiled code, cached until another file is requested."""
    status = os.stat(path)
    stamp = (path, status.st_mtime_ns, status.st_size)
    if stamp not in _latest:
        writes_bytecode = sys.dont_write_bytecode
        sys.dont_write_bytecode = True  # write nothing into the user's folder
        try:
            code = (spec or spec_of(path)).loader.get_code(module_name(path))
        finally:
            sys.dont_write_bytecode = writes_bytecode
        _latest.clear()
        _latest[stamp] = code
    return _latest[stamp]


def load_as_main(path: str) -> list[Scenario]:
    """Load the file as the interpreter's main program, whose globals are destroyed at exit."""
    namespace = vars(sys.modules["__main__"])
    namespace.update(__name__=module_name(path), __file__=path)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, namespace)
    return list(namespace.pop(COLLECTED, ()))


def module_name(path: str) -> str:
    """Return a scenario file's module name; not `__main__`, so that code under that guard does not run."""
    return f"gradlife_story_{suite_of(path)}_{os.path.splitext(os.path.basename(path))[0]}"
