"""Browse a snapshot node by node: what an object alone keeps alive, who refers to it, which objects have a name.

Nodes are numbers, 0 is the process. Lists are of numbers, so that those of a million cost little; a row is made of the nodes
that are shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradlife.heap.graph import HeapGraph, Reference, References, gap
from gradlife.heap.object_names import searched
from gradlife.heap.ownership_links import short_type
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.steps import last_reference
from gradlife.heap.why import trace_of
from gradlife.model.trace import Trace

#: The node that refers to every root, and what stands for all that no root reaches.
PROCESS, UNREACHED = 0, -1

#: Objects of a long path that are shown, half of them from its beginning; the rest is counted.
MOST_STEPS = 100

#: Links at the end of a path among which the last reference is named: more are never folded into one.
MOST_FOLDED = 8

#: More than there are.
ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class HeapNode:
    """One object as a row of a list."""

    node: int
    kind: str  # python, tensor, storage, grad_node, native, root
    type: str  # in full
    detail: str
    address: int
    bytes: int  # its own
    retained: int  # what would be freed with it
    keeps: int  # objects that only it keeps, directly
    via: str  # how the object above refers to it
    is_shared: bool  # not that one alone, but several below it refer to it; `via` is one path


class Browser:
    """A snapshot's graph, to be gone through. Nothing of it is executed, and nothing is changed."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._graph: HeapGraph = snapshot._graph

    def preparations(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the preparations that are computed once, each with a description for who waits: some 0.2 s a million
        objects together.
        """
        yield "finding what would be freed with what", lambda: self._graph.retained(PROCESS)
        yield "finding the paths from the roots", lambda: self._graph.path(PROCESS)
        yield "sorting by what is retained", lambda: self._graph.dominated(PROCESS, 0, 0)

    @property
    def bytes(self) -> int:
        """The retained size of everything that a root reaches."""
        return self._graph.retained(PROCESS)

    # --- what is kept by what ---

    def kept(self, node: int) -> list[int]:
        """Return what would be freed with the node and with nothing below it, largest first. For an object with an
        attribute dict, that is what the dict keeps: the dict is shown as part of the object.
        """
        return self._dominated(self._inside(node))

    def kept_count(self, node: int) -> int:
        """Return how many these are."""
        return self._graph.dominated(None if node == UNREACHED else self._inside(node), 0, 0)[0]

    def above(self, node: int) -> list[int]:
        """The nodes from the outermost to this one, each kept by the one before; empty for what no root reaches."""
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
        """Is it a dict that is shown as a part of its object, with something below it to be shown instead?"""
        above = self._graph.dominator(node)
        return below is not None and above is not None and above != node and self._inside(above) == node

    def _dominated(self, node: int) -> list[int]:
        return self._graph.dominated(None if node == UNREACHED else node, 0, ALL)[1]

    def _inside(self, node: int) -> int:
        """The dict of attributes, where that is all that an object keeps; else the object."""
        if node in (PROCESS, UNREACHED):
            return node
        count, first = self._graph.dominated(node, 0, 1)
        if count != 1:
            return node
        link, last = self._graph.steps_along([node, first[0]])
        return first[0] if link.label == "__dict__" and last.type == "dict" else node

    # --- one of them ---

    def row(self, node: int, holder: int | None = None) -> HeapNode:
        """A node as it stands below another that refers to it or keeps it; without one by the path that leads to it."""
        found = self._graph.describe(node)
        via, is_shared = self._via(node, holder)
        return HeapNode(
            node=node,
            kind=found.kind,
            type=found.type,
            detail=self._graph.steps_along([node])[0].detail,
            address=found.address,
            bytes=found.bytes or 0,
            retained=self._graph.retained(node),
            keeps=self.kept_count(node),
            via=via,
            is_shared=is_shared,
        )

    def referrer(self, node: int, target: int) -> HeapNode:
        """An object that refers to another, and how it does."""
        links = self._links([node, target])
        via = last_reference(links[:-1])[1] if links[0].relation != "unknown" else ""
        return replace(self.row(node), via=via, is_shared=False)

    def _via(self, node: int, holder: int | None) -> tuple[str, bool]:
        """Return the reference of the holder, or the reference of the object between that leads to it."""
        if holder is not None and holder > PROCESS:
            between = self._inside(holder)
            links = self._links([holder, node] if between == holder else [holder, between, node])
            if links[-2].relation != "unknown":
                return last_reference(links[:-1])[1], False
        path = self._graph.path(node)
        if len(path) < 2 or path[-2] == holder:
            return "", False
        links = self._links(path[-MOST_FOLDED:])
        owner, via = last_reference(links[:-1])
        if owner.relation == "unknown":
            via = ""
        is_rooted = len(path) == 3 and owner is links[1] and links[0].label != ""
        return joined(links[0].label if is_rooted else f"{short_type(owner.type)} {owner.detail}".strip(), via), True

    def _links(self, nodes: Sequence[int]) -> list[Reference]:
        return self._graph.steps_along(nodes)

    # --- who refers to whom ---

    def referrers(self, node: int) -> list[int]:
        """Return the referrers, those that retain most first, each once."""
        return self._sorted(self._graph.referrers(node))

    def referents(self, node: int) -> list[int]:
        """Return the referents, in the same order."""
        return self._sorted(self._graph.referents(node))

    def _sorted(self, nodes: Sequence[int]) -> list[int]:
        return sorted(dict.fromkeys(nodes), key=lambda node: (-self._graph.retained(node), node))

    # --- looking for some ---

    def find(self, text: str) -> list[int]:
        """The object at an address; else all that have the text in their type, their description or their name."""
        wanted = text.strip()
        if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{6,20}", wanted):
            address = int(wanted, 0)
            node = self._graph.find(address) if address < 1 << 64 else None
            return [node] if node else []
        return searched(self._graph, wanted, ALL) if wanted else []

    def of_type(self, kind: str, name: str) -> list[int]:
        """All objects of a type."""
        return self._sorted(self._graph.nodes(kind, name))

    # --- why it is alive ---

    def trace(self, node: int) -> Trace:
        """Return the trace of a node. A long path, such as a list of a thousand links, is shortened to its ends."""
        found = self.snapshot._story(node)
        found["path"], found["cycle"], found["tail"] = map(shortened, (found["path"], found["cycle"], found["tail"]))
        return trace_of(short_type(self._graph.type(node)), found, self._graph, self.snapshot.limits)


def joined(owner: str, via: str) -> str:
    """``list len 3[0]``, ``module os .__dict__``, ``frame local variable 'x'``."""
    return f"{owner}{via}" if via[:1] == "[" else f"{owner} {via}".rstrip()


def shortened(raw: References) -> list[Reference]:
    """A path without its middle, for which a step stands that says how much it was."""
    if len(raw) <= MOST_STEPS:
        return [*raw]
    half = MOST_STEPS // 2
    return [*raw[:half], gap(f"{len(raw) - 2 * half:,} more objects"), *raw[-half:]]
