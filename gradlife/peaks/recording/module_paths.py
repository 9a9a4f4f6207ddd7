"""The paths of modules and other objects from the program's variables: ``net.layers.0``, ``trainer.ema``, ``nets[1]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

from gradlife import _heap
from gradlife.heap.graph import Reference
from gradlife.heap.ownership_links import short_type
from gradlife.peaks.recording.variables import Kind, Variable

#: The dicts of a module that name its children and its parameters.
CHILDREN, PARAMETERS = "_modules", "_parameters"

#: References from objects and from containers, what a key is quoted with, and what links the parts of a path.
ATTRIBUTES, ITEMS = frozenset({"attribute", "slot"}), frozenset({"item", "dict_value"})
QUOTE, LINK = "'", re.compile(r"[.\[]")

#: What a module has its parts in, and types that refer to an object to call it.
PARTS = frozenset({CHILDREN, PARAMETERS, "_buffers"})
CALLABLES = frozenset({"function", "method", "functools.partial", "cell", "frame"})

#: Most modules one within another, and most objects and containers above a module.
MAX_DEPTH = 12
MAX_OBJECTS = 4

#: Most references to an object to follow.
MAX_REFERRERS = 16


class ModulePaths:
    """Names modules and other objects by their path from a variable."""

    def __init__(
        self, graph: _heap.Graph, variables: Mapping[int, list[Variable]], modules: Mapping[int, ModuleType]
    ) -> None:
        self._graph = graph
        self._variables = variables
        self._modules = modules
        self.parts = cache(self._parts)
        self.place = cache(self._place)

    def parameter(self, wrapper: int) -> str:
        """Return the path of a parameter, or its name in its module; empty if no module has it."""
        for module, name in self._places(wrapper, PARAMETERS):
            path = self.path(module)
            return f"{path}.{name}" if path else name
        return ""

    def outermost(self, wrapper: int) -> str:
        """Return the path of the outermost module that has a parameter; empty if no module has it."""
        return next((self.parts(module)[0] for module, _ in self._places(wrapper, PARAMETERS)), "")

    def path(self, module: int) -> str:
        """Return the path of a module; empty if no variable leads to it."""
        return ".".join(self.parts(module))

    def _parts(self, node: int, depth: int = MAX_DEPTH) -> tuple[str, ...]:
        """Return the path of the outermost module, and the names below it. Paths through other modules come first."""
        if depth:
            for parent, name in self._places(node, CHILDREN):
                above = self.parts(parent, depth - 1)
                if above[0]:
                    return *above, name
        return (self.place(node),)

    def _place(self, node: int, depth: int = MAX_OBJECTS) -> str:
        """Return the shortest path of any object through attributes and items, variables first; empty if none is found."""
        name = next(self._names(node), "")
        if name or not depth:
            return name
        return min(filter(None, self._links(node, depth)), key=lambda path: len(LINK.findall(path)), default="")

    def _links(self, node: int, depth: int) -> Iterator[str]:
        """Yield the paths that end with an attribute or an item."""
        for above in self._graph.referrers(node)[:MAX_REFERRERS]:
            reference = self._reference(above, node)
            owner = self._owner(above) if reference.relation == "dict_value" else above
            name = reference.label.strip(QUOTE)
            if reference.kind != "python" or reference.type in CALLABLES or name in PARTS:
                continue
            if owner != above or reference.relation in ATTRIBUTES:
                yield f"{self._object(owner, depth)}.{name}"
            elif reference.relation in ITEMS and (path := self.place(above, depth - 1)):
                yield f"{path}[{reference.index if reference.relation == 'item' else reference.label}]"

    def _object(self, node: int, depth: int) -> str:
        """Return the path of an object, or the name of its class, or of the class that it is."""
        reference = self._reference(node, node)
        name = reference.detail if reference.type == "type" else reference.type
        return self.place(node, depth - 1) or short_type(name)

    def _places(self, node: int, names: str) -> Iterator[tuple[int, str]]:
        """Yield the modules that have an object in this dict, and its name there."""
        for dicts in self._graph.referrers(node):
            reference = self._reference(dicts, node)
            if reference.relation != "dict_value":
                continue
            for above in self._graph.referrers(dicts):
                if self._reference(above, dicts).label.strip(QUOTE) == names:
                    yield self._owner(above), reference.label.strip(QUOTE)

    def _owner(self, node: int) -> int:
        """Return the object whose attributes are in a dict; another object is its own owner."""
        for above in self._graph.referrers(node)[:4]:
            if self._reference(above, node).label == "__dict__":
                return above
        return node

    def _names(self, node: int) -> Iterator[str]:
        """Yield the variables that hold a module: global ones, then those of the outermost frames."""
        for above in self._graph.referrers(node):
            reference = self._reference(above, node)
            if reference.address in self._modules:
                yield reference.label.strip(QUOTE)
        held = self._variables.get(self._graph.describe(node).address, ())
        yield from (one.name for one in reversed(held) if one.kind is Kind.LOCAL and one.name != "self")

    def _reference(self, node: int, target: int) -> Reference:
        return self._graph.references_along([node, target])[0]
