"""Drop what the program never reads: a container keeps as many newest items as are read, mostly one; an attribute
keeps None.

Every mention of the name in every file counts, whatever its object. Mentions may create the container, empty it, add to
it, or read a number of its newest items; any other mention forbids the change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from gradlife.patterns.rewrites.reads import base_name, is_like, is_reflection, name_of
from gradlife.patterns.rewrites.site import Site
from gradlife.source.containers import ADDING
from gradlife.source.edits import Edit, called_on, edited, replace_node
from gradlife.source.syntax import last_name

#: Methods that add several items, or one at a place.
FILLERS = {"extend": 1, "extendleft": 1, "update": 1, "insert": 2, "setdefault": 2}
QUEUES = frozenset({"Queue", "SimpleQueue", "LifoQueue", "PriorityQueue"})
CONTAINERS = QUEUES | {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "WeakKeyDictionary"}

#: Methods that give the parts of a tensor.
SPLITTERS = frozenset({"split", "chunk", "unbind", "tensor_split", "hsplit", "vsplit", "dsplit"})

#: Expressions that make a container.
DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)

#: Methods without side effects.
PURE = frozenset(
    {"detach", "clone", "cpu", "float", "double", "half", "mean", "sum", "norm", "item", "tolist", "numpy"}
)

#: Functions that write an object out, with all its attributes.
WRITERS = frozenset({"dump", "dumps", "save", "asdict", "astuple", "replace", "repr", "pformat", "pprint"})

#: A read that no number of newest items satisfies.
ALL = -1


def keep_newest(site: Site, keys: Sequence[str | int] | None = None) -> str | None:
    """Return the changed source; None if the statement does not add to the named container, or old items are read.

    ``keys``: path from an item to the tensor in it that keeps a graph; None if there is none.
    """
    statement = site.statement
    container = container_of(statement) if statement is not None else None
    if statement is None or container is None or name_of(container) != site.name or is_written_out(site, container):
        return None
    count = items_read(site, container)
    made = [*makers(site, container)]
    if count == ALL or not made or (count and not is_append(statement)):
        return None
    edits = [*limiting(site, statement, container, made, count)]
    value = stored_value(statement)
    part = part_at(value, keys) if keys is not None and not count else None
    is_tensor = part is not None and not isinstance(part, (*DISPLAYS, ast.Tuple))
    if edits and part is not None and is_tensor and not site.reader.may_be_constant(part):
        edits += called_on(part, ".detach()")
    elif edits and keys is not None and not keys and not count and (parts := parts_of_tensor(statement)) is not None:
        edits.append(replace_node(parts, f"one.detach() for one in {site.written(parts)}"))
    elif keys is not None and value is None:
        return None  # nobody knows which of them have a graph, and the newest would keep it
    return edited(site.text, edits) if edits else None


def is_append(statement: ast.stmt) -> bool:
    """Return whether the newest item is the last one."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) == "append"


def parts_of_tensor(statement: ast.stmt) -> ast.expr | None:
    """Return the argument of `rows.extend(x.split(4))`, whose items are tensors."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or last_name(call.func) not in {"extend", "extendleft"}:
        return None
    made = call.args[0]
    return made if isinstance(made, ast.Call) and last_name(made.func) in SPLITTERS else None


def limiting(site: Site, statement: ast.stmt, container: ast.expr, made: list[ast.expr], count: int) -> Iterator[Edit]:
    """Yield the edits that limit a container to its newest items; none if no way is known."""
    written = site.written(container)
    kinds = {last_name(one.func) if isinstance(one, ast.Call) else "" for one in made}
    if count and kinds <= {"", "list"}:
        edit = site.line_below(
            statement, f"del {written}[:-{count}]  # nothing reads more than the last {count if count > 1 else 'one'}"
        )
        yield from [edit] if edit is not None else []
    elif count and kinds == {"deque"} and len(made) == 1 and made[0] in [*ast.walk(site.tree)]:
        yield from bounded(made[0], count)
    elif not count and kinds & QUEUES:
        if kinds <= QUEUES:
            yield site.line_above(
                statement,
                f"if not {written}.empty():",
                f"    {written}.get_nowait()  # nothing reads more than the last one",
            )
    elif not count:
        yield site.line_above(statement, f"{written}.clear()  # nothing reads more than the last one")


def bounded(made: ast.expr, count: int) -> Iterator[Edit]:
    """Yield the edit that sets the maxlen of a deque."""
    if isinstance(made, ast.Call) and not made.args:
        given = next((one.value for one in made.keywords if one.arg == "maxlen"), None)
        if given is not None:
            yield replace_node(given, str(count))
        elif made.end_lineno is not None and made.end_col_offset is not None:
            at = made.end_col_offset - 1
            yield Edit(made.end_lineno, at, made.end_lineno, at, f"maxlen={count}")


def container_of(statement: ast.stmt) -> ast.expr | None:
    """Return the container to which a statement adds one item."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        name = last_name(call.func)
        is_adding = (name in ADDING and len(call.args) == 1) or len(call.args) == FILLERS.get(name, -1)
        return call.func.value if is_adding and isinstance(call.func, ast.Attribute) else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return statement.target
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.value if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice) else None
    return None


