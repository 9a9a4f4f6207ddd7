"""What a name means in a snapshot: ``history``, ``main.history.rows``, ``cache['x'] in step()``, ``Tensor``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradlife import _heap
from gradlife.heap.internal_steps import TABLES
from gradlife.heap.object_names import MAX_NAMED
from gradlife.heap.ownership_links import short_type
from gradlife.heap.path_steps import INNER_LABELS, last_reference
from gradlife.heap.program_modules import MAIN
from gradlife.heap.program_paths import ProgramPaths
from gradlife.heap.torch_layout.labels import ARGUMENT
from gradlife.model.heap import Meaning

#: Most references of one object among which an attribute or key is searched; tables within tables.
MAX_REFERENTS, MAX_TABLES = 100_000, 3

#: ``losses in Trainer.fit()``: an expression, and the function that has its variable.
IN_FUNCTION = re.compile(r"(.+) in ([\w.<>]+)\(\)", re.DOTALL)

#: A variable, and what follows it: ``.losses``, ``[0]``, ``['x']``.
EXPRESSION = re.compile(r"(\w+)((?:\.\w+|\[[^\]]*\])*)", re.DOTALL)
PART = re.compile(r"\.\w+|\[[^\]]*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the program: of a module, or of a function that runs or has just returned."""

    node: int  # its value
    name: str
    owner: str  # the module; the function, by its qualified name
    is_local: bool

    @property
    def expression(self) -> str:
        """The name as tables show it: ``losses``, ``data.cache``, ``batch in step()``."""
        if self.is_local:
            return f"{self.name} in {self.owner}()"
        return self.name if self.owner == MAIN else f"{self.owner}.{self.name}"

    @property
    def words(self) -> str:
        """What kind of variable it is."""
        return f"{'local variable' if self.is_local else 'global variable'} of {self.owner}{'()' * self.is_local}"

    @property
    def leads(self) -> tuple[str, ...]:
        """What may stand before its name: ``main.`` and nothing."""
        *_, last = self.owner.split(".")
        return "", f"{self.owner}.", *((f"{last}.",) if self.is_local else ())


def variables_of(paths: ProgramPaths) -> Iterator[Variable]:
    """Yield the program's variables: globals first, then those of functions, of the outermost one first."""
    graph = paths.graph
    for table, module in paths.tables.items():
        for node in graph.referents(table):
            name = graph.references_along([table, node])[0].label.strip("'")
            if name.isidentifier() and not name.startswith("__"):
                yield Variable(node, name, module, is_local=False)
    for frame in sorted(paths.frames, reverse=True):  # the newest has the lowest number
        function = graph.references_along([frame])[0].detail.partition(" ")[0]
        for node in graph.referents(frame):
            link = graph.references_along([frame, node])[0]
            name = link.label.removeprefix(ARGUMENT)
            if function == "<module>" or name.startswith("."):
                continue
            if link.relation in {"local", "cell"} and graph.type(node) == "cell":  # an inner function uses it too
                yield from (Variable(value, name, function, is_local=True) for value in graph.referents(node))
            elif link.relation == "local":
                yield Variable(node, name, function, is_local=True)


def variables_named(paths: ProgramPaths, text: str) -> list[Meaning]:
    """Return the values of variables, attributes and items that this expression can mean, each once."""
    in_function = IN_FUNCTION.fullmatch(text)
    expression, function = in_function.groups() if in_function else (text, "")
    found: dict[int, Meaning] = {}
    for variable in variables_of(paths):
        if function and not (variable.is_local and variable.owner == function):
            continue
        for lead in variable.leads:
            parts = EXPRESSION.fullmatch(expression.removeprefix(lead)) if expression.startswith(lead) else None
            if parts is None or parts[1] != variable.name:
                continue
            node = followed(paths.graph, variable.node, PART.findall(parts[2]))
            if node is not None:
                query = f"{variable.owner}.{variable.name}{parts[2]}"
                of = f"{parts[2].removeprefix('.')} of the " * bool(parts[2])
                words = f"{described(paths.graph, node)}, {of}{variable.words}"
                found.setdefault(node, Meaning(node, query, words))
    return list(found.values())


def named_by(paths: ProgramPaths, nodes: list[int], what: str) -> list[Meaning]:
    """Return one object for all of a type or a name: the first one that the program holds, else that others hold."""
    own = next((node for node in nodes[:MAX_NAMED] if paths.is_on_program_path(node)), None)
    first = (
        own if own is not None else next((node for node in nodes[:MAX_NAMED] if not paths.is_of_gradlife(node)), None)
    )
    if first is None:
        return []
    address, count = f"{paths.graph.describe(first).address:#x}", len(nodes)
    words = described(paths.graph, first) + (f", one of {count:,} {what}" if count > 1 else "")
    return [Meaning(first, address, words, is_one_of_many=count > 1)]


def described(graph: _heap.Graph, node: int) -> str:
    """Describe an object by its type and contents: ``list len 3``."""
    link = graph.references_along([node])[0]
    return f"{short_type(link.type)} {link.detail}".rstrip()


def followed(graph: _heap.Graph, node: int | None, parts: list[str]) -> int | None:
    """Follow attributes and items from an object; None if it has no such."""
    for part in parts:
        node = part_of(graph, [node], part) if node is not None else None
    return node


def part_of(graph: _heap.Graph, path: list[int], part: str) -> int | None:
    """Return what the last object of a path refers to by ``.name`` or ``[key]``, also in its attribute tables."""
    tables: list[int] = []
    for node in dict.fromkeys(graph.referents(path[-1])[:MAX_REFERENTS]):
        links = graph.references_along([*path, node])
        label = links[-2].label
        if label in INNER_LABELS or label.strip("'") in TABLES:
            tables.append(node)
        if links[-2].relation != "unknown" and last_reference(links[:-1])[1] == part:
            return node
    inner = tables if len(path) <= MAX_TABLES else []
    return next((found for table in inner if (found := part_of(graph, [*path, table], part)) is not None), None)


def is_class(graph: _heap.Graph, node: int) -> bool:
    """Whether an object is a class, of any metaclass."""
    link = graph.references_along([node])[0]
    return link.type == "type" or "type" in link.bases.splitlines()
