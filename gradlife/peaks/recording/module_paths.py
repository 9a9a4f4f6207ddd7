"""The paths of modules from the program's variables: ``net.base_model.layers.0``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

from gradlife.heap.graph import HeapGraph, Reference
from gradlife.peaks.recording.variables import Kind, Variable

#: The dicts of a module that name its children and its parameters.
CHILDREN, PARAMETERS = "_modules", "_parameters"

#: Most modules one within another.
MAX_DEPTH = 12


class ModulePaths:
    """Names modules by their path from a variable."""

    def __init__(
        self, graph: HeapGraph, variables: Mapping[int, list[Variable]], modules: Mapping[int, ModuleType]
    ) -> None:
        self._graph = graph
        self._variables = variables
        self._modules = modules
        self.path = cache(self._path)

    def parameter(self, wrapper: int) -> str:
        """Return the path of a parameter, or its name in its module; empty if no module has it."""
        for module, name in self._places(wrapper, PARAMETERS):
            path = self.path(module)
            return f"{path}.{name}" if path else name
        return ""

    def _path(self, node: int, depth: int = MAX_DEPTH) -> str:
        """Return the path of a module; empty if no variable leads to it. Paths through other modules come first."""
        if depth:
            for parent, name in self._places(node, CHILDREN):
                above = self.path(parent, depth - 1)
                if above:
                    return f"{above}.{name}"
        return next(self._names(node), "")

    def _places(self, node: int, names: str) -> Iterator[tuple[int, str]]:
        """Yield the modules that have an object in this dict, and its name there."""
        for dicts in self._graph.referrers(node):
            reference = self._reference(dicts, node)
            if reference.relation != "dict_value":
                continue
            for above in self._graph.referrers(dicts):
                if self._reference(above, dicts).label.strip("'") == names:
                    yield self._owner(above), reference.label.strip("'")

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
                yield reference.label.strip("'")
        held = self._variables.get(self._graph.describe(node).address, ())
        yield from (one.name for one in reversed(held) if one.kind is Kind.LOCAL and one.name != "self")

    def _reference(self, node: int, target: int) -> Reference:
        return self._graph.references_along([node, target])[0]
