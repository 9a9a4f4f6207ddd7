"""When the objects of graphs were born: as late as the grad nodes that alone hold them.

Freed tensors and storages leave their addresses to new ones, which look old. A graph of the last step then looks as if
each round had added to it. Only its grad nodes have numbers, which show when they were made.
"""

from __future__ import annotations

from gradlife import _heap
from gradlife.hunting.snapshots.step_snapshots import context_type_names, tensor_type_names

#: The kinds of the C++ objects that graphs consist of.
PARTS = frozenset({"tensor", "storage", "grad_node", "native"})


def dated_by_graphs(graph: _heap.Graph, born: dict[int, int]) -> dict[int, int]:
    """Return the rounds in which objects were born, corrected for those that belong to a graph of a later round."""
    exact = {node: number for node, number in born.items() if graph.sequence_number(node) is not None}
    if not exact:
        return born
    owners = Owners(graph)
    return {
        node: number if node in exact else max([number, *(exact.get(one, 0) for one in owners.of(node))])
        for node, number in born.items()
    }


class Owners:
    """The grad nodes with a number that objects of a graph belong to."""

    def __init__(self, graph: _heap.Graph) -> None:
        self._graph = graph
        self._tensors = tensor_type_names()
        self._parts = self._tensors | context_type_names()
        self._known: dict[int, int | None] = {}

    def of(self, node: int) -> list[int]:
        """Return the grad node that alone holds an object, and the one that a tensor is the result of."""
        if not self._is_part(node):
            return []
        found = [one for impl in self._impls(node) for one in self._graph.referents(impl) if self._is_numbered(one)]
        holder = self._holder(node)
        return found if holder is None else [*found, holder]

    def _impls(self, node: int) -> list[int]:
        """Return the C++ object of a tensor; nothing for other objects."""
        graph = self._graph
        if graph.kind(node) == "tensor":
            return [node]
        return [one for one in graph.referents(node) if graph.kind(one) == "tensor"] if self._is_tensor(node) else []

    def _holder(self, node: int) -> int | None:
        """Return the nearest grad node that dominates an object, with only parts of graphs between them."""
        path, found, at = list[int](), None, node
        while at not in self._known:
            path.append(at)
            above = self._graph.dominator(at)
            if above is None or above == at or not self._is_part(above):
                break
            if self._is_numbered(above):
                found = above
                break
            at = above
        else:
            found = self._known[at]
        self._known.update(dict.fromkeys(path, found))
        return found

    def _is_numbered(self, node: int) -> bool:
        return self._graph.sequence_number(node) is not None

    def _is_tensor(self, node: int) -> bool:
        return self._graph.type(node) in self._tensors

    def _is_part(self, node: int) -> bool:
        """Whether an object is a C++ object of a graph, a tensor in Python, or the context of a Function."""
        return self._graph.kind(node) in PARTS or self._graph.type(node) in self._parts
