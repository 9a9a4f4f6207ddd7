"""Checks for syntax and names that Python 3.7 lacks, as far as a source shows them: the frameworks of 2019 run there."""

from __future__ import annotations

import ast

NAMES = """
    ast.unparse enum.StrEnum functools.cache functools.cached_property functools.singledispatchmethod graphlib
    importlib.metadata importlib.resources.files itertools.batched itertools.pairwise math.dist math.prod
    multiprocessing.shared_memory os.waitstatus_to_exitcode shlex.join signal.valid_signals sys.orig_argv
    sys.unraisablehook threading.excepthook tomllib types.NoneType typing.Annotated typing.Final typing.Literal
    typing.ParamSpec typing.Protocol typing.Self typing.TypedDict typing.final typing.runtime_checkable zoneinfo
"""
NEWER_THAN_37 = frozenset(NAMES.split())
NEW_DATACLASS_KEYWORDS = {"slots", "kw_only", "match_args"}
BUILTIN_GENERICS = {"list", "dict", "tuple", "set", "frozenset", "type"}


def newer_syntax(source: str) -> list[str]:
    """One line for each use of something newer than Python 3.7."""
    try:
        tree = ast.parse(source, feature_version=(3, 7))
    except SyntaxError as error:
        return [f"line {error.lineno}: {error.msg}"]
    found = [(line, name) for line, name in names_used(tree) if name in NEWER_THAN_37]
    found += new_dataclass_keywords(tree)
    if not has_postponed_annotations(tree):
        found += [(line, f"annotation {text}") for line, text in modern_annotations(tree)]
    return [f"line {line}: {what} is newer than 3.7" for line, what in sorted(found)]


def names_used(tree: ast.Module) -> list[tuple[int, str]]:
    """Modules and their attributes, by full name, wherever they are imported or reached through a module."""
    modules: dict[str, str] = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update({alias.asname or alias.name: alias.name for alias in node.names})
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(node.lineno, node.module), *((node.lineno, f"{node.module}.{a.name}") for a in node.names)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.append((node.lineno, f"{modules[node.value.id]}.{node.attr}"))
    return found


def new_dataclass_keywords(tree: ast.Module) -> list[tuple[int, str]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    keywords = [(call, word.arg) for call in calls for word in call.keywords if word.arg in NEW_DATACLASS_KEYWORDS]
    return [
        (call.lineno, f"dataclass {word}") for call, word in keywords if ast.unparse(call.func).endswith("dataclass")
    ]


def has_postponed_annotations(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


def modern_annotations(tree: ast.Module) -> list[tuple[int, str]]:
    """Annotations that 3.7 cannot evaluate: `X | Y` and `list[int]`."""
    return [
        (annotation.lineno, ast.unparse(annotation))
        for annotation in annotations_of(tree)
        if any(is_modern(node) for node in ast.walk(annotation))
    ]


def annotations_of(tree: ast.Module) -> list[ast.expr]:
    nodes = list(ast.walk(tree))
    found = [node.annotation for node in nodes if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation]
    return found + [node.returns for node in nodes if isinstance(node, ast.FunctionDef) and node.returns]


def is_modern(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value) in BUILTIN_GENERICS
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
