"""The statement that stores, changed as an advice asks for: in the program's own names, so that it can be pasted.

Each property is empty where the statement has another form.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from gradlife.patterns.rewrites.kept_graph import DETACH, detaching as detaching_operand, only_target, operands
from gradlife.patterns.rewrites.reads import is_like
from gradlife.patterns.rewrites.unused_graph import detaching
from gradlife.source.containers import ITEM_AT
from gradlife.source.edits import Edit, called_on, edited, replace_node
from gradlife.source.syntax import last_name

#: Functions that put an item into a list that must stay a list, and the lines that keep its 100 largest items.
HEAP = ("if len({0}) > 100:", "    heapq.heappop({0})  # the smallest")
SORTED = {
    "heappush": HEAP,
    **dict.fromkeys(("insort", "insort_left", "insort_right"), ("del {0}[:-100]  # the smallest",)),
}

#: Tensors have fewer dimensions.
MAX_DIMENSIONS = 10

#: Methods of loggers that have an inverse.
INVERSE = {"addHandler": ("removeHandler", "handler"), "addFilter": ("removeFilter", "log_filter")}

#: Between making something and removing it.
MEANWHILE = "...  # the steps that need it"

#: Values with several parts: it is not known which part is meant.
DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


#: Containers that have no method of a tensor.
NESTED = frozenset({"tuple", "list", "dict"})

#: Methods of a dict that return an item of it.
GETTING = frozenset({"get", "setdefault"})


@dataclass(frozen=True)
class StoredStatement:
    """A statement on one line, without its indentation; empty if it is not known."""

    source: str = ""
    tuples: frozenset[str] = frozenset()  # variables and attributes that are tuples, by their last names
    types: tuple[str, ...] = ()  # of the variable or attribute that it changes, of the item of that, and so on
    read_at: str = ""  # where the program reads more of the container than its newest items: "eval.py:30"
    removed_by: str = ""  # a function that takes items out of it and that nothing calls: "Client.close (client.py:30)"

    @cached_property
    def node(self) -> ast.stmt | None:
        """The only statement of the line; None where it goes on or does not parse."""
        try:
            body = ast.parse(self.source).body
        except (SyntaxError, ValueError, RecursionError):
            return None
        return body[0] if len(body) == 1 and not hasattr(body[0], "body") else None

    @property
    def names(self) -> set[str]:
        """The variables in it."""
        return (
            {part.id for part in ast.walk(self.node) if isinstance(part, ast.Name)} if self.node is not None else set()
        )

    @property
    def number(self) -> str:
        """It stores a number."""
        return self.with_value_called(".item()")

    @property
    def detached(self) -> str:
        """It stores tensors without their graphs."""
        node = self.node
        target = only_target(node) if isinstance(node, ast.Assign | ast.AugAssign) else None
        if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(node.value, ast.BinOp):
            is_sum = target is not None and not any(isinstance(one, DISPLAYS) for one in operands(node.value))
            return self.edited(detaching_operand(node, target)) if target is not None and is_sum else ""
        is_one = not isinstance(node, ast.Assign) or isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
        if self.many is not None or (self.is_record and not isinstance(self.value, DISPLAYS)):
            return self.with_value_called(DETACH)
        return self.edited(detaching(self.value, DETACH)) if self.value is not None and is_one else ""

    @property
    def carried(self) -> str:
        """It computes the state from a detached one: `h = cell(x, h.detach())`. A state may be a tuple, or None at first."""
        target = only_target(self.node) if isinstance(self.node, ast.Assign) else None
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        places = [one for one in targets if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)]
        if not places or self.value is None:
            return self.detached
        parts = [part for part in ast.walk(self.value) if isinstance(part, ast.expr)]
        same = [part for part in parts if any(is_like(part, one) for one in places)]
        edits = [edit for part in same for edit in self.detaching_state(part)]
        return self.edited(edits) if edits else self.detached

    def detaching_state(self, part: ast.expr) -> Iterable[Edit]:
        """Return the edits that detach a part of the value; each tensor of it, if it is a tuple that a call is given."""
        if last_name(part) not in self.tuples:
            return called_on(part, DETACH)
        calls = [one for one in ast.walk(self.node or part) if isinstance(one, ast.Call)]
        if not any(part is one for call in calls for one in (*call.args, *(each.value for each in call.keywords))):
            return ()
        text = ast.unparse(part)
        return [replace_node(part, f"{text} and tuple(one{DETACH} for one in {text})")]

    @property
    def leaf(self) -> str:
        """It stores leaves that require gradients."""
        is_assigned = isinstance(self.node, ast.Assign) and bool(self.target)
        return self.edited(detaching(self.value, f"{DETACH}.requires_grad_()")) if is_assigned and self.value else ""

    @property
    def cloned(self) -> str:
        """It stores a copy with a storage of its own."""
        return self.with_value_called(".clone()")

    @property
    def copied(self) -> str:
        """It stores an array with memory of its own."""
        return self.with_value_called(".copy()")

    @property
    def forgotten(self) -> str:
        """It stores an exception without its traceback."""
        return self.with_value_called(".with_traceback(None)") if isinstance(self.value, ast.Name) else ""

    @property
    def shortened(self) -> str:
        """It stores the newest rows of a tensor."""
        is_assigned = isinstance(self.node, ast.Assign) and bool(self.target)
        return self.with_value_called(f"[{self._newest}].clone()") if is_assigned else ""

    @property
    def shortened_array(self) -> str:
        """It stores the newest rows of an array of numpy."""
        is_assigned = isinstance(self.node, ast.Assign) and bool(self.target)
        return self.with_value_called(f"[{self._newest}].copy()") if is_assigned else ""

    @property
    def _newest(self) -> str:
        """The index of the newest rows: along the dimension that is joined, and at the end where the new ones are."""
        match self.value:
            case ast.Call(args=[ast.Tuple(parts) | ast.List(parts), *others]):
                given = [*others[:1], *(one.value for one in self.value.keywords if one.arg in ("dim", "axis"))]
                rows = ":10_000" if parts and ast.unparse(parts[-1]) == self.target else "-10_000:"
                return at_dimension(given[0], rows) if given else rows
        return "-10_000:"

    @property
    def weak(self) -> str:
        """It stores a weak reference."""
        if not self.target or not isinstance(self.value, ast.Name | ast.Attribute):
            return ""
        return f"{self.target} = weakref.ref({ast.unparse(self.value)})  # and {self.target}() where you need it"

    @property
    def named(self) -> str:
        """It stores the name of a method instead of the method."""
        value = self.value
        if not self.target or not isinstance(value, ast.Attribute):
            return ""
        return f'{self.target} = "{value.attr}"  # and getattr({ast.unparse(value.value)}, {self.target})(...)'

    @property
    def as_method(self) -> str:
        """The function that it stores in an attribute is a method of the class."""
        target = only_target(self.node) if isinstance(self.node, ast.Assign) else None
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return ""
        if not isinstance(self.value, ast.Lambda) or self.value.args.defaults or any(self.value.args.kw_defaults):
            return ""
        given = ", ".join(filter(None, (target.value.id, ast.unparse(self.value.args))))
        return f"def {target.attr}({given}):\n    return {ast.unparse(self.value.body)}"

    @property
    def cleared(self) -> str:
        """It stores None."""
        return f"{self.target} = None" if self.target else ""

    @property
    def bounded(self) -> str:
        """The list that it adds to keeps its newest items. A heap or a sorted list keeps the largest ones."""
        call = self.call
        if call is not None and last_name(call.func) in SORTED and call.args:
            return "\n".join(
                (self.source, *(line.format(ast.unparse(call.args[0])) for line in SORTED[last_name(call.func)]))
            )
        if call is not None and last_name(call.func) in {"append", "extend"} and isinstance(call.func, ast.Attribute):
            owner = call.func.value
        elif isinstance(self.node, ast.AugAssign) and isinstance(self.node.op, ast.Add):
            owner = self.node.target
        else:
            return ""
        is_place = isinstance(owner, ast.Name | ast.Attribute | ast.Subscript)
        return f"{self.source}\ndel {ast.unparse(owner)}[:-100]  # keeps the last 100" if is_place else ""

    @property
    def dropped(self) -> str:
        """The entry that it adds to a dictionary is removed; empty for a key that has another value by then."""
        node, call = self.node, self.call
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        holder: ast.expr | None = None
        key: ast.expr | None = None
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            holder, key = target.value, target.slice
        elif call is not None and last_name(call.func) == "setdefault" and isinstance(call.func, ast.Attribute):
            holder, key = call.func.value, next(iter(call.args), None)
        if holder is None or key is None or any(isinstance(part, ast.Call) for part in ast.walk(key)):
            return ""
        return f"{ast.unparse(holder)}.pop({ast.unparse(key)}, None)"

    @property
    def once(self) -> str:
        """It runs once."""
        return f"{self.source}  # once, before the loop" if isinstance(self.node, ast.Assign | ast.Expr) else ""

    @property
    def saved(self) -> str:
        """A tensor on ctx is saved for backward."""
        node = self.node
        target = only_target(node) if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Attribute) or not isinstance(self.value, ast.Name):
            return ""
        context, name = ast.unparse(target.value), self.value.id
        return f"{context}.save_for_backward({name})  # in forward\n{name}, = {context}.saved_tensors  # in backward"

    @property
    def removal(self) -> str:
        """What it registers is removed when it is needed no longer."""
        call = self.registering
        if call is None:
            return ""
        name, made = last_name(call.func), ast.unparse(call)
        if name in INVERSE and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            inverse, word = INVERSE[name]
            given, owner = call.args[0], ast.unparse(call.func.value)
            handler = ast.unparse(given) if isinstance(given, ast.Name | ast.Attribute) else word
            lines = [] if handler != word else [f"{word} = {ast.unparse(given)}"]
            return "\n".join([*lines, f"{owner}.{name}({handler})", MEANWHILE, f"{owner}.{inverse}({handler})"])
        if made.startswith("atexit.register(") and call.args:
            return f"atexit.unregister({ast.unparse(call.args[0])})"
        end, word = ("detach", "finalizer") if name == "finalize" else ("remove", "handle")
        if call is self.value and self.target:
            return f"{self.source}\n{MEANWHILE}\n{self.target}.{end}()"
        return f"{word} = {made}\n{MEANWHILE}\n{word}.{end}()"

    @property
    def registering(self) -> ast.Call | None:
        """The call that registers a hook, a handler or a callback, itself or as the value that is stored."""
        for call in (self.call, self.value):
            if isinstance(call, ast.Call):
                name = last_name(call.func)
                if name.startswith("register") or name in {*INVERSE, "finalize"}:
                    return call
        return None

    # --- its parts ----------------------------------------------------------------------------------------------------

    @property
    def call(self) -> ast.Call | None:
        """The call that it consists of."""
        return self.node.value if isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Call) else None

    @property
    def value(self) -> ast.expr | None:
        """The expression that it stores."""
        if isinstance(self.node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return self.node.value
        at = ITEM_AT.get(last_name(self.call.func), -1) if self.call is not None else -1
        return self.call.args[at] if self.call is not None and 0 <= at < len(self.call.args) else None

    @property
    def is_record(self) -> bool:
        """Whether it stores a dict, a list or a tuple: `rows.append(row)`, unlike `rows[key].append(loss)`."""
        at = 1 + depth_of(self.owner)
        return at < len(self.types) and self.types[at] in NESTED

    @property
    def owner(self) -> ast.expr | None:
        """The container into which it stores: `rows[key]`."""
        target = only_target(self.node) if isinstance(self.node, ast.Assign | ast.AugAssign) else None
        place = self.call.func if self.call is not None else target
        return place.value if isinstance(place, ast.Attribute | ast.Subscript) else None

    @property
    def many(self) -> ast.expr | None:
        """The expression whose items it stores."""
        is_extending = self.call is not None and last_name(self.call.func) == "extend" and len(self.call.args) == 1
        return self.call.args[0] if self.call is not None and is_extending else None

    @property
    def target(self) -> str:
        """The only variable or attribute that it assigns, as it is written."""
        target = only_target(self.node) if isinstance(self.node, ast.Assign | ast.AugAssign) else None
        return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) else ""

    def with_value_called(self, method: str) -> str:
        """The statement with a method of the value that it stores, or of each of several that come of one expression."""
        value, many = self.value, self.many
        if self.is_record and many is None and not isinstance(value, DISPLAYS):
            return ""
        if many is not None and not isinstance(many, DISPLAYS):
            return self.edited([replace_node(many, f"one{method} for one in {ast.unparse(many)}")])
        return self.edited(called_on(value, method)) if value is not None and not isinstance(value, DISPLAYS) else ""

    def edited(self, edits: Iterable[Edit]) -> str:
        """The statement with these edits; empty where there is nothing to edit."""
        found = [*edits]
        return edited(self.source, found) if found else ""


def depth_of(owner: ast.expr | None) -> int:
    """Return how many containers deep an item is: 0 for `rows`, 1 for `rows[key]` and `rows.setdefault(key, [])`."""
    depth = 0
    while True:
        match owner:
            case ast.Subscript(value=inner):
                owner = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in GETTING:
                owner = inner
            case _:
                return depth
        depth += 1


def at_dimension(given: ast.expr, rows: str) -> str:
    """Return an index with these rows at the dimension that a function joins: ``:, -9:`` at 1, ``..., -9:, :`` at -2."""
    match given:
        case ast.Constant(int(number)) if number < MAX_DIMENSIONS:
            return ":, " * number + rows
        case ast.UnaryOp(ast.USub(), ast.Constant(int(number))) if number < MAX_DIMENSIONS:
            return f"..., {rows}" + ", :" * (number - 1)
    return rows
