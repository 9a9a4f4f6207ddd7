"""Live objects behind the nodes of a graph, where a fact is in no snapshot: a number, the keys of an older dict."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from typing import Any

from gradlife import _heap


def live_objects(graph: _heap.Graph, nodes: Collection[int], kind: type) -> Iterator[Any]:
    """Yield the objects of exactly this type that are still at the addresses of the nodes."""
    addresses = {graph.describe(node).address for node in nodes}
    return (one for one in gc.get_objects() if id(one) in addresses and type(one) is kind)
