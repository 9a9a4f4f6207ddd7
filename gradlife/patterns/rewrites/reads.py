"""The program's reads of a name: can its tensor lose its graph without any of them noticing?

Every mention of the name in every file counts, whatever its object. A mention is followed through expressions and local
variables to its end: a number is harmless; a call of unknown code is not.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from gradlife.source.syntax import last_name

#: Names by which a program may reach any of its variables.
REFLECTION = frozenset({"vars", "globals", "locals", "eval", "exec"})

#: Methods, attributes and functions whose result has no graph.
ENDS = frozenset(
    {"item", "tolist", "detach", "numpy", "shape", "dtype", "device", "ndim", "data", "size", "dim", "numel", "clear"}
)
TO_PLAIN = frozenset({"float", "int", "len", "bool", "isinstance", "id", "type"})

#: Methods whose result keeps the argument's graph.
THROUGH = frozenset(
    {"mean", "sum", "max", "min", "std", "var", "abs", "sqrt", "exp", "log", "float", "double", "cpu", "clone", "stack"}
    | {"cat", "values", "items", "keys", "get", "copy", "list", "tuple", "sorted", "reversed", "zip", "enumerate"}
    | {"round", "squeeze", "reshape", "view", "flatten", "t"}
)

#: Longest chain of local variables that is followed.
MAX_FOLLOWED = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Reader:
    """The mentions of names in the files of a program."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self._trees = list(trees)
        self._target: ast.expr = ast.Name("", ast.Load())
        self._parents = {id(part): node for tree in self._trees for node in ast.walk(tree) for part in children(node)}

    def is_blind(self, target: ast.expr, besides: Collection[ast.AST]) -> bool:
        """Whether no code notices if the target's value has no graph. ``besides``: statements to ignore."""
        own = {id(part) for statement in besides for part in ast.walk(statement)}
        self._target = target
        name, others = name_of(target), base_name(target)
        for node in (part for tree in self._trees for part in ast.walk(tree) if id(part) not in own):
            if is_reflection(node, name):
                return False
            if is_like(node, target) and not self._is_harmless(node, 0):
                return False
            if others and last_name(node) == others and not self.is_taken_apart(node):
                return False
        return True

    def is_taken_apart(self, node: ast.AST) -> bool:
        """Whether a dictionary is only read by one literal key, or created here."""
        up = self.parent(node)
        if isinstance(up, ast.Subscript) and up.value is node:
            return isinstance(up.slice, ast.Constant)
        return isinstance(up, ast.Assign | ast.AnnAssign) and isinstance(getattr(node, "ctx", None), ast.Store)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the syntax node around a node."""
        return self._parents.get(id(node))

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """Return the enclosing nodes of these kinds, innermost first."""
        up = self.parent(node)
        while up is not None:
            if isinstance(up, kinds):
                yield up
            up = self.parent(up)

    def may_be_constant(self, value: ast.expr) -> bool:
        """Whether an expression may be None or a number, which lack a tensor's methods, by its variable or argument."""
        names = {one.id for one in (value, *branches(value)) if isinstance(one, ast.Name)}
        function = next(self.around(value, ast.FunctionDef, ast.AsyncFunctionDef), None)
        for node in ast.walk(function) if names and function is not None else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(last_name(one) in names for one in targets):
                    return True
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        arguments = function.args
        if not names & {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}:
            return False
        calls = [part for tree in self._trees for part in ast.walk(tree) if isinstance(part, ast.Call)]
        own = [
            one for one in calls if last_name(one.func) in {function.name, getattr(self.parent(function), "name", "")}
        ]
        given = [part for call in own for part in (*call.args, *(one.value for one in call.keywords))]
        defaults = [*arguments.defaults, *arguments.kw_defaults]
        return any(isinstance(one, ast.Constant) and one.value is None for one in (*given, *defaults))

    def _is_harmless(self, node: ast.AST, depth: int) -> bool:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return True
        up = self.parent(node)
        while up is not None and depth < MAX_FOLLOWED:
            if isinstance(up, ast.Attribute):
                if up.attr in ENDS:
                    return True
                call = self.parent(up)
                if up.attr not in THROUGH or not isinstance(call, ast.Call):
                    return False
                node, up = call, self.parent(call)
            elif isinstance(up, ast.Call):
                function = last_name(up.func)
                if function in TO_PLAIN and isinstance(up.func, ast.Name):
                    return True
                if function not in THROUGH:
                    return False
                node, up = up, self.parent(up)
            elif isinstance(
                up, ast.Subscript | ast.BinOp | ast.UnaryOp | ast.Starred | ast.List | ast.Tuple | ast.IfExp
            ):
                if isinstance(up, ast.Subscript) and isinstance(up.ctx, ast.Store):
                    return True
                node, up = up, self.parent(up)
            else:
                return self._ends(node, up, depth)
        return False

    def _ends(self, node: ast.AST, up: ast.AST, depth: int) -> bool:
        """Whether the statement around an expression is harmless."""
        if isinstance(up, ast.Compare | ast.Expr | ast.If | ast.While | ast.Assert | ast.Delete):
            return True
        if isinstance(up, ast.FormattedValue):
            return up.format_spec is not None  # otherwise it may be printed with its graph
        if isinstance(up, ast.Assign) and len(up.targets) == 1 and is_like(up.targets[0], self._target):
            return True  # the same variable again
        if isinstance(up, ast.Assign) and len(up.targets) == 1 and isinstance(up.targets[0], ast.Name):
            return self._is_local_harmless(up.targets[0], depth + 1)
        if isinstance(up, ast.For) and node is up.iter and isinstance(up.target, ast.Name):
            return self._is_local_harmless(up.target, depth + 1)
        if isinstance(up, ast.comprehension) and node is up.iter and isinstance(up.target, ast.Name):
            inside = self.parent(up)
            return inside is not None and self._all_harmless(inside, up.target.id, depth + 1)
        if isinstance(up, ast.ListComp | ast.GeneratorExp | ast.SetComp) and node is up.elt:
            return self._is_harmless(up, depth + 1)
        return False

    def _is_local_harmless(self, target: ast.Name, depth: int) -> bool:
        """Whether all reads of a local variable are harmless."""
        functions = self.around(target, ast.FunctionDef, ast.AsyncFunctionDef)
        scope = next(functions, None)
        return scope is not None and self._all_harmless(scope, target.id, depth)

    def _all_harmless(self, scope: ast.AST, name: str, depth: int) -> bool:
        found = [one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == name]
        return depth < MAX_FOLLOWED and all(self._is_harmless(one, depth) for one in found)


