"""Tell by the path from a root whether the program's own modules hold an object, or a library, or the interpreter."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property

from gradlife.heap.files import Notes
from gradlife.heap.graph import HeapGraph
from gradlife.heap.origin import PROGRAM
from gradlife.heap.program_modules import MAIN

#: What no library is: Python itself with its library.
PYTHON = "Python and its standard library"

#: Types of values that many modules share and that hold nothing.
ATOMS = frozenset({"NoneType", "bool", "int", "float", "str", "bytes", "ellipsis"})


class ProgramPaths:
    """The modules of one snapshot, those of the program apart. Some 0.1 s for a million objects."""

    def __init__(self, graph: HeapGraph, notes: Notes) -> None:
        self._graph = graph
        self.names = {value for key, value in notes if key == PROGRAM} or {MAIN}

    @cached_property
    def modules(self) -> dict[int, str]:
        """The modules that a root reaches, by name."""
        nodes = [node for node in self._graph.of_type("module") if self._graph.path(node)]
        return {link.node: link.detail for link in self._graph.steps_along(nodes)}

    @cached_property
    def tables(self) -> dict[int, str]:
        """The tables of variables of the program's modules."""
        own = [(node, name) for node, name in self.modules.items() if name in self.names]
        return {table: name for node, name in own for table in self._table_of(node)}

    @cached_property
    def library_tables(self) -> dict[int, str]:
        """The tables of all other modules, with the library that each is of."""
        rest = [(node, name) for node, name in self.modules.items() if name not in self.names]
        return {table: library_of(name) for node, name in rest for table in self._table_of(node)}

    @cached_property
    def frames(self) -> list[int]:
        """The frames that run code of the program."""
        return [node for node in self._graph.of_type("running frame") if self._is_program_frame(node)]

    def _table_of(self, module: int) -> list[int]:
        """The table of variables of a module."""
        return [node for node in self._graph.referents(module) if self._graph.type(node) == "dict"][:1]

    def is_foreign(self, node: int) -> bool:
        """Is it a module, a plain value, or something that a library's module has as well?"""
        name = self._graph.type(node)
        if name in ATOMS or name == "module":
            return True
        return any(referrer in self.library_tables for referrer in self._graph.referrers(node))

    def is_on_program_path(self, node: int) -> bool:
        """Does the path from a root come by a module or a frame of the program?"""
        if self._graph.type(node) in {"module", *ATOMS}:
            return False
        path = self._graph.path(node)
        for number, one in enumerate(path[:-1]):
            if one in self.modules:
                is_program = self.modules[one] in self.names
                return is_program and not (len(path) > number + 2 and self.is_foreign(path[number + 2]))
            if self._is_program_frame(one):
                return True
        return False

    def _is_program_frame(self, node: int) -> bool:
        """Does it run code of the program? A running frame knows its globals by its function."""
        if self._graph.type(node) not in {"running frame", "frame"}:
            return False
        held = self._graph.referents(node)
        functions = [one for one in held if self._graph.type(one) == "function"]
        known = {*held, *(one for function in functions for one in self._graph.referents(function))}
        return not self.tables.keys().isdisjoint(known)

    def imported_from(self, node: int) -> list[str]:
        """Return the library that a value of the program's modules was imported from, if it was."""
        if self._graph.type(node) in ATOMS:
            return []
        tables = (self.library_tables.get(one, "") for one in self._graph.referrers(node))
        return [name for name, _ in Counter(filter(None, tables)).most_common(1)]


def library_of(module: str) -> str:
    """The library that a module belongs to, as one imports it."""
    package = module.partition(".")[0]
    return PYTHON if package in sys.stdlib_module_names or package in sys.builtin_module_names else package
