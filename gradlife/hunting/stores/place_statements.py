"""Statements about a place: those that put something into the container there, and those that assign the place."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.place import Place, PlaceKind
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.statements import Scope, Statement, calls, is_assigned_in, parts, search, targets
from gradlife.source.containers import KEEPING, PUTTING
from gradlife.source.syntax import Function, called, last_name

#: Methods that put something into a list, dict, set or deque.
ADDERS = (KEEPING - PUTTING) | {"__setitem__"}

#: The same, and methods of queues, trackers and registries, where a library's object owns the container.
PUTTERS = ADDERS | PUTTING | {"push", "register", "submit", "send", "write", "callback", "enter_context"}

#: Functions that put their second argument into the first.
PUSHERS = frozenset({"heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"})

#: Methods that write to a file, and functions that write to the file that they are given.
WRITERS = frozenset({"write", "writelines"})
WRITERS_TO = frozenset({"print", "save", "dump", "savez", "savetxt", "to_csv", "savefig"})

#: Methods that set an attribute of a module.
REGISTERS = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})

#: Methods and functions that give the items of a container one after another.
ITERATED = frozenset({"items", "values", "enumerate", "reversed", "sorted", "list", "tuple", "zip"})

#: Methods that return an item of a container.
GETTERS = frozenset({"get", "setdefault", "__getitem__"})


def may_mention(text: str, place: Place) -> bool:
    """Whether the source of a file may have a statement about the place. Most files are ruled out without parsing."""
    if place.name in text or not place.name.isidentifier():  # another key may be written in another way
        return True
    if place.kind is PlaceKind.GLOBAL:
        return "globals()[" in text
    has_made_names = place.kind is PlaceKind.KEY or any(f"{name}(" in text for name in ("setattr", *REGISTERS))
    return place.kind in {PlaceKind.ATTRIBUTE, PlaceKind.KEY} and has_made_names and ("f'" in text or 'f"' in text)


def fills(node: ast.stmt, scope: Scope, place: Place, adders: frozenset[str] = ADDERS) -> bool:
    """Whether the statement adds to the container at the place, or to a container inside it."""
    return any(is_filling(part, scope, place, adders) for part in parts(node))


def is_filling(part: ast.AST, scope: Scope, place: Place, adders: frozenset[str]) -> bool:
    """Whether this part of a statement adds to the container."""
    if isinstance(part, ast.Call):
        names = method_names(scope.source.tree).get(called(part), ())
        if part.args and any(is_adder(method, scope, place, adders) for method in names):
            return True
        if isinstance(part.func, ast.Attribute) and part.func.attr in adders and part.args + part.keywords:
            return not makes_container(part) and is_inside(part.func.value, scope, place)
        return called(part) in PUSHERS and len(part.args) > 1 and is_inside(part.args[0], scope, place)
    if isinstance(part, ast.AugAssign):
        return is_place(inner(part.target), scope, place)
    if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
        return is_place(part.value, scope, place) or is_inside(part.value, scope, place)
    return False


def is_inside(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether it is the container at the place, or one inside it: an item of it, or the variable of a loop over it."""
    if place.is_item:
        return is_place(node, scope, place)
    if isinstance(node, ast.Name) and node.id in loop_variables(scope.function or scope.source.tree, place):
        return True
    return is_place(inner(node), scope, place)


@functools.lru_cache(maxsize=1024)
def loop_variables(around: ast.AST, place: Place) -> frozenset[str]:
    """Return the variables of loops over the place: `for name, results in layers.items()`."""
    loops = (one for one in ast.walk(around) if isinstance(one, ast.For) and is_over(one.iter, place))
    return frozenset(part.id for loop in loops for part in ast.walk(loop.target) if isinstance(part, ast.Name))


def is_over(node: ast.expr, place: Place) -> bool:
    """Whether a loop over the expression is one over the items of the place."""
    while isinstance(node, ast.Call):
        inside = node.func.value if isinstance(node.func, ast.Attribute) else next(iter(node.args), None)
        if inside is None or called(node) not in ITERATED:
            return False
        node = inside
    if isinstance(node, ast.Name):
        return place.kind in {PlaceKind.GLOBAL, PlaceKind.LOCAL} and node.id == place.name
    return stands_for(node, place)


