"""The statements of a program, with their scopes and the parts that run as the statement itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gradlife.hunting.stores.program_sources import Source
from gradlife.source.syntax import Function, blocks_of, first_line

#: Fields of a compound statement that are on its own line.
HEADERS = ("test", "iter", "items", "subject", "decorator_list", "bases", "keywords")


@dataclass(frozen=True, slots=True)
class Scope:
    """The classes and functions around a statement."""

    source: Source
    names: tuple[str, ...] = ()
    class_name: str = ""  # the innermost class
    functions: tuple[Function, ...] = ()  # from the outermost to the innermost
    is_in_loop: bool = False  # in a loop of the innermost function, or of the module

    @property
    def function(self) -> Function | None:
        """Return the innermost function."""
        return self.functions[-1] if self.functions else None

    @property
    def qualified(self) -> str:
        """The qualified name, without Python's `<locals>`."""
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may store."""

    scope: Scope
    node: ast.stmt

    @property
    def source(self) -> Source:
        """Return the source file."""
        return self.scope.source

    @property
    def function(self) -> str:
        """The qualified name of the enclosing function or class."""
        return self.scope.qualified

    @property
    def line(self) -> int:
        """The line to show; for a decorated function, the line of its first decorator."""
        return first_line(self.node)

    @property
    def last_line(self) -> int:
        """The last line of the statement; for a compound statement, the last line of its head."""
        body: list[ast.stmt] = getattr(self.node, "body", [])
        if body:
            return max(self.line, body[0].lineno - 1)
        return self.node.end_lineno or self.node.lineno

    @property
    def runs_once(self) -> bool:
        """Whether it runs at most once, when its module is loaded."""
        return self.scope.function is None and not self.scope.is_in_loop

    @property
    def lines(self) -> range:
        """The lines of the innermost enclosing function; none at the top of a module."""
        function = self.scope.function
        return range(function.lineno, (function.end_lineno or 0) + 1) if function is not None else range(0)


Fits = Callable[[ast.stmt, Scope], bool]


def search(source: Source, fits: Fits) -> list[Statement]:
    """Return the statements of a file that fit, in order."""
    return [one for one in statements(source.tree.body, Scope(source)) if fits(one.node, one.scope)]


def statements(body: list[ast.stmt], scope: Scope) -> Iterator[Statement]:
    """Yield the statements of a block and of all blocks in it."""
    waiting: list[tuple[ast.stmt, Scope]] = [(node, scope) for node in reversed(body)]
    while waiting:
        node, around = waiting.pop()
        yield Statement(around, node)
        inner = within(node, around)
        waiting += [(one, inner) for block in reversed([*blocks_of(node)]) for one in reversed(block)]


def within(node: ast.stmt, scope: Scope) -> Scope:
    """Return the scope of the statements inside a statement."""
    if isinstance(node, Function):
        return Scope(scope.source, (*scope.names, node.name), scope.class_name, (*scope.functions, node))
    if isinstance(node, ast.ClassDef):
        return Scope(scope.source, (*scope.names, node.name), node.name)
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return replace(scope, is_in_loop=True)
    return scope


def parts(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement that run as the statement itself; of a compound one, those of its head."""
    if not any(blocks_of(node)):
        yield from ast.walk(node)
        return
    for name in HEADERS:
        value = getattr(node, name, None)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from ast.walk(part)


def calls(node: ast.stmt) -> Iterator[ast.Call]:
    """Return the calls that run as the statement itself."""
    return (part for part in parts(node) if isinstance(part, ast.Call))


def targets(node: ast.stmt) -> list[ast.expr]:
    """Return the targets that a statement assigns to."""
    found = list(node.targets) if isinstance(node, ast.Assign) else []
    found += [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None else []
    return [
        part for target in found for part in (target.elts if isinstance(target, ast.Tuple | ast.List) else [target])
    ]


def is_assigned_in(function: Function, name: str) -> bool:
    """Whether the name is a local variable of the function itself."""
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    if any(one is not None and one.arg == name for one in given):
        return True
    for part in own_parts(function):
        if isinstance(part, ast.Global | ast.Nonlocal) and name in part.names:
            return False
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for part in own_parts(function)
    )


def own_parts(function: Function) -> Iterator[ast.AST]:
    """Yield the parts of a function, without those of the functions and classes in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
