"""What looks at objects of the program asks none of their code: they go through `gradlife.safe_access`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from sources import ROOT, python_files

#: Files that use `sys.modules` itself, and why.
USES_MODULES = {
    "safe_access.py": "the place for it",
    "own_thread.py": "asks the module threading, if it is loaded",
    "hunting/process/import_watch.py": "before the program begins, and after an import that it has made",
    "hunting/process/launcher.py": "the text of a file that starts a process",
    "hunting/run/script.py": "makes the main module",
    "hunting/snapshots/remote_references.py": "a C++ module of torch, by its name",
    "hunting/snapshots/stale_activations.py": "torch, which is loaded there",
    "hunting/steps/main_definitions.py": "the main module, which gradlife has made",
    "hunting/steps/running_steps.py": "asks for a name only",
    "hunting/steps/targets.py": "imports the target",
    "hunting/stores/executed_lines.py": "asks for a name only",
    "heap/torch_layout/specimens.py": "numpy, which is loaded there",
    "interactive/live.py": "the main module of a prompt",
    "peaks/recording/torch.py": "torch, which is loaded there",
    "peaks/run/running.py": "torch, which is loaded there",
}

#: Parts in processes of their own, in the process of the tests, or that are asked about torch itself.
OTHERS = ("engine", "environments", "runner", "backends", "probes", "pytest_plugin", "scenario.py", "doctor")

#: Functions of Python that run code of an object's class.
ASKING = {
    *(
        "getattr",
        "hasattr",
        "isinstance",
        "len",
        "bool",
        "str",
        "repr",
        "hash",
        "iter",
        "list",
        "sorted",
        "tuple",
        "set",
    ),
    *(
        "dict",
        "format",
        "print",
        "callable",
        "vars",
        "dir",
        "sum",
        "max",
        "min",
        "any",
        "all",
        "enumerate",
        "zip",
        "map",
    ),
}

#: The parts of the look, without those that make objects of torch and ask them.
LOOK = ("heap",)
ASK_TORCH = ("torch_layout",)


def modules_read(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "modules" and ast.unparse(node.value) == "sys"
        for node in ast.walk(tree)
    )


def names_of_objects(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters that may be any object: those annotated `object` or `Any`."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {
        one.arg for one in arguments if one.annotation is not None and ast.unparse(one.annotation) in {"object", "Any"}
    }


def is_safe(node: ast.Compare) -> bool:
    return all(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)


def questions_in(tree: ast.AST) -> Iterator[str]:
    """Yield the places that run code of a parameter that may be any object."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = names_of_objects(function)

        def is_object(node: ast.AST | None, names: set[str] = names) -> bool:
            return isinstance(node, ast.Name) and node.id in names

        for node in ast.walk(function):
            asks = (
                (
                    isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.FormattedValue)
                    and is_object(node.value)
                )
                or (isinstance(node, ast.Call) and ast.unparse(node.func) in ASKING and any(map(is_object, node.args)))
                or (
                    isinstance(node, ast.Compare)
                    and not is_safe(node)
                    and any(map(is_object, [node.left, *node.comparators]))
                )
                or (isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) and is_object(node.test))
                or (isinstance(node, ast.BoolOp) and any(map(is_object, node.values)))
                or (
                    isinstance(node, ast.UnaryOp | ast.BinOp)
                    and is_object(getattr(node, "operand", getattr(node, "left", None)))
                )
                or (isinstance(node, ast.For | ast.comprehension) and is_object(node.iter))
            )
            if asks:
                yield f"{function.name}: {ast.unparse(node)}"


def test_only_the_listed_files_use_the_table_of_modules() -> None:
    found = set()
    for path in python_files("gradlife"):
        name = path.relative_to(ROOT / "gradlife").as_posix()
        text = path.read_text(encoding="utf-8")
        if not name.startswith(OTHERS) and (modules_read(ast.parse(text)) or name == "hunting/process/launcher.py"):
            found.add(name)
    assert found == set(USES_MODULES)


def test_a_look_asks_no_object_of_the_program() -> None:
    found: dict[str, list[str]] = {}
    for path in python_files(*(f"gradlife/{part}" for part in LOOK), "gradlife/safe_access.py"):
        if not set(path.parts) & set(ASK_TORCH):
            questions = [*questions_in(ast.parse(path.read_text(encoding="utf-8")))]
            found |= {path.name: questions} if questions else {}
    assert found == {}


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
    ],
)
def test_the_search_finds_each_question(statement: str) -> None:
    assert len([*questions_in(ast.parse(f"def look(x: object):\n    {statement}"))]) == 1


def test_the_search_leaves_safe_reads_alone() -> None:
    assert not [*questions_in(ast.parse("def look(x: object):\n    return type(x) is int and id(x) and x is None"))]
