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
    name = f"gradlife_story_{suite_of(path)}_{os.path.splitext(os.path.basename(path))[0]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return list(vars(module).get(COLLECTED, ()))