def writes_to(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Whether the statement writes to the file at the place."""
    return any(is_writing(call, scope, place) for call in calls(node))


def is_writing(call: ast.Call, scope: Scope, place: Place) -> bool:
    """Whether the call is `place.write(text)`, or one like `print(text, file=place)` or `torch.save(state, place)`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in WRITERS:
        return is_place(call.func.value, scope, place)
    given = [*call.args, *(one.value for one in call.keywords)]
    return called(call) in WRITERS_TO and any(is_place(one, scope, place) for one in given)


@functools.lru_cache(maxsize=256)
def method_names(tree: ast.Module) -> Mapping[str, Sequence[ast.expr]]:
    """Return the names that a file gives to methods, as in `add = self.losses.append`, also as default values.

    Read once for each file: a search asks about every call in it.
    """
    found: defaultdict[str, list[ast.expr]] = defaultdict(list)
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign) and is_method(part.value):
            for name in filter(None, map(last_name, part.targets)):
                found[name].append(part.value)
        elif isinstance(part, Function | ast.Lambda):
            given = [*part.args.posonlyargs, *part.args.args]
            for one, default in zip(given[len(given) - len(part.args.defaults) :], part.args.defaults, strict=True):
                if is_method(default):
                    found[one.arg].append(default)
    return found


def is_method(node: ast.expr) -> bool:
    """Whether it is a method that puts something into an object, not called."""
    return isinstance(node, ast.Attribute) and node.attr in PUTTERS


def is_adder(node: ast.expr, scope: Scope, place: Place, adders: frozenset[str]) -> bool:
    """Whether it is such a method, not called."""
    return isinstance(node, ast.Attribute) and node.attr in adders and is_place(inner(node.value), scope, place)


def makes_container(call: ast.Call) -> bool:
    """Whether the call is `place.setdefault(key, [])`, which stores nothing yet."""
    if called(call) != "setdefault" or len(call.args) != 2:
        return False
    made = call.args[1]
    if isinstance(made, ast.List | ast.Dict):
        return not (made.elts if isinstance(made, ast.List) else made.keys)
    return isinstance(made, ast.Call) and not made.args


def inner(node: ast.expr) -> ast.expr:
    """Return `place` for `place[key]` and `place.setdefault(key, [])`; a constant key is a place of its own."""
    while True:
        if isinstance(node, ast.Subscript) and not is_named_key(node):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GETTERS:
            node = node.func.value
        else:
            return node


def is_named_key(node: ast.Subscript) -> bool:
    """Whether the expression is `place["name"]`."""
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def assigns(node: ast.stmt, scope: Scope, place: Place) -> bool:
    """Whether the statement assigns the place another value."""
    if any(is_target(target, scope, place) for target in targets(node)):
        return True
    return place.kind is PlaceKind.ATTRIBUTE and any(sets_attribute(call, scope, place) for call in calls(node))


