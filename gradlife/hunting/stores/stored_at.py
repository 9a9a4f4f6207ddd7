"""The line that stores the survivor: the statement that matches the trace, confirmed by the lines that ran."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from gradlife.hunting.snapshots.creation_sites import short_path
from gradlife.hunting.stores.place import Place
from gradlife.hunting.stores.program_sources import Source
from gradlife.hunting.stores.searches import searches
from gradlife.hunting.stores.statements import Scope, Statement, search, statements
from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import Confidence, StoredAt
from gradlife.model.trace import Trace

#: A line of a creation stack: ``train.py:41 in step``.
CREATED = re.compile(r"(.+):(\d+) in ")

#: Functions that run once per object, when it is created.
ONCE = ("__init__", "__new__", "__post_init__", "setup")

#: Calls whose result is not a tensor and holds none.
NUMBERS = frozenset({"item", "tolist", "float", "int", "str", "len", "repr", "bool", "id", "round", "format"})

Found = tuple[Statement, Confidence]


@dataclass(frozen=True)
class Evidence:
    """Evidence about the statements that ran."""

    created_at: Sequence[str] = ()  # the creation stack of the survivor
    executed: frozenset[tuple[str, int]] = frozenset()  # files, as reports show them, and lines that ran in a step

    def has_run(self, one: Statement) -> bool:
        """Whether the statement ran in a step."""
        file = short_path(one.source.file)
        return any((file, line) in self.executed for line in range(one.line, one.last_line + 1))


def stored_at(
    trace: Trace,
    evidence: Evidence,
    sources: Sequence[Source],
    growth: Growth = UNKNOWN_GROWTH,
) -> StoredAt | None:
    """Find the statement that stores the survivor; None if no statement of the program fits."""
    found = statement_that_stores(trace, evidence, sources, growth)
    if found is None:
        return None
    one, confidence = found
    return StoredAt(short_path(one.source.file), one.line, one.source.line(one.line), one.function, confidence)


def statement_that_stores(
    trace: Trace, evidence: Evidence, sources: Sequence[Source], growth: Growth = UNKNOWN_GROWTH
) -> Found | None:
    """Find the statement, and whether another one fits as well."""
    is_program = partial(is_of_program, modules={source.module for source in sources})
    initial: list[Statement] = []
    unseen: tuple[Sequence[Statement], Place | None] | None = None  # statements that did not run, and their place
    for one in searches(trace, growth.step, is_program):
        if unseen is not None and one.place != unseen[1]:
            break
        files = [source for source in sources if one.may_be_in(source.text)]
        found = [statement for source in files for statement in search(source, one.fits)]
        if found and one.has_first_values and all(map(is_initial, found)):
            initial = initial or (found if one.may_be_first else [])
        elif found:
            later = storing(found) if one.has_first_values else found
            fitting = [one for one in later if may_be(one, trace)] or later
            runs = evidence.has_run if evidence.executed else partial(is_mentioned, sources=sources)
            if any(map(runs, fitting)):
                return chosen(fitting, evidence)
            unseen = unseen or (fitting, one.place)
    if unseen is not None:
        return chosen(unseen[0], evidence)
    return chosen(initial, evidence) if initial else line_of_maker(trace, evidence.created_at, sources)


def is_mentioned(one: Statement, sources: Sequence[Source]) -> bool:
    """Whether the program has the name of the function around a statement anywhere but in its definition."""
    function = one.scope.function
    if function is None or function.name.startswith("__"):
        return True
    name = re.compile(rf"\b{re.escape(function.name)}\b")
    return sum(len(name.findall(source.text)) for source in sources) > 1


def is_of_program(type_: str, modules: Collection[str]) -> bool:
    """Whether the class belongs to the program."""
    return any(type_.startswith(f"{module}.") for module in modules)


def storing(found: Sequence[Statement]) -> Sequence[Statement]:
    """Return the statements that store what may be the survivor, without those that only give a first value."""
    later = [one for one in found if not is_initial(one)] or found
    return [one for one in later if may_hold(one)] or later


def chosen(found: Sequence[Statement], evidence: Evidence) -> Found:
    """Choose the statement that ran in a step and while the survivor was created; unsure if several did."""
    running = [one for one in found if evidence.has_run(one)] or list(found)
    best = [one for one in running if ran(one, evidence.created_at)] or running
    confidence = Confidence.SURE if len(best) == 1 else Confidence.UNSURE
    return min(best, key=lambda one: (distance(one, evidence.created_at), one.line)), confidence


def is_initial(one: Statement) -> bool:
    """Whether the statement only sets a first value: a constant, an empty container, anything in a constructor."""
    if isinstance(one.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if (one.scope.names and one.scope.names[-1] in ONCE) or one.runs_once:
        return True
    value = getattr(one.node, "value", None)
    is_empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    is_empty = is_empty or (isinstance(value, ast.Dict) and not value.keys) or is_new_container(value)
    return isinstance(one.node, ast.Assign | ast.AnnAssign) and (is_empty or isinstance(value, ast.Constant))


def is_new_container(value: ast.expr | None) -> bool:
    """Whether the call makes an empty container."""
    names = {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Queue", "SimpleQueue", "WeakKeyDictionary"}
    if not isinstance(value, ast.Call) or (value.args and not isinstance(value.args[0], ast.Name)):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name in names


def may_hold(one: Statement) -> bool:
    """Whether the stored value may be the survivor. A number or a text cannot be."""
    values = stored_values(one.node)
    return not values or not all(map(is_plain, values))


def may_be(one: Statement, trace: Trace) -> bool:
    """Whether the stored value may be the survivor; without a graph it is none that has one."""
    values = stored_values(one.node)
    has_graph = trace.tensor is not None and bool(trace.tensor.grad_fn)
    return may_hold(one) and not (has_graph and values and all(map(is_detached, values)))


def is_detached(value: ast.expr) -> bool:
    """Whether it is certainly detached, or written out of such parts."""
    if isinstance(value, ast.Tuple | ast.List):
        return all(map(is_detached, value.elts))
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "detach"


def stored_values(node: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a simple statement stores."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return [node.value] if node.value is not None else []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return [*node.value.args, *(one.value for one in node.value.keywords)]
    return []


def is_plain(value: ast.expr) -> bool:
    """Whether the value is certainly a number or a text."""
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return name in NUMBERS
    return isinstance(value, ast.Constant | ast.JoinedStr | ast.Compare)


def line_of_maker(trace: Trace, created_at: Sequence[str], sources: Sequence[Source]) -> Found | None:
    """Find the line of the program at which a library built a cycle of its own objects."""
    if not trace.cycle or trace.steps:
        return None
    for name, line in places(created_at):
        for source in sources:
            if short_path(source.file) == name:
                body = statements(source.tree.body, Scope(source))
                found = [one for one in body if one.line <= line <= one.last_line]
                if found:
                    return found[-1], Confidence.UNSURE if is_of_functions(trace) else Confidence.SURE
    return None


def is_of_functions(trace: Trace) -> bool:
    """Whether the cycle has objects of other libraries or the program, not only torch's."""
    return not all(step.type.startswith("torch.") for step in trace.cycle)


def places(created_at: Sequence[str]) -> list[tuple[str, int]]:
    """Return the files, as reports show them, and the lines of a creation stack."""
    return [(found[1], int(found[2])) for line in created_at if (found := CREATED.match(line))]


def ran(one: Statement, created_at: Sequence[str]) -> bool:
    """Whether the statement's function was running when the survivor was created."""
    file = short_path(one.source.file)
    rows = [line for name, line in places(created_at) if name == file]
    return any(line in one.lines for line in rows) if one.lines else bool(rows)


def distance(one: Statement, created_at: Sequence[str]) -> int:
    """Return the lines between a statement and the survivor's creation; a statement above that counts as farthest."""
    rows = [line for name, line in places(created_at) if os.path.basename(name) == os.path.basename(one.source.file)]
    return min((abs(one.line - line) + 10_000 * (one.line < line) for line in rows), default=0)
