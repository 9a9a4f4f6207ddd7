"""Table rows for objects of a frozen graph."""

from __future__ import annotations

from gradlife import _heap
from gradlife.heap.path_steps import merged_steps
from gradlife.model.heap import LargeObject


def describe_object(graph: _heap.Graph, node: int) -> LargeObject:
    """Return a node's sizes and path."""
    found = graph.describe(node)
    raw = graph.path_references(node)
    detail = raw[-1].detail if raw else ""
    return LargeObject(
        found.type, found.kind, detail, found.address, found.bytes or 0, graph.retained(node), merged_steps(raw)
    )
