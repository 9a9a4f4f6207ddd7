"""The neighbourhood of an object in a snapshot: paths to it, the cycle that keeps it alive, what it refers to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradlife import _heap
from gradlife.heap.graph import Explanation, Reference, References, is_a, is_native
from gradlife.heap.hidden_steps import fold
from gradlife.heap.ownership_links import is_native_part, short_type
from gradlife.heap.path_steps import INNER_LABELS, begun_outside, last_reference, skip_to_module, step_of
from gradlife.heap.step_statuses import with_statuses
from gradlife.heap.torch_layout.labels import ITS_WRAPPER
from gradlife.model.neighbourhood import Neighbour, Neighbourhood, Role, Tie
from gradlife.model.trace import Lifetime, PathStep

#: Most referrers and referents of the target that are drawn; the rest is counted.
MAX_REFERRERS = 8
MAX_REFERENTS = 8

#: Objects drawn at either end of a long path.
FIRST_STEPS, LAST_STEPS = 8, 16

#: Depth of the search for referents: through the object's dict, or through its C++ object.
DEEPEST = 3

#: The node number of references that nothing in the heap explains.
UNSEEN = -1

#: A step with the node number of its object.
Numbered = tuple[int, PathStep]


class Picture:
    """A neighbourhood under construction."""

    def __init__(self, graph: _heap.Graph, target: int) -> None:
        self._graph = graph
        self._target = target
        self._shown = target  # the Python wrapper if the target is a C++ object with one
        self._neighbours: dict[int, Neighbour] = {}
        self._ties: dict[tuple[int, int, str], Tie] = {}

    def neighbourhood(self, found: Explanation) -> Neighbourhood:
        """Build the picture from the graph's answer about the target."""
        ring = numbered_ring(found["cycle"])
        path = numbered(found["path"])
        self._shown = path[-1][0] if path else self._target
        self.add(path[-1:] or [(self._target, self.bare(self._target))], Role.TARGET)
        self.add(path, Role.PATH, suspects=with_statuses(tuple(step for _, step in path)))
        self.add([*ring, *ring[:1]], Role.RING)
        self.add(numbered(found["tail"]), Role.PATH)
        self.add_referrers(found)
        referents = self.add_referents()
        target = self._neighbours[self._shown]
        return Neighbourhood(
            title=f"{target.object} {target.detail}".strip(),
            lifetime=Lifetime(found["lifetime"]),
            neighbours=tuple(self._neighbours.values()),
            ties=tuple(self._ties.values()),
            more_referrers=max(0, found["referrer_count"] - MAX_REFERRERS),
            more_referents=max(0, referents - MAX_REFERENTS),
        )

    def add(self, steps: Sequence[Numbered], role: Role, suspects: Sequence[PathStep] = ()) -> None:
        """Add the objects of a path with their references. The middle of a long path is only counted."""
        left_out = len(steps) - FIRST_STEPS - LAST_STEPS
        for number, (node, step) in enumerate(steps):
            if left_out > 1 and number >= FIRST_STEPS and number < FIRST_STEPS + left_out:
                continue
            is_root = role is Role.PATH and number == 0
            self.meet(node, step, Role.ROOT if is_root else role)
            if left_out > 1 and number == FIRST_STEPS - 1:
                more = sum(step.count for _, step in steps[FIRST_STEPS:-LAST_STEPS])
                self.tie(node, steps[-LAST_STEPS][0], f"{step.via} … and {more:,} objects more", False, False)
            elif number + 1 < len(steps):
                is_suspect = suspects[number].is_suspect if suspects else False
                is_native = any(hop.relation == "native" for hop in step.hops)
                self.tie(node, steps[number + 1][0], step.via, is_suspect, is_native)

    def meet(self, node: int, step: PathStep, role: Role) -> None:
        """Add an object. An object added before keeps its role."""
        node = self.shown(node)
        if node in self._neighbours:
            return
        own = self._graph.describe(node).bytes
        self._neighbours[node] = Neighbour(
            node, step.object, step.detail, step.kind, role, own or 0, self._graph.retained(node)
        )

    def tie(self, source: int, target: int, via: str, is_suspect: bool, is_native: bool) -> None:
        """Add a reference once. It is suspect if it is suspect on any path."""
        key = (source, target, via) = (self.shown(source), self.shown(target), via)
        known = self._ties.get(key)
        self._ties[key] = Tie(source, target, via, is_suspect or (known is not None and known.is_suspect), is_native)

    def shown(self, node: int) -> int:
        """Return the node that represents this one in the drawing."""
        return self._shown if node == self._target else node

    def bare(self, node: int) -> PathStep:
        """Return an object's step without a path."""
        found = self._graph.references_along([node])
        own = self._graph.describe(node)
        return step_of(found[-1], "") if found else PathStep(short_type(own.type), "", own.kind, "", "unknown")

    def add_referrers(self, found: Explanation) -> None:
        """Add the target's referrers, each with a path from a root, and the count of unaccounted references."""
        pairs = list(zip(found["owners"], found["referrers"], strict=True))[:MAX_REFERRERS]
        for above, step in pairs:
            owner, via = last_reference((*above, step))
            if is_native_part(owner):
                continue  # the target's own C++ object
            path = self._graph.path(owner.node)
            if path and self._target not in path:
                self.add(numbered(self._graph.path_references_along([*path, self._target])), Role.PATH)
            else:  # reachable only through the target, or unreachable
                self.meet(owner.node, step_of(owner, via), Role.PATH)
                self.tie(owner.node, self._target, via, False, is_native(owner))
        unseen = found["references"] - found["referrer_count"]
        if unseen > 0:
            text = f"{unseen} reference{'s' * (unseen != 1)} that nothing here explains"
            self._neighbours[UNSEEN] = Neighbour(UNSEEN, "native code", text, "native", Role.UNSEEN)
            self.tie(UNSEEN, self._target, "", False, True)

    def add_referents(self) -> int:
        """Add the referents of the target."""
        rows = list(dict.fromkeys(self.referents_of([self._target])))
        for row in rows[:MAX_REFERENTS]:
            self.add(numbered(self._graph.references_along(row), whole=True), Role.KEPT)
        return len(rows)

    def referents_of(self, above: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield paths from the target to its referents. Its own dict and C++ object are passed through, never ends."""
        for node in self._graph.referents(above[-1]):
            links = self._graph.references_along([*above, node])
            if is_class(links[-1]) or node in above:
                continue
            if links[-2].label in INNER_LABELS and len(above) < DEEPEST:
                yield from self.referents_of([*above, node])
            elif links[-2].label != ITS_WRAPPER:
                yield (*above, node)


def numbered(links: References, whole: bool = False) -> list[Numbered]:
    """Return the steps of a path with node numbers, from its module on, or all of them if `whole`."""
    steps: list[Numbered] = []
    at = 0 if whole else skip_to_module(links)
    while at < len(links):
        taken, via = fold(links, at)
        is_last = at + 1 == len(links)
        if not is_native_part(links[at]) or (steps and is_last):
            hops = () if is_last else links[at : at + taken]
            steps.append((links[at].node, step_of(links[at], "" if is_last else via, hops)))
        at += taken
    return steps


def numbered_ring(raw: References) -> list[Numbered]:
    """Return the steps of a cycle with node numbers. The last refers to the first."""
    return list(ring_steps(raw))


def ring_steps(raw: References) -> Iterator[Numbered]:
    """Yield the objects of a cycle."""
    links = begun_outside(raw)
    at = 0
    while at < len(links):
        taken, via = fold(links, at)
        if not is_native_part(links[at]):
            yield links[at].node, step_of(links[at], via, links[at : at + taken])
        at += taken


def is_class(link: Reference) -> bool:
    """Whether the object is a type. Every object refers to its type, so a drawing omits types."""
    return is_a(link, frozenset({"type"}))


def neighbourhood_of(graph: _heap.Graph, node: int, found: Explanation) -> Neighbourhood:
    """Return the neighbourhood of an object. `found` is the graph's answer about it. Costs one `why` per referrer."""
    return Picture(graph, node).neighbourhood(found)
