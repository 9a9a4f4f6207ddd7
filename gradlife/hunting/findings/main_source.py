"""Facts about the steps of the main module, read from its source before it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import CodeType

from gradlife.hunting.findings.short_runs import Function, called_in_loops
from gradlife.hunting.steps.sampling import Program

#: Words of names in a program that trains a model itself, and a method of such programs.
TRAINING = frozenset({"optim", "optimizer", "optimizers", "backward", "dataloader", "dataloaders", "trainer"})
FIT = "fit"

#: Of these, the words of a program that may only make an optimizer, as one that reads a checkpoint does; the attributes that
#: do not step it; and classes whose names do not say what they are.
OPTIMIZERS = frozenset({"optim", "optimizer", "optimizers"})
HARMLESS = frozenset({"load_state_dict", "state_dict", "param_groups", "state"})
OPTIMIZER_CLASSES = frozenset(
    {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "LBFGS", "Muon"}
)

#: The words of a name: ``SFTTrainer`` has ``SFT`` and ``Trainer``, ``DataLoader`` is one.
WORD = re.compile(r"[Dd]ata_?[Ll]oaders?|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

#: Decorators that leave a function's code as it is.
CALLS_AS_IT_IS = re.compile(r"(torch\.)?(no_grad|inference_mode|enable_grad)(\(.*\))?|staticmethod|classmethod")

#: Decorators by which web frameworks register the handler of a request: ``@app.get("/")``.
REGISTERS = frozenset({"route", "get", "post", "put", "patch", "delete", "websocket", "api_route"})

#: Suffixes of classes whose methods answer requests, and the names of those methods.
HANDLER = ("Handler", "HTTPEndpoint")
ANSWERS = frozenset({"handle", "get", "post", "put", "do_GET", "do_POST", "do_PUT"})


def program_of(code: CodeType, path: str) -> Program:
    """Return the program in a file with this code; only the code if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return Program(code)
    decorated = set(decorated_functions(tree))
    called = (name for name in called_in_loops(tree) if name.rpartition(".")[2] not in decorated)
    names = tuple(dict.fromkeys([*called, *request_handlers(tree)]))
    idle = has_idle_optimizer(tree)
    return Program(code, names, trains=trains(tree) and not idle, has_idle_optimizer=idle)


def trains(tree: ast.Module) -> bool:
    """Whether the code of a program uses optimizers, gradients or batches. Comments and texts say nothing about that."""
    nodes = [*ast.walk(tree)]
    words = {word for node in nodes for name in names_of(node) for word in words_of(name)}
    fits = any(isinstance(one, ast.Call) and getattr(one.func, "attr", "") == FIT for one in nodes)
    return fits or not words.isdisjoint(TRAINING)


def has_idle_optimizer(tree: ast.Module) -> bool:
    """Whether all that a program says of training is that it makes optimizers: it never steps one, nor gives one away to a
    function, an object or a container, which may step it.
    """
    nodes = [*ast.walk(tree)]
    words = {word for node in nodes for name in names_of(node) for word in words_of(name)}
    if words & TRAINING - OPTIMIZERS or words.isdisjoint(OPTIMIZERS) or FIT in words:
        return False
    made = [one for one in nodes if isinstance(one, ast.Assign | ast.AnnAssign) and is_optimizer_made(one.value)]
    kept = {target.id for one in made for target in targets_of(one) if isinstance(target, ast.Name)}
    if not made or any(not isinstance(target, ast.Name) for one in made for target in targets_of(one)):
        return False
    uses = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in kept]
    harmless = {id(one.value) for one in nodes if isinstance(one, ast.Attribute) and one.attr in HARMLESS}
    makers = sum(is_optimizer_made(one) for one in nodes)
    return makers == len(made) and all(id(one) in harmless for one in uses)


def is_optimizer_made(node: ast.AST | None) -> bool:
    """Whether an expression calls a class of optimizers: one of `torch.optim`, or with such a name."""
    if not isinstance(node, ast.Call):
        return False
    parts = ast.unparse(node.func).split(".")
    return "optim" in parts[:-1] or parts[-1] in OPTIMIZER_CLASSES or parts[-1].endswith("Optimizer")


def targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    """Return what an assignment assigns to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def words_of(name: str) -> set[str]:
    """Return the words of a name, in lower case."""
    return {word.replace("_", "").lower() for word in WORD.findall(name)}


def names_of(node: ast.AST) -> Iterator[str]:
    """Yield the names that a part of the code mentions: of variables, attributes, functions and modules."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.arg(name) | ast.alias(name):
            yield name
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
            yield name
        case ast.ImportFrom(module=str(name)):
            yield name


def decorated_functions(tree: ast.Module) -> Iterator[str]:
    """Yield functions that a decorator, such as a compiler, may replace."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and not all(map(calls_as_it_is, node.decorator_list)):
            yield node.name


def calls_as_it_is(decorator: ast.expr) -> bool:
    """Whether the decorated function runs as it is written, at each call."""
    return CALLS_AS_IT_IS.fullmatch(ast.unparse(decorator)) is not None


def request_handlers(tree: ast.Module) -> Iterator[str]:
    """Yield functions and methods that a web framework calls for each request, as `--step-on` names them."""
    for node in tree.body:
        if isinstance(node, Function) and any(map(registers, node.decorator_list)):
            yield node.name
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith(HANDLER) for base in node.bases):
            yield from (
                f"{node.name}.{one.name}" for one in node.body if isinstance(one, Function) and one.name in ANSWERS
            )


def registers(decorator: ast.expr) -> bool:
    """Whether the decorator registers the function with a framework and leaves it as it is."""
    return (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in REGISTERS
    )
