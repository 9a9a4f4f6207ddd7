"""Tell by an object's path from a root whether the program's own modules, a library or the interpreter hold it."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property

from gradlife import _heap
from gradlife.heap.files import Notes
from gradlife.heap.origin import PROGRAM
from gradlife.heap.program_modules import MAIN

#: The name of Python and its standard library, as opposed to installed libraries.
PYTHON = "Python and its standard library"

#: Types of shared values that hold nothing.
ATOMS = frozenset({"NoneType", "bool", "int", "float", "str", "bytes", "ellipsis"})


class ProgramPaths:
    """The modules of one snapshot, the program's and the others. Takes some 0.1 s per million objects."""

    def __init__(self, graph: _heap.Graph, notes: Notes) -> None:
        self.graph = graph
        self.names = {value for key, value in notes if key == PROGRAM} or {MAIN}

    @cached_property
    def modules(self) -> dict[int, str]:
        """Reachable modules by node, with their names."""
        nodes = [node for node in self.graph.of_type("module") if self.graph.path(node)]
        return {link.node: link.detail for link in self.graph.references_along(nodes)}

    @cached_property
    def tables(self) -> dict[int, str]:
        """The namespace dicts of the program's modules."""
        own = [(node, name) for node, name in self.modules.items() if name in self.names]
        return {table: name for node, name in own for table in self._table_of(node)}

    @cached_property
    def library_tables(self) -> dict[int, str]:
        """The namespace dicts of all other modules, with the library of each."""
        rest = [(node, name) for node, name in self.modules.items() if name not in self.names]
        return {table: library_of(name) for node, name in rest for table in self._table_of(node)}

    @cached_property
    def frames(self) -> list[int]:
        """The frames that run the program's code."""
        return [node for node in self.graph.of_type("running frame") if self._is_program_frame(node)]

    def _table_of(self, module: int) -> list[int]:
        """Return the namespace dict of a module."""
        return [node for node in self.graph.referents(module) if self.graph.type(node) == "dict"][:1]

    def is_foreign(self, node: int) -> bool:
        """Whether it is a module, a plain value, or a value that a library's module holds too."""
        name = self.graph.type(node)
        if name in ATOMS or name == "module":
            return True
        return any(referrer in self.library_tables for referrer in self.graph.referrers(node))

    def is_on_program_path(self, node: int) -> bool:
        """Whether it is more than a plain value, and the path from a root passes through a module or a frame of the program."""
        return self.graph.type(node) not in {"module", *ATOMS} and self.is_held_by_program(node)

    def is_held_by_program(self, node: int) -> bool:
        """Whether the path from a root passes through a module or a frame of the program."""
        path = self.graph.path(node)
        for number, one in enumerate(path[:-1]):
            if one in self.modules:
                is_program = self.modules[one] in self.names
                return is_program and not (len(path) > number + 2 and self.is_foreign(path[number + 2]))
            if self._is_program_frame(one):
                return True
        return False

    def is_of_gradlife(self, node: int) -> bool:
        """Whether the path from a root passes through a module of gradlife's."""
        return any(self.modules.get(one, "").partition(".")[0] == "gradlife" for one in self.graph.path(node))

    def _is_program_frame(self, node: int) -> bool:
        """Whether it runs the program's code. A running frame reaches its globals through its function."""
        if self.graph.type(node) not in {"running frame", "frame"}:
            return False
        held = self.graph.referents(node)
        functions = [one for one in held if self.graph.type(one) == "function"]
        known = {*held, *(one for function in functions for one in self.graph.referents(function))}
        return not self.tables.keys().isdisjoint(known)

    def imported_from(self, node: int) -> list[str]:
        """Return the library from which a program's module imported the value, if any."""
        if self.graph.type(node) in ATOMS:
            return []
        tables = (self.library_tables.get(one, "") for one in self.graph.referrers(node))
        return [name for name, _ in Counter(filter(None, tables)).most_common(1)]


def library_of(module: str) -> str:
    """Return the top-level package of a module."""
    package = module.partition(".")[0]
    return PYTHON if package in sys.stdlib_module_names or package in sys.builtin_module_names else package
