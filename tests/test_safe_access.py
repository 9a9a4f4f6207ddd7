"""What looks at objects of the program asks none of their code: they go through `gradlife.safe_access`."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator

import pytest

from sources import ROOT, python_files

#: Files that use `sys.modules` itself, and why.
USES_MODULES = {
    "safe_access.py": "the place for it",
    "own_thread.py": "asks the module threading, if it is loaded",
    "hunting/process/import_watch.py": "before the program begins, and after an import that it has made",
    "hunting/process/launcher.py": "the text of a file that starts a process",
    "program/script.py": "makes the main module",
    "hunting/snapshots/remote_references.py": "a C++ module of torch, by its name",
    "hunting/snapshots/stale_activations.py": "torch, which is loaded there",
    "hunting/steps/main_definitions.py": "the main module, which gradlife has made",
    "hunting/steps/running_steps.py": "asks for a name only",
    "hunting/steps/targets.py": "imports the target",
    "hunting/stores/executed_lines.py": "asks for a name only",
    "heap/torch_layout/specimens.py": "numpy, which is loaded there",
    "interactive/live.py": "the main module of a prompt",
    "pytest_plugin/checks/subtests.py": "a module of pytest",
    "reports/__init__.py": "rich: it imports a part of it",
    "peaks/recording/torch.py": "torch, which is loaded there",
    "program/peak/running.py": "torch, which is loaded there",
}

#: Parts in processes of their own, in the process of the tests, or that are asked about torch itself.
OTHERS = ("engine", "environments", "runner", "backends", "probes", "scenario.py", "doctor")

#: Parts that have no object of the program: they have files and reports, or run beside it.
WITHOUT_OBJECTS = (
    *("engine", "environments", "runner", "backends", "probes", "scenario.py", "doctor", "recordings"),
    *("model", "reports", "cli", "mcp_server", "interactive/tui", "interactive/terminal.py"),
    *("devices/allocator_state.py", "devices/plain_pickle.py", "patterns/known_leaks.py", "ranks/merge.py"),
    *("attach/client.py", "attach/in_lldb.py", "hunting/findings/reference_cuts.py"),
    *("pytest_plugin/settings", "pytest_plugin/outcomes", "pytest_plugin/manager.py", "pytest_plugin/plugin.py"),
)

#: The part that makes objects of torch and asks these.
ASKS_TORCH = ("heap/torch_layout",)

#: Functions of Python that run code of an object's class.
ASKING = {
    *("getattr", "hasattr", "isinstance", "len", "bool", "str", "repr", "hash", "iter", "list", "sorted"),
    *("tuple", "set", "dict", "format", "print", "vars", "dir", "sum", "max", "min", "any", "all"),
    *("enumerate", "zip", "map"),
}

#: Annotations of what may be any object of the program.
ANY = frozenset({"object", "Any", "BaseException"})

#: Generic classes whose instances hold none of the objects that they are for.
HOLDS_NONE = frozenset({"Callable", "type", "weakref.ref"})

#: What Python itself asks at the same moment.
AS_PYTHON = {"program/script.py": ["exit_status: print(code, file=sys.stderr)"]}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules_read(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "modules" and ast.unparse(node.value) == "sys"
        for node in ast.walk(tree)
    )


def may_be_any(annotation: ast.expr | None) -> bool:
    """Whether a value may be any object."""
    return annotation is not None and not ANY.isdisjoint(ast.unparse(annotation).split(" | "))


def has_any(annotation: ast.expr | None) -> bool:
    """Whether a value is a container of any objects, such as `dict[str, Any]`."""
    if not isinstance(annotation, ast.Subscript) or ast.unparse(annotation.value) in HOLDS_NONE:
        return False
    inner = annotation.slice.elts[-2:] if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    last = [one for one in inner if ast.unparse(one) != "..."][-1]
    return may_be_any(last) or has_any(last)


def is_mapping(annotation: ast.expr | None) -> bool:
    return (
        isinstance(annotation, ast.Subscript) and re.search("dict|Mapping", ast.unparse(annotation.value)) is not None
    )


class Names:
    """The names in a function that are any object of the program, and those of containers of such."""

    def __init__(self, function: Function) -> None:
        given = function.args
        declared = [(one.arg, one.annotation) for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        stars = [one for one in (given.vararg, given.kwarg) if one is not None]
        nodes = [*ast.walk(function)]
        for node in nodes:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                declared.append((node.target.id, node.annotation))
        self.objects = {name for name, annotation in declared if may_be_any(annotation)}
        self.containers = {name for name, annotation in declared if has_any(annotation)}
        self.containers |= {one.arg for one in stars if may_be_any(one.annotation)}
        self.mappings = {name for name, annotation in declared if is_mapping(annotation)}
        for node in nodes:
            if isinstance(node, ast.For | ast.comprehension):
                self._add_items(node.iter, node.target)

    def _add_items(self, source: ast.expr, target: ast.expr) -> None:
        """Add what a loop names: the items of a container, the values of a dict, all that the collector lists."""
        text = re.sub(r"^list\((.*)\)$", r"\1", ast.unparse(source))
        if text.endswith(".items()") and isinstance(target, ast.Tuple):
            target = target.elts[1]
        name = re.sub(r"\.(items|values)\(\)$", "", text)
        is_keys = text in self.mappings
        if isinstance(target, ast.Name) and (name in self.containers or name == "gc.get_objects()") and not is_keys:
            self.objects.add(target.id)

    def without(self, names: set[str]) -> Names:
        """Return the same without some objects."""
        other = copy.copy(self)
        other.objects = self.objects - names
        return other

    def has(self, node: ast.AST | None) -> bool:
        """Whether it is such an object, an item of a container, or the class of one, whose metaclass would be asked."""
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and not isinstance(node.slice, ast.Slice)
        ):
            return node.value.id in self.containers
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "type":
            return any(map(self.has, node.args))
        return isinstance(node, ast.Name) and node.id in self.objects


def is_safe(node: ast.Compare) -> bool:
    return all(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)


def asks(node: ast.AST, names: Names) -> bool:
    """Whether this runs code of an object's class."""
    match node:
        case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value) | ast.FormattedValue(value):
            return names.has(value)
        case ast.Call(function, given):
            return ast.unparse(function) in ASKING and any(map(names.has, given))
        case ast.Compare(left, _, others):
            return not is_safe(node) and any(map(names.has, [left, *others]))
        case ast.If(test) | ast.IfExp(test) | ast.While(test) | ast.Assert(test):
            return names.has(test)
        case ast.BoolOp(_, values):
            return any(map(names.has, values))
        case ast.UnaryOp(_, operand) | ast.BinOp(operand):
            return names.has(operand)
        case ast.For(_, source) | ast.comprehension(_, source):
            return names.has(source)
    return False