def is_target(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether assigning to the target assigns the place. Rebinding a variable that stood for the place does not."""
    if isinstance(node, ast.Name):
        return node.id == place.name and is_variable(scope, place)
    if isinstance(node, ast.Subscript) and place.kind is PlaceKind.GLOBAL:
        is_of_module = isinstance(node.value, ast.Call) and called(node.value) == "globals"
        return is_of_module and is_text(node.slice, place.name)
    return is_place(node, scope, place)


def sets_attribute(call: ast.Call, scope: Scope, place: Place) -> bool:
    """Whether the call is `setattr(owner, "name", value)` or `owner.register_buffer("name", value)`."""
    if called(call) == "setattr" and len(call.args) == 3:
        return is_text(call.args[1], place.name) and may_be_owner(call.args[0], scope, place)
    if called(call) in REGISTERS and isinstance(call.func, ast.Attribute) and call.args:
        return is_text(call.args[0], place.name) and may_be_owner(call.func.value, scope, place)
    return False


def is_text(node: ast.expr, text: str) -> bool:
    """Whether it is this text as a literal, or an f-string that may give it."""
    if isinstance(node, ast.JoinedStr):
        parts = [re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".*" for one in node.values]
        return re.fullmatch("".join(parts), text, re.DOTALL) is not None
    return isinstance(node, ast.Constant) and node.value == text


def is_place(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the expression is the place, a local variable that stands for it, or a call that returns it."""
    if place.is_item:
        return is_item_of(node, scope, replace(place, is_item=False))
    if isinstance(node, ast.Attribute):
        return place.kind is PlaceKind.ATTRIBUTE and node.attr == place.name and may_be_owner(node.value, scope, place)
    if isinstance(node, ast.Subscript):
        return place.kind is PlaceKind.KEY and is_text(node.slice, place.name)
    if isinstance(node, ast.Call):
        return called(node) in accessors(scope.source.tree, place)
    if not isinstance(node, ast.Name):
        return False
    if node.id == place.name and is_variable(scope, place):
        return True
    return place.kind is not PlaceKind.LOCAL and node.id in aliases(scope.function, place)


def is_item_of(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the expression is an item of the container at the place, or a variable that stands for one."""
    if not isinstance(node, ast.Name):
        around = container_of(node)
        return around is not None and is_place(around, scope, place)
    function = scope.function or scope.source.tree
    return node.id in loop_variables(function, place) or is_name_of_item(node.id, function, scope, place)


def container_of(node: ast.expr) -> ast.expr | None:
    """Return `place` for `place[key]` and `place.get(key)`; None for a slice, which is a copy, and for anything else."""
    match node:
        case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Slice) and not is_named_key(node):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in GETTERS:
            return value
    return None


@functools.lru_cache(maxsize=1024)
def is_name_of_item(name: str, around: ast.AST, scope: Scope, place: Place) -> bool:
    """Whether a variable is given an item, and nothing else: `rows = self.by_label[label]`."""
    assignments = [one for one in ast.walk(around) if isinstance(one, ast.Assign)]
    values = [
        one.value for one in assignments for part in one.targets if isinstance(part, ast.Name) and part.id == name
    ]
    return bool(values) and all(not isinstance(one, ast.Name) and is_item_of(one, scope, place) for one in values)


def is_variable(scope: Scope, place: Place) -> bool:
    """Whether a bare name in this scope means the place."""
    if place.kind is PlaceKind.GLOBAL:
        return is_global(scope, place.name)
    return place.kind is PlaceKind.LOCAL and is_local_of(scope, place)


def is_global(scope: Scope, name: str) -> bool:
    """Whether the name is neither local to the enclosing functions nor defined in a class."""
    if not scope.functions:
        return not scope.class_name
    return not any(is_assigned_in(function, name) for function in scope.functions)


def is_local_of(scope: Scope, place: Place) -> bool:
    """Whether the name is that function's variable, read in the function or in an inner one."""
    wanted = name_around(scope.source, place.captured_at) or place.function.replace(".<locals>", "")
    names = [scope.qualified] + [scope.qualified.rsplit(".", count)[0] for count in range(1, len(scope.names))]
    if wanted not in names and not (wanted and "." not in wanted and wanted in scope.names):
        return False
    last = wanted.rpartition(".")[2]
    inside = [one.name for one in scope.functions]
    after = scope.functions[len(inside) - inside[::-1].index(last) :] if last in inside else ()
    return not any(is_assigned_in(function, place.name) for function in after)


@functools.lru_cache(maxsize=256)
def name_around(source: Source, begins_at: str) -> str:
    """Return the qualified name of the scope around the function that begins at ``train.py:15``; empty if there is none.

    The name of a wrapped function is that of another: `functools.wraps` copies it.
    """
    file, _, line = begins_at.rpartition(":")
    if not line or file != short_path(source.file):
        return ""
    found = search(source, lambda node, scope: isinstance(node, Function) and Statement(scope, node).line == int(line))
    return found[0].function if found else ""


def may_be_owner(node: ast.expr, scope: Scope, place: Place) -> bool:
    """Whether the object could have the attribute. `self` and `cls` belong to the enclosing class."""
    if isinstance(node, ast.Name) and node.id in {"self", "cls"} and scope.class_name:
        return any(owner.rpartition(".")[2] == scope.class_name for owner in place.owners)
    return True


@functools.lru_cache(maxsize=4096)
def aliases(function: ast.AST | None, place: Place) -> set[str]:
    """Return the local variables of the function that stand for the place. Cached: a search asks at every name."""
    found = set()
    for part in ast.walk(function) if function is not None else ():
        if isinstance(part, ast.Assign) and stands_for(part.value, place):
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
        if isinstance(part, ast.Assign) and any(stands_for(target, place) for target in part.targets):
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
    return found


@functools.lru_cache(maxsize=1024)
def accessors(tree: ast.Module, place: Place) -> set[str]:
    """Return the functions of a file that return the attribute or the key, or an item of it.

    Cached: a search asks at every call.
    """
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            values = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
            found |= {function.name for one in values if stands_for(one, place) or stands_for(inner(one), place)}
    return found


def stands_for(node: ast.expr, place: Place) -> bool:
    """Whether the expression is the attribute or the key."""
    if isinstance(node, ast.Attribute):
        return place.kind is PlaceKind.ATTRIBUTE and node.attr == place.name
    return isinstance(node, ast.Subscript) and place.kind is PlaceKind.KEY and is_text(node.slice, place.name)
