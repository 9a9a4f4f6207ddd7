"""The variables that keep an autograd graph alive: each holds a tensor from which the grad node is reachable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import ModuleType

from gradlife import _heap
from gradlife.hunting.snapshots.creation_recorder import foreign_files, library_files
from gradlife.peaks.recording.lifetimes import Frame
from gradlife.peaks.recording.module_paths import ModulePaths
from gradlife.peaks.recording.variables import Kind, Variable, optimizer_states, parameters_of_optimizers

#: Most nested containers, items of each, and nodes of one graph to follow.
MAX_LEVELS = 3
MAX_ITEMS = 1000
MAX_NODES = 20_000

CONTAINERS = frozenset({"list", "tuple", "dict"})

#: The base of modules, and how the types of libraries begin.
MODULE, LIBRARIES = "torch.nn.modules.module.Module", ("torch.", "numpy.", "collections.")

#: A variable, and the path from it to a tensor.
Name = tuple[Variable, str]


class Names:
    """The variables of a frozen heap, by the grad nodes that they keep."""

    def __init__(
        self,
        graph: _heap.Graph,
        variables: Mapping[int, list[Variable]],
        modules: Mapping[int, ModuleType],
        frames: Mapping[str, Frame],
    ) -> None:
        self.graph = graph
        self.variables = variables
        self.modules = modules
        self.frames = frames  # by the text with which the heap graph describes them
        self.module_paths = ModulePaths(graph, variables, modules)

    def names(self, node: int) -> list[Name]:
        """Return the variables that keep a grad node."""
        return self._by_node.get(node, [])

    @cached_property
    def states(self) -> dict[int, tuple[int, int]]:
        """The optimizer and the parameter of each dict with the state of one parameter, all by address."""
        return optimizer_states()

    @cached_property
    def updated(self) -> frozenset[int]:
        """The parameters that optimizers have, by address."""
        return parameters_of_optimizers()

    @cached_property
    def _by_node(self) -> dict[int, list[Name]]:
        found: dict[int, list[Name]] = {}
        for variable, value in self._values():
            node = self.graph.find(value)
            for tensor, path in self._tensors(node, "", MAX_LEVELS) if node is not None else ():
                for one in self._graph_of(tensor):
                    found.setdefault(one, []).append((variable, path))
        return found

    def _values(self) -> Iterator[tuple[Variable, int]]:
        """Yield the variables of the program's functions and modules, with the addresses of their values."""
        for value, variables in self.variables.items():
            yield from ((variable, value) for variable in variables if variable.kind is not Kind.OTHER)
        libraries = (*library_files(), *foreign_files())
        for module in self.modules.values():
            file = getattr(module, "__file__", None)
            if file and not file.startswith(libraries):
                for name, value in vars(module).items():
                    yield Variable(Kind.GLOBAL, name, file, module.__name__, 0), id(value)

    def _tensors(self, node: int, path: str, depth: int) -> Iterator[tuple[int, str]]:
        """Yield the tensors that a value is or contains, with their paths."""
        type_name = self.graph.type(node)
        if type_name in CONTAINERS and depth:
            for item in self.graph.referents(node)[:MAX_ITEMS]:
                yield from self._tensors(item, path or "[...]", depth - 1)
            return
        yield from ((item, path) for item in self.graph.referents(node) if self.graph.kind(item) == "tensor")
        if depth and self._is_record(node, type_name):
            for item, name in self._fields(node):
                yield from self._tensors(item, path or f".{name}", depth - 1)

    def _is_record(self, node: int, type_name: str) -> bool:
        """Whether a value is an object of the program's own class, such as a model's output, and no module."""
        is_own = "." in type_name and not type_name.startswith(LIBRARIES) and self.graph.kind(node) == "python"
        return is_own and MODULE not in self.graph.references_along([node, node])[0].bases.splitlines()

    def _fields(self, node: int) -> Iterator[tuple[int, str]]:
        """Yield the values of an object's attributes, and their names."""
        for item in self.graph.referents(node)[:MAX_ITEMS]:
            step = self.graph.references_along([node, item])[0]
            if step.label == "__dict__":
                for value in self.graph.referents(item)[:MAX_ITEMS]:
                    yield value, self.graph.references_along([item, value])[0].label.strip("'")
            elif step.relation in {"attribute", "slot"}:
                yield item, step.label

    def _graph_of(self, tensor: int) -> set[int]:
        """Return the grad nodes that a tensor keeps."""
        ahead = [node for node in self.graph.referents(tensor) if self.graph.kind(node) == "grad_node"]
        found = set(ahead)
        while ahead and len(found) < MAX_NODES:
            for node in self.graph.referents(ahead.pop()):
                if node not in found and self.graph.kind(node) == "grad_node":
                    found.add(node)
                    ahead.append(node)
        return found
