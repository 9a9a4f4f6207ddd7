"""Replace every own name of a program, so that names give no hint.

Variables and attributes are separate sets: a variable may have the name of a library's attribute.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Names that a hunt calls.
ENTRIES = {"setup", "step", "fixed_step", "teardown", "META"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Names:
    """Names that a program defines, and its callables, whose keywords are its own names too."""

    variables: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    takes_variables: set[str] = field(default_factory=set)  # functions, and classes with their own __init__
    takes_attributes: set[str] = field(default_factory=lambda: {"SimpleNamespace"})


def renamed(tree: ast.Module) -> ast.Module:
    """Return the program with its variables, functions, classes and attributes renamed."""
    names = names_of(tree)
    variables = sorted(names.variables - foreign_variables(tree, names))
    attributes = sorted(names.attributes - foreign_attributes(tree, names))
    mappings = (
        {name: f"v{number}q" for number, name in enumerate(variables)},
        {name: f"a{number}q" for number, name in enumerate(attributes)},
    )
    changed = copy.deepcopy(tree)
    Renaming(names, *mappings).visit(changed)
    return ast.fix_missing_locations(changed)


def names_of(tree: ast.Module) -> Names:
    """Return the names that the program uses."""
    names = Names()
    members = {id(member) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for member in members_of(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            (names.attributes if id(node) in members else names.variables).add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.attributes.add(node.attr)
        elif isinstance(node, FUNCTIONS):
            (names.attributes if id(node) in members else names.variables).add(node.name)
            names.takes_variables.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.variables.add(node.name)
            has_init = any(isinstance(one, FUNCTIONS) and one.name == "__init__" for one in node.body)
            (names.takes_variables if has_init else names.takes_attributes).add(node.name)
        elif isinstance(node, ast.arg):
            names.variables.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.variables.add(node.name)
        elif isinstance(node, ast.Call) and called(node) == "SimpleNamespace":
            names.attributes.update(one.arg for one in node.keywords if one.arg)
    return names


def members_of(node: ast.ClassDef) -> Iterator[ast.AST]:
    """Return methods, and names that a class body assigns."""
    for one in node.body:
        if isinstance(one, FUNCTIONS):
            yield one
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (target for target in targets if isinstance(target, ast.Name))


def foreign_variables(tree: ast.Module, names: Names) -> set[str]:
    """Return names of Python, of imports or of a hunt's calls, and keywords of calls that may reach an own method."""
    imported = {(alias.asname or alias.name).partition(".")[0] for alias in aliases(tree)}
    return ENTRIES | set(dir(builtins)) | imported | foreign_keywords(tree, names)


def foreign_keywords(tree: ast.Module, names: Names) -> set[str]:
    """Return keywords of calls whose callee the program's text does not show."""
    own = names.takes_variables | names.takes_attributes
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) not in own)
    return {one.arg for node in calls for one in node.keywords if one.arg}


def foreign_attributes(tree: ast.Module, names: Names) -> set[str]:
    """Return names that libraries know, names in strings (they may be looked up), and keywords of library calls."""
    found = ENTRIES | names_in_libraries(tree) | names_in_torch() | foreign_keywords(tree, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(node.value.replace(".", " ").replace(",", " ").split())
    return found | {name for name in names.attributes if name.startswith("__")}


def aliases(tree: ast.Module) -> Iterator[ast.alias]:
    """Return everything that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names


def called(node: ast.Call) -> str:
    """Return the last part of a callee's name."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else str(getattr(function, "id", ""))


def names_in_libraries(tree: ast.Module) -> set[str]:
    """Return attributes of imported modules and their classes."""
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    found: set[str] = set()
    for name in modules - {"__future__"}:
        module = importlib.import_module(name)
        for value in [module, *vars(module).values()]:
            found.update(dir(value) if value is module or isinstance(value, type) else ())
    return found


def names_in_torch() -> set[str]:
    """Return attributes of what training programs use or derive from, and of Python's own objects."""
    import types

    import torch
    from torch import nn, optim

    weight = [nn.Parameter(torch.zeros(1))]
    objects: tuple[object, ...] = (
        torch.zeros(1), weight[0], torch.autograd.Function, nn.Linear(1, 1), nn.LSTM(1, 1), nn.Conv2d(1, 1, 1),
        nn.BatchNorm1d(1), nn.Embedding(1, 1), nn.MultiheadAttention(1, 1), nn.Dropout(), nn.LayerNorm(1), nn.Sequential(),
        optim.Adam(weight), optim.SGD(weight), torch.utils.data.Dataset, torch.utils.data.DataLoader([0]),
        torch.fx.GraphModule, torch.fx.Graph, torch.fx.Node, types.FrameType, types.TracebackType, types.FunctionType,
        types.MethodType, {}, [], (), set(), "", b"", 0, 0.0, Exception(),
    )  # fmt: skip
    return {name for one in objects for name in dir(one)}


class Renaming(ast.NodeTransformer):
    """Replace names wherever they occur."""

    def __init__(self, names: Names, variables: dict[str, str], attributes: dict[str, str]) -> None:
        self.names, self.variables, self.attributes = names, variables, attributes
        self.members: set[int] = set()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Rename a class; names in its body are attributes."""
        self.members.update(id(member) for member in members_of(node))
        node.name = self.variables.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function or a method."""
        node.name = (self.attributes if id(node) in self.members else self.variables).get(node.name, node.name)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """A coroutine or a method."""
        node.name = (self.attributes if id(node) in self.members else self.variables).get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a variable, or an attribute that a class body assigns."""
        node.id = (self.attributes if id(node) in self.members else self.variables).get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """An attribute."""
        node.attr = self.attributes.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """An argument of a definition."""
        node.arg = self.variables.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """A handler with a name."""
        if node.name:
            node.name = self.variables.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Names of the module."""
        node.names = [self.variables.get(name, name) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Names of an outer function."""
        node.names = [self.variables.get(name, name) for name in node.names]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rename a call's keywords, which belong to the callee."""
        name = called(node)
        for one in node.keywords:
            if one.arg and name in self.names.takes_variables:
                one.arg = self.variables.get(one.arg, one.arg)
            elif one.arg and name in self.names.takes_attributes:
                one.arg = self.attributes.get(one.arg, one.arg)
        return self.generic_visit(node)
