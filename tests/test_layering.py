"""Imports and includes point one way, between parts and inside them, and each outside package stays in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources import (
    ROOT,
    Import,
    cycles,
    imports_in,
    imports_of,
    is_ours,
    is_stdlib,
    module_name,
    python_files,
    reached_headers,
)

# Who may import whom inside gradlife. A part may always import itself, the package root and the version.
ALLOWED: dict[str, set[str]] = {
    "__init__": {"errors", "supported_python"},
    "errors": set(),
    "supported_python": set(),
    "visible_text": set(),
    "output": {"descriptors", "errors"},
    "overwriting": {"errors"},
    "model": {"errors"},
    "safe_access": set(),
    "after_fork": {"safe_access"},
    "own_thread": {"output"},
    "descriptors": set(),
    "scenario": set(),
    "engine": {"errors", "_engine"},
    "readable": set(),
    "environments": {"model", "errors", "readable"},
    "bisection": {"environments", "model", "errors"},
    "heap": {"safe_access", "after_fork", "errors", "output", "model", "_heap"},
    "source": {"model"},
    "patterns": {"source", "model", "errors"},
    "hunting": {
        "source",
        "descriptors",
        "own_thread",
        "safe_access",
        "after_fork",
        "heap",
        "patterns",
        "model",
        "output",
        "errors",
        "_heap",
        "readable",
    },
    "peaks": {
        "source",
        "descriptors",
        "own_thread",
        "safe_access",
        "after_fork",
        "heap",
        "hunting",
        "model",
        "output",
        "errors",
        "_heap",
        "readable",
    },
    "program": {
        "source",
        "descriptors",
        "own_thread",
        "safe_access",
        "after_fork",
        "heap",
        "patterns",
        "hunting",
        "peaks",
        "model",
        "output",
        "errors",
        "_heap",
        "readable",
    },
    "devices": {"safe_access", "heap", "hunting", "patterns", "peaks", "model", "errors", "_heap"},
    "attach": {
        "descriptors",
        "own_thread",
        "after_fork",
        "heap",
        "hunting",
        "peaks",
        "program",
        "model",
        "output",
        "errors",
        "readable",
    },
    "ranks": {"hunting", "program", "model", "output", "errors"},
    "probes": {"model", "errors"},
    "backends": {"engine", "environments", "model", "errors", "scenario"},
    "runner": {"backends", "environments", "probes", "scenario", "heap", "model", "errors"},
    "doctor": {"runner", "backends", "environments", "heap", "program", "model", "errors", "_heap"},
    "interactive": {"safe_access", "heap", "hunting", "program", "reports", "patterns", "model", "output", "errors"},
    "reports": {"model", "patterns", "errors"},
    "mcp_server": {"errors"},
    "pytest_plugin": {
        "supported_python",
        "safe_access",
        "runner",
        "backends",
        "probes",
        "scenario",
        "reports",
        "heap",
        "hunting",
        "peaks",
        "program",
        "patterns",
        "model",
        "output",
        "overwriting",
        "errors",
        "_heap",
    },
    "cli": {
        "descriptors",
        "runner",
        "backends",
        "probes",
        "scenario",
        "reports",
        "heap",
        "hunting",
        "attach",
        "devices",
        "program",
        "ranks",
        "interactive",
        "mcp_server",
        "doctor",
        "patterns",
        "engine",
        "environments",
        "bisection",
        "model",
        "output",
        "overwriting",
        "errors",
    },
    "__main__": {"cli"},
}
ANYWHERE = {"__init__", "_version", "visible_text"}
THIRD_PARTY = {
    "jinja2": {"reports"},
    "markupsafe": {"reports"},
    "IPython": {"interactive"},
    "rich": {"reports", "cli", "interactive"},
    "textual": {"interactive"},
    "packaging": {"patterns", "bisection"},
    "psutil": {"probes", "runner"},
    "pytest": {"pytest_plugin"},
    "numpy": {"engine"},
    "gdb": {"attach"},
    "lldb": {"attach"},
    "in_debugger": {"attach"},  # inside a debugger, where gradlife is no package
    "prometheus_client": {"reports"},
}
# The folders inside a part, lowest first: each may import those before it. "" is what lies in the part's own folder.
INSIDE: dict[str, tuple[str, ...]] = {
    "heap": ("torch_layout", "", "views"),
    "hunting": ("process", "snapshots", "steps", "growth", "stores", "findings", "session", "workers"),
    "interactive": ("", "tui", "notebook"),
    "peaks": ("sources", "recording", "edits", "analysis", ""),
    "program": ("", "hunt", "peak", "snapshot"),
    "patterns": ("matching", "rules", "rewrites", ""),
    "pytest_plugin": ("settings", "outcomes", "checks", "scenarios", ""),
    "reports": ("", "document", "drawing", "run", "hunt", "peak", "devices", "heap", "formats", "html"),
    "runner": ("worker", "", "tour"),
}
# The engine's modules are torch's, which import one another in circles.
HAS_TORCHS_OWN_CYCLES = "gradlife.engine"


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


def folder_of(module: str, is_package: bool = False) -> str:
    """The folder of its part that a module lies in: gradlife.reports.html.page -> html, gradlife.reports.theme -> ""."""
    parts = module.split(".")
    return parts[2] if len(parts) > (2 if is_package else 3) else ""


def arrows_up_inside(module: str, imports: list[Import], modules: dict[str, bool]) -> list[str]:
    """Imports of a folder of the same part that lies above. `modules`: every module, and whether it is a package."""
    order = INSIDE.get(part_of(module), ())
    if not order:
        return []
    own = order.index(folder_of(module, modules.get(module, False))) if module.count(".") > 1 else len(order)
    wrong = []
    for found in imports:
        target = found.module if found.module in modules else found.module.rpartition(".")[0]
        if target not in modules or part_of(target) != part_of(module) or target.count(".") < 2:
            continue
        if order.index(folder_of(target, modules[target])) > own:
            wrong.append(f"{module}:{found.line} imports {found.module}")
    return wrong


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
MODULES = {module_name(path): path.name == "__init__.py" for path in PACKAGE}


def test_imports_point_downwards() -> None:
    assert [wrong for path in PACKAGE for wrong in arrows_up(module_name(path), imports_in(path))] == []


def test_imports_inside_a_part_point_downwards_even_those_for_types() -> None:
    found = [arrows_up_inside(module_name(path), imports_in(path, for_types=True), MODULES) for path in PACKAGE]
    assert [wrong for wrongs in found for wrong in wrongs] == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        module_name(path): {_known(found.module) for found in imports_in(path, for_types=True)} for path in PACKAGE
    }
    assert [ring for ring in cycles(graph) if not ring[0].startswith(HAS_TORCHS_OWN_CYCLES)] == []


def _known(name: str) -> str:
    return name if name in MODULES else name.rpartition(".")[0]


def test_a_ring_of_imports_is_noticed() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_other_packages_are_imported_only_where_they_belong() -> None:
    assert [wrong for path in PACKAGE for wrong in foreign_imports(module_name(path), imports_in(path))] == []


def test_every_part_of_the_package_has_a_place_in_the_layers() -> None:
    parts = {part_of(module_name(path)) for path in PACKAGE}
    assert parts - ANYWHERE <= set(ALLOWED)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gradlife.model.reading", "from gradlife.runner import compare"),
        ("gradlife.model.reading", "def late():\n    import gradlife.cli"),
        ("gradlife.probes.expiry", "from ..runner.compare import compare"),
        ("gradlife.reports.run.run", "from gradlife import engine"),
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


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gradlife.hunting.growth.groups", "from gradlife.hunting.session import method"),
        ("gradlife.hunting.process.forked", "if TYPE_CHECKING:\n    from gradlife.hunting.session import method"),
        ("gradlife.reports.theme", "from gradlife.reports.html.page import page"),
        ("gradlife.heap.torch_layout.fields", "def late():\n    from gradlife.heap.why import why"),
    ],
)
def test_an_arrow_up_inside_a_part_is_noticed(module: str, source: str) -> None:
    assert len(arrows_up_inside(module, imports_of(source, module, for_types=True), MODULES)) == 1


def test_what_is_allowed_is_let_through() -> None:
    source = "import torch\nfrom .base import Backend\nfrom gradlife import __version__\n"
    source += "if TYPE_CHECKING:\n    import gradlife.cli"
    found = imports_of(source, "gradlife.backends.torch")
    assert arrows_up("gradlife.backends.torch", found) == foreign_imports("gradlife.backends.torch", found) == []


# Folders of csrc, lowest first: a file may include its own folder's headers and those of folders before it in its row.
ENGINE = (
    "base",
    "engine/policy",
    "engine/tensor",
    "engine/graph",
    "engine/backward",
    "engine/ops/kernels",
    "engine/ops",
    "engine_py/interpreter",
    "engine_py/wrappers",
    "engine_py/call",
    "engine_py/hooks",
    "engine_py/functions",
    "engine_py/types",
    "engine_py/ops",
    "engine_py/api",
)
HEAP = (
    "base",
    "heapgraph/graph",
    "heapgraph/analysis",
    "heapgraph/collector",
    "heapgraph/frozen",
    "heapgraph/file",
    "heap_py/interpreter",
    "heap_py/memory",
    "heap_py/walk",
    "heap_py/labels",
    "heap_py/providers/numpy",
    "heap_py/providers/engine",
    "heap_py/providers/torch",
    "heap_py/providers",
    "heap_py/native",
    "heap_py/creations",
    "heap_py/lifetimes",
    "heap_py/api",
)
KNOWS_PYTHON = ("base", "engine_py", "heap_py")
PYTHON_HEADERS = {"<Python.h>", "<structmember.h>", "<frameobject.h>"}
CSRC = ROOT / "csrc"
CPP = sorted(path for pattern in ("*.cpp", "*.hpp", "*.h") for path in CSRC.rglob(pattern))


def wrong_includes(path: Path, csrc: Path) -> list[str]:
    folder = path.relative_to(csrc).parent.as_posix()
    row = ENGINE if folder in ENGINE else HEAP
    allowed = row[: row.index(folder) + 1]
    reached = sorted(reached_headers(path, csrc))
    python = [header for header in reached if header in PYTHON_HEADERS and folder.split("/")[0] not in KNOWS_PYTHON]
    ours = [header for header in reached if not header.startswith("<")]
    return python + [header for header in ours if header.rpartition("/")[0] not in allowed]


def test_includes_point_downwards_and_the_engine_never_reaches_python() -> None:
    found = {path.relative_to(CSRC).as_posix(): wrong_includes(path, CSRC) for path in CPP}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_python_behind_another_header_is_noticed(tmp_path: Path) -> None:
    for folder in ("base", "engine/graph", "engine/backward"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "base/pyref.hpp").write_text("#pragma once\n#include <Python.h>\n")
    (tmp_path / "engine/graph/node.hpp").write_text('#include "base/pyref.hpp"\n')
    (tmp_path / "engine/backward/run.hpp").write_text("")
    (tmp_path / "engine/graph/node.cpp").write_text('  #  include "node.hpp"\n#include <vector>\n')
    (tmp_path / "base/up.cpp").write_text('#include "engine/graph/node.hpp"\n')
    (tmp_path / "engine/graph/up.cpp").write_text('#include "engine/backward/run.hpp"\n')
    assert wrong_includes(tmp_path / "engine/graph/node.cpp", tmp_path) == ["<Python.h>"]
    assert wrong_includes(tmp_path / "engine/graph/up.cpp", tmp_path) == ["engine/backward/run.hpp"]
    assert wrong_includes(tmp_path / "base/up.cpp", tmp_path) == ["engine/graph/node.hpp"]
    assert wrong_includes(tmp_path / "base/pyref.hpp", tmp_path) == []
