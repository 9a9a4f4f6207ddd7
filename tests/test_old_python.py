"""Scenarios and their child worker run inside the interpreters of old frameworks: stdlib only, Python 3.7 at most."""

from __future__ import annotations

import pytest

from old_python import newer_syntax
from sources import ROOT, imports_in, is_ours, is_stdlib, python_files

WORKER = ("gradlife.runner.worker", "gradlife.probes")
# What the old interpreters of old frameworks import: the scenarios, the worker, and the package around them.
OLD_INTERPRETERS = (
    "gradlife/__init__.py",
    "gradlife/_version.py",
    "gradlife/errors.py",
    "gradlife/supported_python.py",
    "gradlife/visible_text.py",
    "gradlife/scenario.py",
    "gradlife/probes",
    "gradlife/runner/__init__.py",
    "gradlife/runner/worker",
    "scenarios",
)
OLD = sorted(
    {ROOT / name for name in OLD_INTERPRETERS if (ROOT / name).is_file()}
    | {path for name in OLD_INTERPRETERS for path in (ROOT / name).rglob("*.py")}
)


def test_what_old_interpreters_run_imports_the_stdlib_only() -> None:
    around = ("errors", "supported_python", "visible_text", "_version")
    inside = ("gradlife.scenario", *(f"gradlife.{name}" for name in around), *WORKER)
    wrong = [
        f"{path.name}:{found.line} imports {found.module}"
        for path in OLD
        for found in imports_in(path)
        if not is_stdlib(found.module) and not found.module.startswith(inside)
    ]
    assert wrong == []


def test_the_scenario_file_imports_nothing_else_of_gradlife() -> None:
    assert [found for found in imports_in(ROOT / "gradlife/scenario.py") if is_ours(found)] == []


def test_scenarios_import_nothing_of_gradlife_but_the_scenario_file() -> None:
    ours = [found for path in python_files("scenarios") for found in imports_in(path) if is_ours(found)]
    assert [found for found in ours if not found.module.startswith("gradlife.scenario")] == []


def test_what_old_interpreters_run_is_python_37() -> None:
    found = {path.name: newer_syntax(path.read_text("utf-8")) for path in OLD}
    assert {name: newer for name, newer in found.items() if newer} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if (n := 3): pass",
        "def f(a, /): pass",
        "match x:\n    case 1: pass",
        "from functools import cached_property",
        "import functools\n@functools.cache\ndef f(): pass",
        "import functools as ft\nft.cache",
        "import tomllib",
        "from typing import Protocol",
        "@dataclass(slots=True)\nclass A: pass",
        "def f(a: int | None): pass",
        "def f() -> list[int]: pass",
    ],
)
def test_what_python_37_lacks_is_noticed(source: str) -> None:
    assert len(newer_syntax(source)) == 1


def test_what_python_37_has_is_let_through() -> None:
    source = "from __future__ import annotations\nimport functools\n@functools.lru_cache()\n"
    source += "def f(a: int | None) -> list[int]: ..."
    assert newer_syntax(source) == []