def stored_value(statement: ast.stmt) -> ast.expr | None:
    """Return the item that is added."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name, last = last_name(statement.value.func), statement.value.args[-1]
        return only_item(last) if FILLERS.get(name) == 1 else last
    if isinstance(statement, ast.AugAssign):
        return only_item(statement.value)
    return statement.value if isinstance(statement, ast.Assign) else None


def only_item(value: ast.expr) -> ast.expr | None:
    """Return the item of a list that is written out and has one."""
    is_one = isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1
    return value.elts[0] if is_one and isinstance(value, ast.List | ast.Tuple) else None


def part_at(value: ast.expr | None, keys: Sequence[str | int]) -> ast.expr | None:
    """Return the part of a dict, tuple or list display at these keys."""
    for key in keys:
        if isinstance(value, ast.Dict):
            pairs = zip(value.keys, value.values, strict=True)
            value = next((one for name, one in pairs if isinstance(name, ast.Constant) and name.value == key), None)
        elif isinstance(value, ast.Tuple | ast.List) and isinstance(key, int) and 0 <= key < len(value.elts):
            value = value.elts[key]
        else:
            return None
    return value


def items_read(site: Site, container: ast.expr) -> int:
    """Return how many of the newest items the program reads; ALL if that is not known."""
    counts, base = [0], base_name(container)
    for node in site.nodes():
        if is_reflection(node, site.name) or is_argument(node, container):
            return ALL
        if is_like(node, container):
            counts.append(count_read(site, node))
        if base and last_name(node) == base and not site.reader.is_taken_apart(node):
            return ALL
        if base and isinstance(node, ast.Constant) and node.value == site.name and not is_key(site, node, container):
            return ALL
        if counts[-1] == ALL:
            return ALL
    return max(counts)


def is_argument(node: ast.AST, container: ast.expr) -> bool:
    """Whether the variable is an argument: the caller may have another name for the container."""
    return isinstance(node, ast.arg) and isinstance(container, ast.Name) and node.arg == container.id


def is_key(site: Site, node: ast.Constant, container: ast.expr) -> bool:
    """Whether the text is a key of the container, or one at which the container is created."""
    up = site.reader.parent(node)
    if isinstance(up, ast.Dict) and node in up.keys:
        return is_new(up.values[up.keys.index(node)])
    return up is not None and is_like(up, container)


def count_read(site: Site, node: ast.AST) -> int:
    """Return how many of the newest items a mention reads."""
    up = site.reader.parent(node)
    above = site.reader.parent(up) if up is not None else None
    if isinstance(getattr(node, "ctx", None), ast.Store):
        if isinstance(up, ast.AugAssign) and isinstance(up.op, ast.Add):
            return 0
        is_made = isinstance(up, ast.Assign | ast.AnnAssign) and (up.value is None or is_new(up.value))
        return 0 if is_made or (isinstance(up, ast.Assign | ast.AnnAssign) and isinstance(up.value, DISPLAYS)) else ALL
    if isinstance(getattr(node, "ctx", None), ast.Del):
        return 0
    if isinstance(up, ast.Attribute) and isinstance(above, ast.Call):
        is_call = above.func is up and isinstance(site.reader.parent(above), ast.Expr)
        is_dropped = up.attr == "pop" and above.func is not up and last_name(above.func) == "finalize"
        return 0 if (is_call and up.attr in ADDING | {"clear", *FILLERS}) or is_dropped else ALL
    if isinstance(up, ast.Subscript) and up.value is node:
        return 0 if isinstance(up.ctx, ast.Store) and isinstance(above, ast.Assign) else newest(up)
    if isinstance(up, ast.Call) and isinstance(up.func, ast.Name) and [node] == up.args:
        if up.func.id == "list" and isinstance(above, ast.Subscript) and above.value is up:
            return newest(above)
        return length_asked(above, up) if up.func.id == "len" else ALL
    return ALL


def newest(node: ast.Subscript) -> int:
    """Return how many items `x[-3:]` or `x[-1]` reads."""
    at = node.slice
    if not isinstance(node.ctx, ast.Load):
        return ALL
    if isinstance(at, ast.Slice):
        return negative(at.lower) if at.upper is None and at.step is None else ALL
    return negative(at)


def negative(node: ast.expr | None) -> int:
    """Return the absolute value of a negative constant; ALL for other expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return node.operand.value if isinstance(node.operand.value, int) and node.operand.value > 0 else ALL
    return ALL


