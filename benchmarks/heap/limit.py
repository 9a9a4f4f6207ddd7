"""The physical limit as a module: compiled from limit.c on first use, for the current interpreter."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).with_name("limit.c")
HEADER = Path(__file__).with_name("limit_graph.h")
FOLDER = Path(__file__).parents[2] / "build" / "bench-heap"


def load_limit() -> ModuleType:
    """Load the extension, rebuilt if its source is newer."""
    built = FOLDER / f"gradlife_limit{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not built.exists() or built.stat().st_mtime < max(path.stat().st_mtime for path in (SOURCE, HEADER)):
        compile_limit(built)
    spec = importlib.util.spec_from_file_location("gradlife_limit", built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_limit(built: Path) -> None:
    built.parent.mkdir(parents=True, exist_ok=True)
    compiler = shlex.split(str(sysconfig.get_config_var("CC") or "cc"))[0]
    flags = ["-O3", "-fno-strict-aliasing", "-Wall", "-Wextra", "-fPIC", "-shared"]
    subprocess.run([compiler, *flags, f"-I{sysconfig.get_path('include')}", str(SOURCE), "-o", str(built)], check=True)