def branches(value: ast.expr) -> list[ast.expr]:
    """Return the values that a conditional may have."""
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else []


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Return a node's children; a context such as Load is one shared object."""
    return (part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr_context))


def name_of(target: ast.expr) -> str:
    """Return the name of a variable, attribute or literal key; empty if it has none."""
    if isinstance(target, ast.Subscript):
        key = target.slice
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    return last_name(target)


def base_name(target: ast.expr) -> str:
    """Return `b` of `a.b["key"]`; empty if it is not an item."""
    return last_name(target.value) if isinstance(target, ast.Subscript) else ""


def is_like(node: ast.AST, target: ast.expr) -> bool:
    """Whether it may be the same variable, attribute or item. A global is also an attribute of its module."""
    if isinstance(target, ast.Attribute):
        return isinstance(node, ast.Attribute) and node.attr == target.attr
    if isinstance(target, ast.Subscript):
        return isinstance(node, ast.Subscript) and name_of(node) == name_of(target)
    return last_name(node) == name_of(target)


def is_reflection(node: ast.AST, name: str) -> bool:
    """Whether it may reach the name without writing it."""
    if isinstance(node, ast.alias):
        return name in {node.name, node.asname}
    if isinstance(node, ast.Call) and last_name(node.func) in {"getattr", "attrgetter", "itemgetter"}:
        return any(not isinstance(one, ast.Constant) or one.value == name for one in node.args[1:2] or node.args)
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__"
    return isinstance(node, ast.Name) and node.id in REFLECTION
