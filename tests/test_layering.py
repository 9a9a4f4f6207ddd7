"""Imports and includes point downwards only, and each outside package, torch above all, stays in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources import ROOT, Import, imports_in, imports_of, is_ours, is_stdlib, module_name, python_files, reached_headers

# Who may import whom inside gradlife. A part may always import itself, the package root and the version.
ALLOWED: dict[str, set[str]] = {
    "__init__": {"errors"},
    "errors": set(),
    "output": {"errors"},
    "model": {"errors"},
    "scenario": set(),
    "engine": {"errors", "_engine"},
    "environments": {"model", "errors"},
    "heap": {"errors", "output", "model", "_heap"},
    "patterns": {"model", "errors"},
    "hunting": {"heap", "patterns", "model", "output", "errors", "_heap"},
    "backends": {"engine", "environments", "model", "errors", "scenario"},
    "probes": {"model", "errors"},
    "runner": {"backends", "environments", "probes", "scenario", "heap", "model", "errors"},
    "checkup": {"runner", "backends", "environments", "heap", "hunting", "model", "errors", "_heap"},
    "notebook": {"interactive", "hunting", "heap", "reports", "model", "errors"},
    "tui": {"heap", "reports", "model", "errors"},
    "interactive": {"heap", "hunting", "reports", "patterns", "model", "output", "errors"},
    "reports": {"model", "patterns", "errors"},
    "pytest_plugin": {
        "runner",
        "backends",
        "probes",
        "scenario",
        "reports",
        "heap",
        "hunting",
        "patterns",
        "model",
        "output",
        "errors",
        "_heap",
    },
    "cli": {
        "runner",
        "backends",
        "probes",
        "scenario",
        "reports",
        "heap",
        "hunting",
        "interactive",
        "tui",
        "checkup",
        "patterns",
        "engine",
        "environments",
        "model",
        "output",
        "errors",
    },
    "__main__": {"cli"},
}
ANYWHERE = {"__init__", "_version"}
THIRD_PARTY = {
    "jinja2": {"reports"},
    "markupsafe": {"reports"},
    "IPython": {"notebook"},
    "rich": {"reports", "cli", "tui", "notebook"},
    "textual": {"tui"},
    "packaging": {"patterns"},
    "psutil": {"probes", "runner"},
    "pytest": {"pytest_plugin"},
    "numpy": {"engine"},
}


def part_of(module: str) -> str:
    """The part of gradlife that a module belongs to: gradlife.runner.worker.lab -> runner."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def part_imported(module: str) -> str:
    """The part that an import reaches; `from gradlife import __version__` reaches the root only."""
    name = part_of(module)
    return name if name in {*ALLOWED, "_engine", "_heap"} else "__init__"


def arrows_up(module: str, imports: list[Import]) -> list[str]:
    part = part_of(module)
    reached = [(part_imported(found.module), found) for found in imports if is_ours(found)]
    allowed = ALLOWED.get(part, set()) | ANYWHERE | {part}
    return [f"{module}:{found.line} imports {found.module}" for name, found in reached if name not in allowed]


def foreign_imports(module: str, imports: list[Import]) -> list[str]:
    part = part_of(module)
    wrong = []
    for found in imports:
        package = found.module.split(".")[0]
        if is_ours(found) or is_stdlib(found.module) or part in THIRD_PARTY.get(package, set()):
            continue
        if package == "torch" and module.endswith(".torch"):
            continue
        wrong.append(f"{module}:{found.line} imports {found.module}")
    return wrong


PACKAGE = python_files("gradlife")
by_path = pytest.mark.parametrize("path", PACKAGE, ids=lambda path: path.relative_to(ROOT).as_posix())


@by_path
def test_imports_point_downwards(path: Path) -> None:
    assert arrows_up(module_name(path), imports_in(path)) == []


@by_path
def test_other_packages_are_imported_only_where_they_belong(path: Path) -> None:
    assert foreign_imports(module_name(path), imports_in(path)) == []


def test_every_part_of_the_package_has_a_place_in_the_layers() -> None:
    parts = {part_of(module_name(path)) for path in PACKAGE}
    assert parts - ANYWHERE <= set(ALLOWED)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gradlife.model.reading", "from gradlife.runner import compare"),
        ("gradlife.model.reading", "def late():\n    import gradlife.cli"),
        ("gradlife.probes.expiry", "from ..runner.compare import compare"),
        ("gradlife.reports.terminal", "from gradlife import engine"),
        ("gradlife.pytest_plugin.plugin", "from gradlife.cli import main"),
        ("gradlife.errors", "from . import model"),
    ],
)
def test_an_arrow_up_is_noticed(module: str, source: str) -> None:
    assert len(arrows_up(module, imports_of(source, module))) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gradlife.backends.mini", "import torch"),
        ("gradlife.runner.torches", "from torch import nn"),
        ("gradlife.model.run", "import rich.console"),
        ("gradlife.cli.list", "import pytest"),
    ],
)
def test_a_package_out_of_its_place_is_noticed(module: str, source: str) -> None:
    assert len(foreign_imports(module, imports_of(source, module))) == 1


def test_what_is_allowed_is_let_through() -> None:
    source = "import torch\nfrom .base import Backend\nfrom gradlife import __version__\n"
    source += "if TYPE_CHECKING:\n    import gradlife.cli"
    found = imports_of(source, "gradlife.backends.torch")
    assert arrows_up("gradlife.backends.torch", found) == foreign_imports("gradlife.backends.torch", found) == []


# Folders of csrc that a folder may include from, besides its own, and whether it may know Python.
CPP_ALLOWED: dict[str, tuple[set[str], bool]] = {
    "base": (set(), True),
    "engine": ({"base"}, False),
    "engine_py": ({"base", "engine"}, True),
    "heapgraph": (set(), False),
    "heap_py": ({"base", "heapgraph"}, True),
}
PYTHON_HEADERS = {"<Python.h>", "<structmember.h>", "<frameobject.h>"}
CSRC = ROOT / "csrc"
CPP = sorted(path for pattern in ("*.cpp", "*.hpp", "*.h") for path in CSRC.rglob(pattern))


def wrong_includes(path: Path, csrc: Path) -> list[str]:
    folder = path.relative_to(csrc).parts[0]
    allowed, may_know_python = CPP_ALLOWED[folder]
    reached = sorted(reached_headers(path, csrc))
    ours = [header for header in reached if not header.startswith("<")]
    python = [header for header in reached if header in PYTHON_HEADERS and not may_know_python]
    return python + [header for header in ours if header.split("/")[0] not in allowed | {folder}]


@pytest.mark.parametrize("path", CPP, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_includes_point_downwards_and_the_engine_never_reaches_python(path: Path) -> None:
    assert wrong_includes(path, CSRC) == []


def test_python_behind_another_header_is_noticed(tmp_path: Path) -> None:
    for folder in ("base", "engine", "engine_py"):
        (tmp_path / folder).mkdir()
    (tmp_path / "base/pyref.hpp").write_text("#pragma once\n#include <Python.h>\n")
    (tmp_path / "engine/node.hpp").write_text('#include "base/pyref.hpp"\n')
    (tmp_path / "engine/node.cpp").write_text('  #  include "node.hpp"\n#include <vector>\n')
    (tmp_path / "base/up.cpp").write_text('#include "engine/node.hpp"\n')
    assert wrong_includes(tmp_path / "engine/node.cpp", tmp_path) == ["<Python.h>"]
    assert wrong_includes(tmp_path / "base/up.cpp", tmp_path) == ["engine/node.hpp"]
    assert wrong_includes(tmp_path / "base/pyref.hpp", tmp_path) == []
