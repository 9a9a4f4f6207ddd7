"""A case file: its label, and a copy without it."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class CaseError(Exception):
    """The file is not a case: its META is missing or incomplete."""


@dataclass(frozen=True)
class Case:
    """One labelled program; `kind` is the expected kind of finding, None if it is clean."""

    slug: str
    path: Path
    kind: str | None
    may_need_gc: bool  # clean, but may have cycles that wait for the collector
    expected_path: tuple[str, ...]
    tree: ast.Module


def read_case(path: Path) -> Case:
    """Read a case's label without running the file."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        meta = meta_of(tree)
        kind = kind_of(meta)
        expected = tuple(str(entry) for entry in meta.get("expected_path", ()))
    except (OSError, ValueError, TypeError, KeyError, SyntaxError) as error:
        raise CaseError(f"{path} is no case: {type(error).__name__}: {error}") from None
    return Case(path.stem, path, kind, bool(meta.get("cycle_garbage")), expected, tree)


def meta_of(tree: ast.Module) -> dict[str, Any]:
    """Return the keywords of ``META = dict(...)``, or the items of ``META = {...}``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and is_meta(node):
            value = node.value
            if isinstance(value, ast.Call):
                return {one.arg: ast.literal_eval(one.value) for one in value.keywords if one.arg is not None}
            return dict(ast.literal_eval(value))
    raise ValueError("it has no META")


def is_meta(node: ast.stmt) -> bool:
    """Whether this is the label, which a hunt must not see."""
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == "META" for one in node.targets)


def kind_of(meta: dict[str, Any]) -> str | None:
    """Return the expected kind of finding."""
    if not meta["leaks"]:
        return None
    kind = meta["leak_kind"]
    if kind == "cycle":
        return "needs-gc" if meta["collectable"] else "never"
    if kind not in {"growth", "retained", "native"}:
        raise ValueError(f"its leak_kind is {kind!r}")
    return str(kind)


def bare(tree: ast.Module) -> ast.Module:
    """Return the program without its label and docstring."""
    body = [node for node in tree.body if not is_meta(node)]
    if ast.get_docstring(tree) is not None:
        body = body[1:]
    return ast.Module(body, [])


def write_copy(tree: ast.Module, folder: Path, chance: random.Random) -> Path:
    """Write the program under a neutral name."""
    path = folder / f"m{chance.getrandbits(48):012x}.py"
    path.write_text(ast.unparse(tree) + "\n", encoding="utf-8")
    return path