def length_asked(compared: ast.AST | None, length: ast.expr) -> int:
    """Return the length that keeps `len(x) >= 3` or `len(x) > 3` true."""
    if not isinstance(compared, ast.Compare) or compared.left is not length or len(compared.ops) != 1:
        return ALL
    [operator], [limit] = compared.ops, compared.comparators
    if not isinstance(limit, ast.Constant) or not isinstance(limit.value, int) or limit.value < 1:
        return ALL
    return limit.value if isinstance(operator, ast.GtE) else limit.value + 1 if isinstance(operator, ast.Gt) else ALL


def makers(site: Site, container: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that create the container."""
    for node in site.nodes():
        if isinstance(node, ast.Assign) and any(is_like(one, container) for one in node.targets) and is_new(node.value):
            yield node.value
        if isinstance(node, ast.AnnAssign) and is_like(node.target, container) and node.value is not None:
            yield node.value
        if isinstance(node, ast.ClassDef) and isinstance(container, ast.Attribute):
            yield from made_in_class(node, site.name)
        if isinstance(node, ast.keyword) and node.arg == site.name and is_new(node.value):
            yield node.value
        if isinstance(node, ast.Dict) and isinstance(container, ast.Subscript):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (one for key, one in pairs if isinstance(key, ast.Constant) and key.value == site.name)


def made_in_class(node: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """Yield the empty containers that a class assigns the name, if its body does nothing else with it."""
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        value = one.value if isinstance(one, ast.Assign | ast.AnnAssign) else None
        if value is not None and is_new(value) and [last_name(target) for target in targets] == [name]:
            yield value


def is_new(value: ast.expr) -> bool:
    """Whether the expression creates an empty container."""
    if isinstance(value, ast.List | ast.Set):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.Call) and last_name(value.func) in CONTAINERS


def is_written_out(site: Site, target: ast.expr) -> bool:
    """Whether a library may serialize or print the object that has the attribute."""
    if not isinstance(target, ast.Attribute):
        return False
    calls = (node for node in site.nodes() if isinstance(node, ast.Call) and last_name(node.func) in WRITERS)
    return any(isinstance(one, ast.Name | ast.Attribute) for call in calls for one in call.args[:1])


def keep_nothing(site: Site, is_foreign: Callable[[str], bool]) -> str | None:
    """Return the changed source, with None in an attribute; None if the program reads it or the value has effects.

    Other unread attributes that the function sets on the same object become None, too. ``is_foreign`` tells whether a
    library may read an attribute of that name.
    """
    node = site.statement
    if node is None or attribute_of(node) != site.name or not is_nothing(node, site, is_foreign):
        return None
    around = next(site.reader.around(node, ast.FunctionDef), None)
    others = [one for one in ast.walk(around) if isinstance(one, ast.Assign)] if around is not None else []
    alike = [one for one in others if owner_of(one) == owner_of(node) and is_nothing(one, site, lambda name: False)]
    changed = alike if node in alike else [node]
    if any(is_foreign(attribute_of(one)) for one in changed):
        return None
    edits = [
        edit for one in changed for edit in (replace_node(one.value, "None"), *site.remark(one, "nothing reads it"))
    ]
    return edited(site.text, edits)


def is_nothing(node: ast.stmt, site: Site, is_foreign: Callable[[str], bool]) -> TypeGuard[ast.Assign]:
    """Whether the statement assigns a value without side effects to an attribute that nothing reads."""
    name = attribute_of(node)
    if not name or not isinstance(node, ast.Assign) or is_foreign(name) or not is_pure(node.value):
        return False
    target = node.targets[0]
    if is_written_out(site, target):
        return False
    for part in site.nodes():
        is_read = is_like(part, target) and isinstance(getattr(part, "ctx", None), ast.Load)
        is_changed = isinstance(part, ast.AugAssign) and is_like(part.target, target)
        if is_read or is_changed or is_reflection(part, name):
            return False
    return True


def attribute_of(node: ast.stmt) -> str:
    """Return the name of the only attribute that a statement assigns."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
        return node.targets[0].attr
    return ""


def owner_of(node: ast.Assign) -> str:
    """Return the object that gets an attribute, as written; empty for other assignments."""
    return ast.unparse(node.targets[0].value) if isinstance(node.targets[0], ast.Attribute) else ""


def is_pure(value: ast.expr) -> bool:
    """Whether evaluating the expression has no side effects."""
    if isinstance(value, ast.Call):
        is_known = isinstance(value.func, ast.Attribute) and value.func.attr in PURE and not value.args
        return is_known and isinstance(value.func, ast.Attribute) and is_pure(value.func.value)
    if isinstance(value, ast.Subscript):
        return is_pure(value.value) and isinstance(value.slice, ast.Constant)
    if isinstance(value, ast.IfExp):
        return all(map(is_pure, (value.test, value.body, value.orelse)))
    if isinstance(value, ast.Attribute):
        return is_pure(value.value)
    return isinstance(value, ast.Name)
