"""Find objects by their name in the program: a variable, an attribute, a key."""

from __future__ import annotations

from gradlife import _heap
from gradlife.heap.torch_layout.labels import ARGUMENT

#: Most matches examined, by retained size.
MAX_NAMED = 10_000


def nodes_named(graph: _heap.Graph, name: str) -> list[int]:
    """Return the nodes whose path from a root ends in exactly this name, most retained first."""
    found = searched(graph, name, MAX_NAMED) if name else []
    return [node for node in found if name_of(graph, node) == name]


def searched(graph: _heap.Graph, text: str, count: int) -> list[int]:
    """Return at most `count` nodes with a text in their type, description or name, most retained first."""
    return graph.search(text.encode("utf-8", "replace").decode(), count)[1]


def name_of(graph: _heap.Graph, node: int) -> str:
    """Return the name of the last reference on a node's path; empty if it has none."""
    path = graph.path(node)[-2:]
    if len(path) < 2:
        return ""
    return graph.references_along(path)[0].label.removeprefix(ARGUMENT).strip("'")