def checked_names(test: ast.expr) -> set[str]:
    """The names whose exact class a test has told: what it guards may ask them, as no class of the program is that one."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    texts = [ast.unparse(part) for part in parts if isinstance(part, ast.Compare | ast.Call)]
    return {
        found[1] or found[2] for text in texts if (found := re.match(r"type\((\w+)\) is |is_exactly\((\w+), ", text))
    }


def asking_nodes(node: ast.AST, names: Names) -> Iterator[ast.AST]:
    """Yield the nodes that may run code of the program, except where a test has told its class."""
    if asks(node, names):
        yield node
    guarded: list[ast.AST] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        guarded = [*node.body] if isinstance(node.body, list) else [node.body]
        known = checked_names(node.test)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        guarded, known = [*node.values[1:]], checked_names(node)
    for child in ast.iter_child_nodes(node):
        yield from asking_nodes(child, names.without(known) if child in guarded else names)


def questions_in(tree: ast.AST) -> Iterator[str]:
    """Yield the places that may run code of the program."""
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for node in asking_nodes(function, Names(function)):
                yield f"{function.name}: {ast.unparse(node)}"


def test_only_the_listed_files_use_the_table_of_modules() -> None:
    found = set()
    for path in python_files("gradlife"):
        name = path.relative_to(ROOT / "gradlife").as_posix()
        text = path.read_text(encoding="utf-8")
        if not name.startswith(OTHERS) and (modules_read(ast.parse(text)) or name == "hunting/process/launcher.py"):
            found.add(name)
    assert found == set(USES_MODULES)


def test_no_part_asks_an_object_of_the_program() -> None:
    found: dict[str, list[str]] = {}
    for path in python_files("gradlife"):
        name = path.relative_to(ROOT / "gradlife").as_posix()
        if not name.startswith((*WITHOUT_OBJECTS, *ASKS_TORCH)):
            questions = [*questions_in(ast.parse(path.read_text(encoding="utf-8")))]
            found |= {name: questions} if questions else {}
    assert found == AS_PYTHON


LOOK = "def look(x: object, many: list[Any], named: dict[str, object], *parts: object):"


@pytest.mark.parametrize(
    "statement",
    [
        "return x == 1",
        "return x in (1, 2)",
        "return getattr(x, 'a', 0)",
        "return x.a",
        "return 1 if x else 2",
        "return not x",
        "return isinstance(x, int)",
        "return f'{x}'",
        "return [1 for one in x]",
        "return type(x).__name__",
        "return type(x) in KINDS",
        "return len(many[0])",
        "return [one.a for one in many]",
        "return [one.a for one in named.values()]",
        "return [one.a for name, one in list(named.items())]",
        "return [one.a for one in gc.get_objects()]",
        "return parts[0].a",
        "return x.a if type(x) is int or y else 1",
        "y: Any = f()\n    return y.a",
    ],
)
def test_the_search_finds_each_question(statement: str) -> None:
    assert len([*questions_in(ast.parse(f"{LOOK}\n    {statement}"))]) == 1


def test_the_search_leaves_safe_reads_alone() -> None:
    assert not [*questions_in(ast.parse("def look(x: object):\n    return type(x) is int and id(x) and x is None"))]
