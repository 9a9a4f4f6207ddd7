"""Facts about the source files: imports and includes, read without running anything."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute name, and where it is written."""

    module: str
    line: int


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, is_package: bool = False, for_types: bool = False) -> list[Import]:
    """Every import in the source, inside functions too; with `for_types` those that only a type checker follows as well."""
    tree = ast.parse(source)
    skipped = set() if for_types else {id(node) for branch in _type_checking(tree) for node in ast.walk(branch)}
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, is_package)
            # `from gradlife import model` names a module, `from gradlife.model import Reading` a thing in one
            found += [Import(f"{base}.{alias.name}", node.lineno) for alias in node.names]
    return found


def _type_checking(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from node.body


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    return ".".join(parts[:keep] + ([node.module] if node.module else []))


def imports_in(path: Path, root: Path = ROOT, for_types: bool = False) -> list[Import]:
    return imports_of(path.read_text("utf-8"), module_name(path, root), path.name == "__init__.py", for_types)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the rings of modules that import one another, each sorted."""
    reached = {module: _reached(graph, module) for module in graph}
    rings = {frozenset(other for other in reached[module] if module in reached.get(other, ())) for module in graph}
    return sorted(sorted(ring) for ring in rings if len(ring) > 1)


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in reached and other != "gradlife":
                reached.add(other)
                waiting.append(other)
    return reached


def is_ours(found: Import) -> bool:
    return found.module.split(".")[0] == "gradlife"


def is_stdlib(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names


def includes_of(path: Path) -> list[tuple[str, str]]:
    """The includes of a C++ file: ('<' or '"', what stands between)."""
    return [(kind, name) for kind, name in INCLUDE.findall(path.read_text("utf-8"))]


def reached_headers(path: Path, csrc: Path) -> set[str]:
    """Return the includes of a file, transitively: `<header>` for system ones, paths from csrc for ours."""
    reached: set[str] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        for kind, name in includes_of(current):
            target = _resolved(current, name, csrc) if kind == '"' else None
            label = target.relative_to(csrc).as_posix() if target else f"<{name}>"
            if label not in reached:
                reached.add(label)
                waiting += [target] if target else []
    return reached


def _resolved(current: Path, name: str, csrc: Path) -> Path | None:
    for folder in (current.parent, csrc):
        candidate = (folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(csrc):
            return candidate
    return None
