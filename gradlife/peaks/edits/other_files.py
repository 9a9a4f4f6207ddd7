"""What the other files of a program read of one: attributes of objects, and variables of its module."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache

from gradlife.heap.program_modules import absolute
from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.snapshots.creation_recorder import foreign_files, library_files
from gradlife.peaks.edits.names import is_same_file
from gradlife.peaks.sources.program import Source, source_of
from gradlife.safe_access import exact_text, loaded_modules

#: How a file imports the script that runs.
MAIN = "__main__"


@cache
def is_read_elsewhere(file: str, attribute: str) -> bool:
    """Whether another loaded file of the program mentions an attribute."""
    return any(mentions_attribute(one.tree, attribute) for one in other_sources(file) if attribute in one.text)


@cache
def is_global_read_elsewhere(file: str, name: str) -> bool:
    """Whether another loaded file of the program reads a variable of a file's module."""
    module = module_name(file)
    others = (one for one in other_sources(file) if module in one.text or MAIN in one.text)
    return any(reads_variable(one.tree, module, name) for one in others)


def other_sources(file: str) -> Iterator[Source]:
    """Yield the loaded files of the program but one."""
    libraries = (*library_files(), *foreign_files(), OWN_FOLDER)
    files = {exact_text(vars(module).get("__file__")) or "" for _, module in loaded_modules()}
    for other in sorted(files):
        if other.endswith(".py") and not other.startswith(libraries) and not is_same_file(other, file):
            source = source_of(other)
            if source is not None:
                yield source


def mentions_attribute(tree: ast.AST, attribute: str) -> bool:
    """Whether a tree reads an attribute, or has its name as a text."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Constant) and node.value == attribute)
        for node in ast.walk(tree)
    )


def module_name(file: str) -> str:
    """Return the last part of the name under which a file is imported."""
    folder, name = os.path.split(absolute(file))
    return os.path.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def reads_variable(tree: ast.AST, module: str, name: str) -> bool:
    """Whether a tree reads a variable of a module: it imports the variable, or reads it from what it imports."""
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.ImportFrom) and imports_from(node, module, name) for node in nodes):
        return True
    known = {alias for node in nodes for alias in aliases_of(node, module)}
    return bool(known) and any(reads_of(node, known, name) for node in nodes)


def imports_from(node: ast.ImportFrom, module: str, name: str) -> bool:
    """Whether ``from module import name`` imports a variable, or all of them."""
    is_ours = (node.module or "").rpartition(".")[2] in (module, MAIN)
    return is_ours and any(alias.name in (name, "*") for alias in node.names)


def aliases_of(node: ast.AST, module: str) -> Iterator[str]:
    """Yield the names that an import gives to a module."""
    for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
        if (last := alias.name.rpartition(".")[2]) in (module, MAIN):
            yield alias.asname or last


def reads_of(node: ast.AST, modules: set[str], name: str) -> bool:
    """Whether a node reads an attribute of one of some modules, also by `getattr`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and node.args[1:]:
        return isinstance(node.args[1], ast.Constant) and node.args[1].value == name
    if not isinstance(node, ast.Attribute) or node.attr != name:
        return False
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return owner in modules
