"""Siblings of a survivor: other attributes or variables by which the same holder keeps as much."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.heap.graph import Reference
from gradlife.heap.path_steps import merged_steps
from gradlife.hunting.snapshots.stale_activations import bytes_of
from gradlife.model.trace import PathStep, Trace

#: Names that are listed at most.
MOST = 3

#: Objects below this share of the one shown are left out.
MIN_SHARE = 0.5

#: Relations whose label is a name in the program.
NAMED = {"attribute", "slot", "local", "cell"}


def with_siblings(graph: _heap.Graph, trace: Trace, raw: Sequence[Reference], members: Collection[int]) -> Trace:
    """Return the trace with the holder's other large references; `raw` are its steps as recorded."""
    names = list(dict.fromkeys(names_beside(graph, raw, set(members))))
    if not names:
        return trace
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    text = f"{trace.detail}, beside it {', '.join(names[:MOST])}{more}"
    steps, tail = with_detail(trace.steps, text), with_detail(trace.tail, text)
    return replace(trace, detail=text, steps=steps, tail=tail)


def with_detail(steps: tuple[PathStep, ...], detail: str) -> tuple[PathStep, ...]:
    """Return the steps with this detail on the last."""
    return (*steps[:-1], replace(steps[-1], detail=detail)) if steps else ()


def names_beside(graph: _heap.Graph, raw: Sequence[Reference], members: set[int]) -> Iterator[str]:
    """Yield the holder's other references as a program would write them."""
    if len(raw) < 2 or not is_named(raw[-2]):
        return
    shown = raw[-1].node
    least = MIN_SHARE * bytes_of(graph, shown)
    nodes = [step.node for step in raw[:-1]]
    for path in paths_beside(graph, raw, nodes):
        if path[-1] != shown and path[-1] in members and least and bytes_of(graph, path[-1]) >= least:
            yield merged_steps(graph.references_along(path))[-2].via


def is_named(step: Reference) -> bool:
    """Whether the reference has a name, unlike an item of a container."""
    return step.relation in NAMED or (step.relation == "dict_value" and step.label[:1] in {"'", '"'})


def paths_beside(graph: _heap.Graph, raw: Sequence[Reference], nodes: list[int]) -> Iterator[list[int]]:
    """Return the paths to all referents of the same object; for a function, to the contents of its other cells."""
    if raw[-2].relation != "cell":
        yield from ([*nodes, target] for target in graph.referents(nodes[-1]))
        return
    for cell in graph.referents(nodes[-2]) if len(nodes) > 1 else ():
        yield from ([*nodes[:-1], cell, target] for target in graph.referents(cell))
