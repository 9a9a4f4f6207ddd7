"""The numbers that a source gives to a name: a constant, an attribute, an argument."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

#: Operators of numbers that programs write as a product or a power: ``10 * 1024``, ``2**20``.
OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}

#: Largest exponent that is computed.
MAX_EXPONENT = 64

#: What the source does not tell, and what a calculation in place, or a loop, makes of a name.
UNKNOWN, COUNTED, LOOPED = ast.Constant(None), ast.Constant(None), ast.Constant(None)

Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def numbers_of(node: ast.expr, tree: ast.Module, seen: frozenset[str] = frozenset()) -> frozenset[int] | None:
    """Return every number that the expression may have according to the source; None if it may have others."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return frozenset({value})
        case ast.BinOp(op=ast.Mod(), right=right):
            return numbers_of(right, tree, seen)  # below it; a place in a ring of so many
        case ast.BinOp(left=left, op=sign, right=right):
            return combined(numbers_of(left, tree, seen), sign, numbers_of(right, tree, seen))
        case ast.Name(id=name):
            return numbers_given(name, given_to_variable(name, tree), tree, seen)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return numbers_given(f"self.{name}", given_to_attribute(name, tree), tree, seen)
    return None


def is_moving(node: ast.expr, tree: ast.Module, seen: frozenset[str] = frozenset()) -> bool:
    """Whether the expression has other values as the program goes on, by its source: it counts up, or is a length."""
    return any(
        (isinstance(part, ast.Call) and getattr(part.func, "id", "") == "len") or moves(part, tree, seen)
        for part in ast.walk(node)
    )


def moves(node: ast.AST, tree: ast.Module, seen: frozenset[str]) -> bool:
    """Whether a name is computed from itself, counted up in place, a loop's variable, or given what moves.

    A loop's variable that is passed on, as in `for size in sizes: Replay(size)`, is another one for another object.
    """
    match node:
        case ast.Name(id=name):
            given = list(given_to_variable(name, tree))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            given = list(given_to_attribute(name, tree))
        case _:
            return False
    moving = {COUNTED} if seen else {COUNTED, LOOPED}
    return name in seen or any(one in moving or is_moving(one, tree, seen | {name}) for one in given)


def numbers_given(
    name: str, values: Iterator[ast.expr], tree: ast.Module, seen: frozenset[str]
) -> frozenset[int] | None:
    """Return the numbers that these values may have, if there are any; a name does not explain itself."""
    found = [None if name in seen else numbers_of(one, tree, seen | {name}) for one in values]
    return None if None in found else frozenset().union(*(one or () for one in found)) or None


def combined(left: frozenset[int] | None, sign: ast.operator, right: frozenset[int] | None) -> frozenset[int] | None:
    """Return the results of an operator on two numbers; None if they may be others."""
    if left is None or right is None:
        return None
    pairs = [(one, other) for one in left for other in right]
    if isinstance(sign, ast.Pow | ast.LShift):
        power = pow if isinstance(sign, ast.Pow) else operator.lshift
        return (
            frozenset(power(*pair) for pair in pairs) if all(0 <= other <= MAX_EXPONENT for _, other in pairs) else None
        )
    known = OPERATORS.get(type(sign))
    if known is None or (known is operator.floordiv and 0 in right):
        return None
    return frozenset(known(*pair) for pair in pairs)


def given_to_variable(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what the source assigns to variables and parameters of this name."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=one, value=value) if one == name:
                yield value
            case ast.ClassDef():
                for method in node.body:
                    if isinstance(method, Function):
                        called = node.name if method.name == "__init__" else method.name
                        yield from arguments_of(called, method, name, tree, 1)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from defaults_of(node.args, name)
    for function in tree.body:
        if isinstance(function, Function):
            yield from arguments_of(function.name, function, name, tree, 0)
    yield from assigned(tree, lambda target: isinstance(target, ast.Name) and target.id == name)


def given_to_attribute(name: str, tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what the source assigns to attributes of this name, and in the bodies of classes."""
    yield from assigned(tree, lambda target: isinstance(target, ast.Attribute) and target.attr == name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            fields = [
                one for one in node.body if isinstance(one, ast.AnnAssign) and getattr(one.target, "id", "") == name
            ]
            yield from (UNKNOWN for _ in fields)  # of a dataclass, perhaps: its calls give the number
            yield from (
                one.value
                for one in node.body
                if isinstance(one, ast.Assign) and any(getattr(target, "id", "") == name for target in one.targets)
            )


def assigned(tree: ast.Module, is_named: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    """Yield what is assigned to these targets; of a loop, an import or a calculation in place nothing is known."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield from (value for one in targets if is_named(one))
                yield from (UNKNOWN for one in targets if not is_named(one) and any(map(is_named, expressions(one))))
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                yield from [value] if is_named(target) else []
            case ast.AugAssign(target=target):
                yield from [COUNTED] if is_named(target) else []
            case ast.For(target=target) | ast.comprehension(target=target):
                one_of = LOOPED if isinstance(node, ast.For) else UNKNOWN
                yield from (one_of for one in expressions(target) if is_named(one))


def expressions(target: ast.expr) -> Iterator[ast.expr]:
    """Yield the targets in a tuple of targets."""
    yield from (one for one in ast.walk(target) if isinstance(one, ast.expr))


def defaults_of(arguments: ast.arguments, name: str) -> Iterator[ast.expr]:
    """Yield the default of a parameter."""
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(plain), reversed(arguments.defaults), strict=False)]
    pairs += [
        (one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    ]
    yield from (default for one, default in pairs if one.arg == name)


def arguments_of(
    called: str, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, tree: ast.Module, first: int
) -> Iterator[ast.expr]:
    """Yield what calls pass by position for a parameter; ``first``: the position of the first one that a call passes."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][first:]
    if name not in names:
        return
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and called in (getattr(call.func, "id", ""), getattr(call.func, "attr", "")):
            starred = any(isinstance(one, ast.Starred) for one in call.args)
            if starred or any(one.arg is None for one in call.keywords):
                yield UNKNOWN
            elif len(call.args) > names.index(name):
                yield call.args[names.index(name)]
