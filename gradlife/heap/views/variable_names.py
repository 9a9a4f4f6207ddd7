"""Name objects as the program does: ``trainer.losses``, ``data.cache['x']``, ``batch in step()``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradlife import _heap
from gradlife.heap.named_objects import IN_FUNCTION
from gradlife.heap.path_steps import merged_steps
from gradlife.heap.program_modules import MAIN
from gradlife.heap.torch_layout.labels import ARGUMENT

#: What stands for a variable if a function only uses a value, such as the iterator of a loop.
UNNAMED = "a value in use"

#: References that an expression of the program contains too.
IN_EXPRESSIONS = re.compile(r"\.\w+|\[.*\]")

#: Attribute tables, and a name in one.
TABLES = (".__dict__", "._modules", "._parameters", "._buffers")
IN_TABLE = re.compile(r"\['(\w+)'\]")


def with_reference(name: str, via: str) -> str:
    """Append a reference to a name: ``trainer`` and ``.losses``, or ``step`` and ``closure variable 'kept'``."""
    expression, place = parted(name)
    if not IN_EXPRESSIONS.fullmatch(via):
        return f"{expression} → {via}{place}"
    inner = IN_TABLE.fullmatch(via) if is_internal(name) else None
    return (f"{expression.rpartition('.')[0]}.{inner[1]}" if inner else expression + via) + place


def parted(name: str) -> tuple[str, str]:
    """Return an expression, and where its variable is: ``batch`` and `` in step()``."""
    found = IN_FUNCTION.fullmatch(name)
    return (found[1], f" in {found[2]}()") if found else (name, "")


def is_internal(name: str) -> bool:
    """Whether it is a table of attributes instead of an attribute."""
    return parted(name)[0].endswith(TABLES)


def name_on_path(graph: _heap.Graph, node: int, tables: Mapping[int, str]) -> str:
    """Name an object by its path from a root, through a namespace dict or a frame."""
    path = graph.path(node)
    start = next((number for number, one in enumerate(path[:-1]) if one in tables), None)
    if start is not None:
        links = graph.path_references_along(path[start:])
        module = tables[path[start]]
        name = ("" if module == MAIN else f"{module}.") + links[0].label.strip("'")
        rest = merged_steps(links[1:])
    else:
        links = graph.path_references_along(path)
        variable = links[0].label.removeprefix(ARGUMENT) or UNNAMED
        name = f"{variable} in {links[0].detail.partition(' ')[0]}()"
        rest = merged_steps(links[1:])
    for step in rest[:-1]:
        name = with_reference(name, step.via)
    return name
