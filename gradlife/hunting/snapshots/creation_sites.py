"""The program lines that created the objects of a graph, innermost first, from a recording.

An object that exists only in C++ is shown with the line of its operation. There is no line for a node that no tensor
showed when it was new, nor for a saved tensor that is not the result of its own operation.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.process.start_folder import Start, is_below_start
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names

Stack = Sequence[tuple[str, int, str]]  # file, line, function; innermost first

#: Members of a group that are looked up at most.
MAX_SAMPLE = 500

#: torch's name for a saved tensor that is the node's own result.
OWN_RESULT = "result"


@dataclass(frozen=True)
class RecordedSites:
    """The creation sites that were recorded up to a snapshot, by the address of the object."""

    addresses: bytes  # block addresses, ascending, 8 bytes each
    sites: bytes  # 4 bytes each
    nodes: dict[int, int]  # address of a live grad node -> site
    stacks: Sequence[Stack]
    before: dict[str, int]  # bytes of a block in front of the object, by type


class CreationSites:
    """The recorded creation sites of several snapshots."""

    def __init__(self) -> None:
        self._known: list[tuple[StepSnapshot, RecordedSites]] = []
        self.executed: frozenset[tuple[str, int]] = frozenset()  # program lines that ran in a step

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, snapshot: StepSnapshot, recorded: RecordedSites) -> None:
        """Keep the sites recorded up to the latest snapshot."""
        self._known.append((snapshot, recorded))

    def lines(self, graph: _heap.Graph, candidates: Iterable[Iterable[int]]) -> tuple[str, ...]:
        """Call `Creations.lines` with the sites recorded for this graph; empty if there are none."""
        found = next((recorded for snapshot, recorded in reversed(self._known) if snapshot.opened is graph), None)
        return Creations(graph, found).lines(candidates) if found is not None else ()


@dataclass(frozen=True)
class Creations:
    """The recorded sites of a snapshot, looked up for the nodes of its graph."""

    graph: _heap.Graph
    recorded: RecordedSites

    def lines(self, candidates: Iterable[Iterable[int]]) -> tuple[str, ...]:
        """Return where most of the first group of nodes with a known line were created."""
        for nodes in candidates:
            sites = Counter(site for site in map(self.site, spread(nodes)) if site is not None)
            if sites:
                [(site, _)] = sites.most_common(1)
                return tuple(words(*place) for place in self.recorded.stacks[site])
        return ()

    def site(self, node: int) -> int | None:
        """Return the creation site of a node of the graph."""
        found = self.graph.describe(node)
        if found.kind == "python":
            return self._site_of_block(found.type, found.address)
        if found.kind == "grad_node":
            return self._site_of_node(node)
        return self._site_of_tensor(node) if found.kind in {"tensor", "storage"} else None

    def _site_of_block(self, type_: str, address: int) -> int | None:
        before = self.recorded.before.get(type_)
        if before is None:
            return None
        addresses = memoryview(self.recorded.addresses).cast("Q")
        at = bisect_left(addresses, address - before)
        is_recorded = at < len(addresses) and addresses[at] == address - before
        return int(memoryview(self.recorded.sites).cast("I")[at]) if is_recorded else None

    def _site_of_node(self, node: int) -> int | None:
        """Return the creation site of a grad node, or of its ctx for a custom Function."""
        found = self._recorded_site(node)
        contexts = (self.graph.describe(target) for target in self.graph.referents(node) if found is None)
        names = (self._site_of_block(one.type, one.address) for one in contexts if one.kind == "python")
        return next((site for site in names if site is not None), found)

    def _recorded_site(self, node: int) -> int | None:
        found = self.graph.describe(node)
        return self.recorded.nodes.get(found.address) if found.kind == "grad_node" else None

    def _site_of_tensor(self, node: int) -> int | None:
        """Return the site of the wrapper, of its grad node, or of the node that saved it as its own result."""
        graph, names = self.graph, tensor_type_names()
        around = [(one, graph.describe(one)) for one in graph.referrers(node)]
        if graph.kind(node) == "storage":
            tensors = [one for one, row in around if row.kind == "tensor"]
            return next((site for site in map(self._site_of_tensor, tensors) if site is not None), None)
        sites = [self._site_of_block(row.type, row.address) for _, row in around if row.type in names]
        sites += [self._recorded_site(one) for one in graph.referents(node)]
        sites += [self._recorded_site(one) for one in self._makers(node)]
        return next((site for site in sites if site is not None), None)

    def _makers(self, tensor: int) -> list[int]:
        """Return the nodes that saved a tensor as their own result."""
        if not self.graph.has_labels:
            return []
        rows = self.graph.explain(tensor)["referrers"]
        return [row.node for row in rows if row.kind == "grad_node" and row.label.startswith(OWN_RESULT)]


def spread(nodes: Iterable[int]) -> Sequence[int]:
    """Return a sample, spread evenly."""
    known = list(nodes)
    return known[:: max(1, len(known) // MAX_SAMPLE)]


def words(file: str, line: int, function: str) -> str:
    """Format a place as ``train.py:41 in step``, with a relative path below the folder of the start."""
    return f"{short_path(file)}:{line} in {function}"


def short_path(file: str) -> str:
    """Return the relative path of a file below the folder in which the program started, else its name."""
    if not os.path.isabs(file):
        return file
    return os.path.relpath(file, Start.folder) if is_below_start(file) else os.path.basename(file)
