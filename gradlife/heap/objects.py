"""Objects of a frozen graph as they are told in tables."""

from __future__ import annotations

from gradlife import _heap
from gradlife.heap.steps import merged_steps
from gradlife.model.heap import LargeObject


def large_object(graph: _heap.Graph, node: int) -> LargeObject:
    """A node with its sizes and the way to it."""
    kind, name, address, nbytes = graph.describe(node)
    raw = graph.path_steps(node)
    detail = raw[-1][4] if raw else ""
    return LargeObject(name, kind, detail, address, nbytes or 0, graph.retained(node), merged_steps(raw))
