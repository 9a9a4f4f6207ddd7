"""Advice for runs with too few steps."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator

from gradlife.errors import UsageError
from gradlife.hunting.steps.compiler import TRACER
from gradlife.hunting.steps.targets import ScriptTarget, parse
from gradlife.safe_access import loaded, member

Loop = (ast.For, ast.AsyncFor, ast.While)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)

#: Where the modules are whose calls are steps of a program without functions.
MODULES = "torch.nn"

#: Most functions to name.
MAX_NAMED = 3

#: Steps after which the rounds of a script give a verdict.
WANTED_STEPS = 80


def never_called(step_on: str) -> str:
    """Say why the function whose calls are steps was never called."""
    module = step_on.partition(":")[0]
    if loaded(module) is None:
        return f"{module} was never imported"
    compiled = ", or only in graphs of torch.compile(fullgraph=True)" if loaded(TRACER) is not None else ""
    return f"{step_on} was never called{compiled}"


def advice(target: str, steps: int, stepped_by: str, step_on: str = "") -> str:
    """Return a line for the report of a script: how the next hunt finds out more. ``step_on``: as the user chose it."""
    if step_on and not stepped_by:
        return f"what grows: {never_called(step_on)}: leave out --step-on → gradlife hunt {target}"
    if stepped_by:
        what = f"what grows: {stepped_by} was seen {steps} times, and {WANTED_STEPS} times tell"
    else:
        what = "what grows: no step was seen, for no optimizer fired, no DataLoader gave batches and nothing ran backward often"
    names = [*step_functions(target)][:MAX_NAMED]
    if names:
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        instead, name = f"count calls of {names[0]}{others}", f"__main__:{names[0]}"
    elif has_modules():
        instead, name = "count the calls of modules", f"{MODULES}:Module.__call__"
    else:
        command = f"put the loop's body in F: gradlife hunt --step-on __main__:F {target}"
        return f"{what}: let it run longer, or put what it repeats in a function and name that → {command}"
    return f"{what}: let it run longer, or {instead} → gradlife hunt --step-on {name} {target}"


def has_modules() -> bool:
    """Whether there is a module of PyTorch, whose calls can be counted. Asks the collector, as the run is over."""
    base = member(MODULES, "Module")
    return base is not None and any(issubclass(type(one), base) for one in gc.get_objects())


def step_functions(target: str) -> Iterator[str]:
    """Yield functions of a script that its own loops call, outermost loop first; none if the script cannot be read."""
    try:
        found = parse(target)
        if not isinstance(found, ScriptTarget) or found.is_command:
            return
        with open(found.path, "rb") as file:
            tree = ast.parse(file.read())
    except (UsageError, OSError, SyntaxError, ValueError):
        return
    yield from called_in_loops(tree)


def called_in_loops(tree: ast.Module) -> Iterator[str]:
    """Yield functions and methods that loops of the same source call, as `--step-on` names them."""
    defined = dict(functions_of(tree))
    called = (name for loop in ast.walk(tree) if isinstance(loop, Loop) for name in names_called(loop))
    yield from dict.fromkeys(defined[name] for name in called if name in defined)


def functions_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each function or method as calls name it and as `--step-on` names it."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node.name
        elif isinstance(node, ast.ClassDef):
            yield from ((one.name, f"{node.name}.{one.name}") for one in node.body if isinstance(one, Function))


def names_called(loop: ast.AST) -> Iterator[str]:
    """Yield the names of functions and methods that a loop calls."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(name) | ast.Attribute(attr=name):
                    yield name
