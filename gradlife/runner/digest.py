"""The digest of a story: it changes with the story's code, and not with its comments.

It covers the story's code and everything in its file that this code uses, but no comments, docstrings, formatting or
declarations of expected readings. A recording keeps the digest of each of its stories.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gradlife.model.story import ScenarioInfo

LENGTH = 16

#: Decorators that make a function a scenario: their arguments are no part of its code.
DECLARING = {"scenario", "fixed"}

#: Fields of a syntax tree that have no meaning, or are missing in some Python versions.
SILENT = {"ctx", "kind", "type_comment", "type_params", "type_ignores"}


def digest_of(path: Path, info: ScenarioInfo) -> str:
    """Return the digest of a scenario in this file, or of the whole file if the story's function is not at the top
    level.
    """
    status = path.stat()
    definitions = definitions_of(path, status.st_mtime_ns, status.st_size)
    found = definitions.get(info.family)
    parts = reached(found, definitions) if found is not None else [one for many in definitions.values() for one in many]
    within = f"|{info.context}" if info.context else ""
    own = f"|{info.profile}" if info.profile else ""
    digest = hashlib.sha256(f"{info.needs}|{info.isolation}{within}{own}".encode())
    for part in parts:
        for word in words(part, is_story=found is not None and part in found):
            digest.update(word.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:LENGTH]


@lru_cache(maxsize=256)
def definitions_of(path: Path, changed: int, size: int) -> dict[str, list[ast.stmt]]:
    """Return a file's statements by the names that they bind; those that bind none under an empty name."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in ast.parse(path.read_bytes()).body:
        if is_text(statement):
            continue
        for name in sorted(set(bound(statement))) or [""]:
            found.setdefault(name, []).append(statement)
    return found


def bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a module-level statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name


def reached(start: list[ast.stmt], definitions: dict[str, list[ast.stmt]]) -> list[ast.stmt]:
    """Return these statements, all statements that they use by name, and those that bind no name."""
    chosen = [*start, *definitions.get("", ())]
    for statement in chosen:  # the list grows during the loop
        for name in used(statement):
            chosen += [each for each in definitions.get(name, ()) if each not in chosen]
    return chosen


def used(statement: ast.stmt) -> list[str]:
    """Return the names that a statement reads, sorted."""
    nodes = [node for part in without_declarations(statement) for node in ast.walk(part)]
    return sorted({node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)})


def without_declarations(statement: ast.stmt) -> list[ast.AST]:
    """Yield the parts of a statement except the declarations of a scenario's decorator."""
    declared = [one for one in getattr(statement, "decorator_list", ()) if is_declaration(one)]
    return [child for child in ast.iter_child_nodes(statement) if child not in declared]


def is_declaration(node: ast.AST) -> bool:
    """Whether this is `scenario(...)` or `story.fixed(...)`."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
    return name in DECLARING


def is_text(node: ast.AST) -> bool:
    """Whether this is a docstring or another bare string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def words(top: ast.AST, is_story: bool = False) -> Iterator[str]:
    """Yield a syntax tree as words, equal in every Python version, without bare strings and the story's own name."""
    waiting: list[object] = [top]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += [None, *reversed([one for one in node if not is_text(one)])]
        elif isinstance(node, ast.AST):
            yield type(node).__name__
            for name, value in reversed(significant_fields(node, is_nameless=is_story and node is top)):
                waiting += [value, name]
        else:
            yield repr(node)


def significant_fields(node: ast.AST, is_nameless: bool) -> list[tuple[str, object]]:
    """Yield the fields of a syntax node that have meaning."""
    fields: list[tuple[str, object]] = []
    for name, value in ast.iter_fields(node):
        if name == "decorator_list":
            value = [one for one in value if not is_declaration(one)]
        if name not in SILENT and value is not None and value != [] and not (is_nameless and name == "name"):
            fields.append((name, value))
    return fields
