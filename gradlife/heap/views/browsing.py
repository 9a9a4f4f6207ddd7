"""Browse a snapshot: what an object dominates, who refers to it, which objects have a name.

Nodes are numbers; 0 is the process. Lists hold numbers, so a list of a million is cheap; rows are made only for nodes
that are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.graph import Reference, References, count_objects, omitted_objects
from gradlife.heap.object_names import searched
from gradlife.heap.ownership_links import short_type
from gradlife.heap.path_steps import last_reference
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.why import trace_of
from gradlife.model.trace import Trace

#: The node that refers to every root, and the node that stands for all unreachable objects.
PROCESS, UNREACHED = 0, -1

#: Objects shown of a long path, half from each end; the rest is counted.
MAX_STEPS = 100

#: Links at the end of a path that are enough to name its last reference: more are never folded.
MAX_FOLDED = 8

#: More than any list has.
ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class HeapNode:
    """One object as a row of a list."""

    node: int
    kind: str  # python, tensor, storage, grad_node, native, root
    type: str  # full name
    detail: str
    address: int
    bytes: int  # shallow size
    retained: int  # retained size
    keeps: int  # objects that it immediately dominates
    via: str  # how the object above refers to it
    is_shared: bool  # held not by that object alone, but by several below it; `via` is one path


class Browser:
    """Navigation in a snapshot's graph. Runs and changes nothing."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._graph: _heap.Graph = snapshot._graph

    def preparations(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield one-time preparations, each with a description for the user: some 0.2 s per million objects together."""
        yield "computing retained sizes", lambda: self._graph.retained(PROCESS)
        yield "finding the paths from the roots", lambda: self._graph.path(PROCESS)
        yield "sorting by retained size", lambda: self._graph.dominated(PROCESS, 0, 0)

    @property
    def bytes(self) -> int:
        """The size of all reachable objects."""
        return self._graph.retained(PROCESS)

    # --- dominators ---

    def kept(self, node: int) -> list[int]:
        """Return the nodes that this one immediately dominates, largest first. An attribute dict counts as part of its
        object.
        """
        return self._dominated(self._inside(node))

    def kept_count(self, node: int) -> int:
        """Return the number of these."""
        return self._graph.dominated(None if node == UNREACHED else self._inside(node), 0, 0)[0]

    def above(self, node: int) -> list[int]:
        """Return the dominators from the outermost to this node; empty if it is unreachable."""
        chain: list[int] = []
        at: int | None = node
        while at is not None and at != PROCESS:
            chain.append(at)
            at = self._graph.dominator(at)
        if at is None:
            return []
        chain.reverse()
        return [one for one, next_one in zip(chain, [*chain[1:], None], strict=True) if not self._hides(one, next_one)]

    def _hides(self, node: int, below: int | None) -> bool:
        """Whether it is a dict that is shown as part of its object, and something below it is shown instead."""
        above = self._graph.dominator(node)
        return below is not None and above is not None and above != node and self._inside(above) == node

    def _dominated(self, node: int) -> list[int]:
        return self._graph.dominated(None if node == UNREACHED else node, 0, ALL)[1]

    def _inside(self, node: int) -> int:
        """Return the attribute dict if the object dominates nothing else; otherwise the object."""
        if node in (PROCESS, UNREACHED):
            return node
        count, first = self._graph.dominated(node, 0, 1)
        if count != 1:
            return node
        link, last = self._graph.references_along([node, first[0]])
        return first[0] if link.label == "__dict__" and last.type == "dict" else node

    # --- rows ---

    def row(self, node: int, holder: int | None = None) -> HeapNode:
        """Make a node's row below a holder that refers to it or dominates it; without a holder, by its path."""
        found = self._graph.describe(node)
        via, is_shared = self._via(node, holder)
        return HeapNode(
            node=node,
            kind=found.kind,
            type=found.type,
            detail=self._graph.references_along([node])[0].detail,
            address=found.address,
            bytes=found.bytes or 0,
            retained=self._graph.retained(node),
            keeps=self.kept_count(node),
            via=via,
            is_shared=is_shared,
        )

    def referrer(self, node: int, target: int) -> HeapNode:
        """Make the row of a referrer with its reference."""
        links = self._links([node, target])
        via = last_reference(links[:-1])[1] if links[0].relation != "unknown" else ""
        return replace(self.row(node), via=via, is_shared=False)

    def _via(self, node: int, holder: int | None) -> tuple[str, bool]:
        """Return the holder's reference to a node, or the owner and reference that lead to it, and whether it is
        shared.
        """
        if holder is not None and holder > PROCESS:
            between = self._inside(holder)
            links = self._links([holder, node] if between == holder else [holder, between, node])
            if links[-2].relation != "unknown":
                return last_reference(links[:-1])[1], False
        path = self._graph.path(node)
        if len(path) < 2 or path[-2] == holder:
            return "", False
        links = self._links(path[-MAX_FOLDED:])
        owner, via = last_reference(links[:-1])
        if owner.relation == "unknown":
            via = ""
        is_rooted = len(path) == 3 and owner is links[1] and links[0].label != ""
        return joined(links[0].label if is_rooted else f"{short_type(owner.type)} {owner.detail}".strip(), via), True

    def _links(self, nodes: Sequence[int]) -> list[Reference]:
        return self._graph.references_along(nodes)

    # --- references ---

    def referrers(self, node: int) -> list[int]:
        """Return the referrers, most retained first, each once."""
        return self._sorted(self._graph.referrers(node))

    def referents(self, node: int) -> list[int]:
        """Return the referents, most retained first, each once."""
        return self._sorted(self._graph.referents(node))

    def _sorted(self, nodes: Sequence[int]) -> list[int]:
        return sorted(dict.fromkeys(nodes), key=lambda node: (-self._graph.retained(node), node))

    # --- search ---

    def find(self, text: str) -> list[int]:
        """Return the object at an address, or all with the text in their type, description or name."""
        wanted = text.strip()
        if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{6,20}", wanted):
            address = int(wanted, 0)
            node = self._graph.find(address) if address < 1 << 64 else None
            return [node] if node else []
        return searched(self._graph, wanted, ALL) if wanted else []

    def of_type(self, kind: str, name: str) -> list[int]:
        """Return all objects of a type."""
        return self._sorted(self._graph.nodes(kind, name))

    # --- traces ---

    def trace(self, node: int) -> Trace:
        """Return a node's trace. A long path, such as a linked list of a thousand objects, is shortened to its ends."""
        found = self.snapshot._explain(node)
        found["path"], found["cycle"], found["tail"] = map(shortened, (found["path"], found["cycle"], found["tail"]))
        return trace_of(short_type(self._graph.type(node)), found, self._graph, self.snapshot.limits)


def joined(owner: str, via: str) -> str:
    """Join an owner and its reference: ``list len 3[0]``, ``module os .__dict__``, ``frame local variable 'x'``."""
    return f"{owner}{via}" if via[:1] == "[" else f"{owner} {via}".rstrip()


def shortened(raw: References) -> list[Reference]:
    """Replace the middle of a long path with one step that counts the omitted objects."""
    if len(raw) <= MAX_STEPS:
        return [*raw]
    half = MAX_STEPS // 2
    return [*raw[:half], omitted_objects(count_objects(raw[half:-half])), *raw[-half:]]
