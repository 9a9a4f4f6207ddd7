"""Growth that was not over when it was judged: the place of a finding in later snapshots, where it holds less again.

A container that each epoch empties grows for as long as the epoch lasts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gradlife import _heap
from gradlife.heap.path_steps import name_in_program
from gradlife.hunting.snapshots.stale_activations import bytes_of
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.trace import Hop, PathStep

#: The share of its largest size to which a container falls if it was emptied since. Fewer items may be chance.
EMPTIED = 0.5

#: The line at the end of a frame's description: ``train (main.py:12)``.
LINE = re.compile(r":\d+\)$")


def is_emptied(snapshots: Sequence[StepSnapshot], steps: Sequence[PathStep], is_container: bool) -> bool:
    """Whether the object at the end of the path lost most of what it had between two of these snapshots.

    ``is_container``: its items are counted, else its bytes. A place that cannot be found again tells nothing.
    """
    most = 0
    for snapshot in snapshots:
        size = size_at(snapshot.graph, steps, is_container) if snapshot.has_labels else None
        if size is None:
            continue
        if size <= EMPTIED * most:
            return True
        most = max(most, size)
    return False


def size_at(graph: _heap.Graph, steps: Sequence[PathStep], is_container: bool) -> int | None:
    """Return the items or bytes of what is at the end of the path in this graph; None if there is no such path."""
    nodes = nodes_at(graph, steps)
    if not nodes:
        return None
    if is_container:
        return sum(len(graph.referents(node)) for node in nodes)
    return sum(max(bytes_of(graph, node), graph.describe(node).bytes or 0) for node in nodes)


def nodes_at(graph: _heap.Graph, steps: Sequence[PathStep]) -> set[int]:
    """Return the objects to which a path of these names leads. Calls of one function have as many paths."""
    first, *_ = steps
    found = {node for node in graph.nodes(first.kind, first.type) if detail(graph, node) == without_line(first.detail)}
    for step in steps[:-1]:
        for hop in step.hops:
            found = {below for node in found for below in referents_by(graph, node, hop)}
    return found


def referents_by(graph: _heap.Graph, node: int, hop: Hop) -> Iterator[int]:
    """Yield what an object refers to by this name, key or index."""
    for below in graph.referents(node):
        link = graph.references_along([node, below])[0]
        if (link.relation, name_in_program(link.label), link.index) == (hop.relation, hop.label, hop.index):
            yield below


def detail(graph: _heap.Graph, node: int) -> str:
    """Return the description of an object, without the line at which a call is."""
    return without_line(graph.references_along([node])[0].detail)


def without_line(text: str) -> str:
    """`train (main.py)` of `train (main.py:12)`."""
    return LINE.sub(")", text)
