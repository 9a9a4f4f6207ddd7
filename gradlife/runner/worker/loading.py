"""Loads a scenario file by its path."""

from __future__ import annotations

import importlib.util
import os
import sys

from gradlife.scenario import COLLECTED, Scenario


def suite_of(path: str) -> str:
    """The suite of a scenario file: the name of the folder that it is in."""
    return os.path.basename(os.path.dirname(os.path.abspath(path)))


def load_file(path: str) -> list[Scenario]:
    """The scenarios of a file in the order in which they are written. Whatever the file raises is passed on."""
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a scenario file's folder is its owner's
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes_bytecode
        del sys.modules[name]
    return list(vars(module).get(COLLECTED, ()))


def load_as_main(path: str) -> list[Scenario]:
    """The same with the file as the interpreter's main program, whose globals go down with it at exit."""
    namespace = vars(sys.modules["__main__"])
    namespace.update(__name__=module_name(path), __file__=path)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, namespace)
    return list(namespace.pop(COLLECTED, ()))


def module_name(path: str) -> str:
    """Name of a scenario file as a module; not `__main__`, so that what a file does only as a script stays undone."""
    return f"gradlife_story_{suite_of(path)}_{os.path.splitext(os.path.basename(path))[0]}"
