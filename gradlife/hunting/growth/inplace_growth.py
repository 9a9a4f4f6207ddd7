"""Growth without new objects: a place holds one tensor, which `torch.cat` replaces by a longer one in each step, or a view
of a storage that grows. The number of objects stays the same, so nothing accumulates.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from gradlife import _heap
from gradlife.hunting.growth.groups import FRAME, Group, has_variables, is_hunts_own
from gradlife.hunting.growth.rates import EVEN, are_even
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, is_steady
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.noted_facts import identity_of, node_at
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.stale_activations import Watch, bytes_of
from gradlife.hunting.snapshots.step_snapshots import (
    Collect,
    memory_file_names,
    sized,
    take_snapshot,
    tensor_type_names,
)
from gradlife.model.growth import GrowthKind
from gradlife.model.hunt import Amounts

#: Least rounds in which a place must grow: a batch may by chance be larger than the last one a few times.
MIN_ROUNDS = 4

#: Short hunts have fewer rounds. Then the rates of all rounds must be about the same.
FEW_ROUNDS = 3

#: In two rounds they must be the same, but for what one step more or less adds, unless one object grows.
SAME = 0.95

#: Objects below this share of the largest at a place do not count as growing.
MIN_SHARE = 0.5

#: Arrays and texts that get fewer bytes per step are a history of a few numbers. A tensor is more than that.
MIN_PLAIN_BYTES = 64

#: A place that gets a piece of the same size now and then: most pieces of the smallest round, and the deviation of a
#: round from a whole number of them, as a share of a piece.
MAX_PIECES = 4
MAX_DEVIATION = 0.02

#: Python objects that hold the variables of a call which is suspended.
SUSPENDED = frozenset({"frame", "generator", "coroutine", "async_generator"})


class Place(NamedTuple):
    """A Python object, which the snapshots have in common if they have it at the same address, or one of its variables.

    A running call and a module hold unrelated variables: each is a place of its own.
    """

    kind: str
    type: str
    address: int
    variable: tuple[str, int] = ("", -1)  # the type of its value, and its position among values of this type


class Variables:
    """The variables that running calls and modules hold in one graph."""

    def __init__(self, graph: _heap.Graph) -> None:
        self._graph = graph
        self._known: dict[int, dict[int, tuple[str, int]]] = {}

    def position(self, holder: int, value: int) -> tuple[str, int]:
        """Return which variable of a holder has the value; none if the holder is no call or module, or holds it only
        through several others.
        """
        if holder not in self._known:
            self._known[holder] = self._read(holder)
        return self._known[holder].get(value, ("", -1))

    def _read(self, holder: int) -> dict[int, tuple[str, int]]:
        graph = self._graph
        if not has_variables(graph, holder) and graph.type(holder) not in SUSPENDED:
            return {}
        counts: Counter[str] = Counter()
        found = {}
        for value in graph.referents(holder):
            name = graph.type(value)
            found[value] = (name, counts[name])
            counts[name] += 1
        return found


@dataclass(frozen=True)
class SizedNode:
    """A node that takes memory, and its holders that are places, nearest first."""

    node: int
    bytes: int
    places: tuple[Place, ...]


def places_that_grow(
    evidence: Evidence, known: Sequence[GrownGroup], *, is_strict: bool = False, may_be_short: bool = False
) -> list[GrownGroup]:
    """Return the places that took more memory in every round, without those in `known`. If ``is_strict``, by about as
    much in each: no watched step tells whether a larger tensor was made of the last one. If ``may_be_short``, two rounds
    that added the same are enough.
    """
    snapshots = evidence.snapshots
    if len(snapshots) < FEW_ROUNDS + (not may_be_short) or not has_new_sizes(evidence):
        return []
    found = [sized_nodes(snapshot.graph) for snapshot in snapshots]
    common = set.intersection(*({place for held in one for place in held.places} for one in found))
    amounts = [amounts_of(one, common) for one in found]
    members = {node for one in known for node in one.group.members}.union(evidence.planted)
    rows = []
    for place in amounts[-1]:
        levels = [before[place] for before in amounts]
        if place is None or not grows_in_place(levels, evidence, is_strict=is_strict):
            continue
        here = [held for held in found[-1] if nearest_common_place(held, common) == place]
        if not members.isdisjoint(held.node for held in here):
            continue
        largest = max(here, key=lambda held: held.bytes).node
        if len(snapshots) > FEW_ROUNDS or is_one_object(evidence, largest) or grows_in_place(levels, evidence, SAME):
            rows.append(grown_at(evidence, place, here, levels))
    return [one for one in rows if is_worth_while(evidence.graph, one)]


def is_worth_while(graph: _heap.Graph, one: GrownGroup) -> bool:
    """Whether each step adds enough: a number in an array is as little as one in a list. Any tensor is a leak."""
    return graph.kind(next(iter(one.group.members))) == "storage" or one.per_step.bytes >= MIN_PLAIN_BYTES


def has_new_sizes(evidence: Evidence) -> bool:
    """Whether any object of the program has a size that no object had before. In most programs none has.

    The size of a small storage is its malloc block, which may grow now and then, even for planted storages.
    """
    graph = evidence.graph
    earlier = frozenset().union(*(snapshot.sizes for snapshot in evidence.snapshots[:-1]))
    new = (node for node, nbytes in sized(graph) if nbytes not in earlier and node not in evidence.planted)
    return any(not is_hunts_own(graph, node) for node in new)


def sized_nodes(graph: _heap.Graph) -> list[SizedNode]:
    """Return every node that takes memory, without the text in an in-memory file, which belongs to the file."""
    tensors, files, variables = tensor_type_names(), memory_file_names(), Variables(graph)
    return [
        SizedNode(node, nbytes, tuple(places_above(graph, node, tensors, variables)))
        for node, nbytes in sized(graph)
        if graph.type(node) != "str" or files.isdisjoint(map(graph.type, dominators(graph, node)))
    ]


def places_above(graph: _heap.Graph, node: int, tensors: Set[str], variables: Variables) -> Iterator[Place]:
    """Yield the holders that are places. A tensor is none: a new one often gets the address of an old one."""
    below = node
    for above in holders_of(graph, node):
        if (graph.kind(above) == "python" and graph.type(above) not in tensors) or graph.kind_and_type(above) == FRAME:
            yield place_at(graph, above, variables.position(above, below))
        below = above


def holders_of(graph: _heap.Graph, node: int) -> Sequence[int]:
    """Return the dominators, nearest first; those on its path for what several roots hold: a variable, and an argument of the
    running step.
    """
    found = [*dominators(graph, node)]
    return found if len(found) > 1 else graph.path(node)[-2::-1]


def nearest_common_place(held: SizedNode, common: Set[Place]) -> Place | None:
    """Return the nearest place that is in every snapshot."""
    return next((place for place in held.places if place in common), None)


def amounts_of(nodes: Iterable[SizedNode], common: Set[Place]) -> Counter[Place | None]:
    """Sum up the bytes at each place."""
    sums: Counter[Place | None] = Counter()
    for held in nodes:
        sums[nearest_common_place(held, common)] += held.bytes
    return sums


def is_one_object(evidence: Evidence, node: int) -> bool:
    """Whether an object was there at each snapshot, such as a buffer or a file in memory that is written to."""
    one = identity_of(evidence.graph, node)
    return all(node_at(snapshot.graph, one) is not None for snapshot in evidence.snapshots)


def grows_in_place(amounts: Sequence[int], evidence: Evidence, share: float = EVEN, *, is_strict: bool = False) -> bool:
    """Whether the amount grew in every round, by at least this share of the fastest round's per step, or by pieces of one size
    now and then.
    """
    added = [after - before for before, after in itertools.pairwise(amounts)]
    if not is_steady(added[evidence.judged_rounds.start :], evidence):
        return False
    steps = [evidence.steps(number) for number in range(len(added))]
    is_long = len(added) >= MIN_ROUNDS and not is_strict and all(one > 0 for one in added)
    if is_long or are_even(added, steps, share):
        return True
    return gets_pieces(added, steps)


def gets_pieces(added: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether the rounds added whole pieces of one size, as many as their steps suggest: a short round may add none."""
    least = min((one for one in added if one > 0), default=0)
    if min(added) < 0 or sum(one > 0 for one in added) < FEW_ROUNDS:
        return False
    for size in (least / count for count in range(1, MAX_PIECES + 1)):
        pieces = [one / size for one in added]
        rate = sum(pieces) / sum(steps)
        if all(abs(one - round(one)) <= MAX_DEVIATION for one in pieces) and all(
            abs(one - rate * length) < 1 + MAX_DEVIATION for one, length in zip(pieces, steps, strict=True)
        ):
            return True
    return False


def grown_at(evidence: Evidence, place: Place, nodes: Sequence[SizedNode], amounts: Sequence[int]) -> GrownGroup:
    """Group the new objects at a place, largest first, with the growth of the place."""
    graph = evidence.graph
    largest, *others = sorted(nodes, key=lambda one: -one.bytes)
    group = Group(graph.find(place.address))
    large = [one for one in others if one.bytes >= MIN_SHARE * largest.bytes]  # others may be of other variables
    for held in (largest, *(one for one in large if one.node in evidence.born)):
        path = path_below(graph, held, place)
        group.tops.append(path[-1])
        group.members.update(dict.fromkeys(path, path[-1]))
    steps = sum(map(evidence.steps, evidence.judged_rounds))
    more = (amounts[-1] - amounts[evidence.judged_rounds.start]) / steps
    return GrownGroup(group, Amounts(bytes=more, retained_bytes=more), GrowthKind.LARGER)


def path_below(graph: _heap.Graph, held: SizedNode, place: Place) -> list[int]:
    """Return the nodes from a sized node up to a place, without the place."""
    path = [held.node]
    for above in holders_of(graph, held.node):
        if place_at(graph, above, place.variable) == place:
            break
        path.append(above)
    return path


def place_of(graph: _heap.Graph, one: GrownGroup) -> Place:
    """Return the place of a group that grows in place."""
    anchor = one.group.anchor or 0
    return place_at(graph, anchor, Variables(graph).position(anchor, one.group.tops[0]))


def is_replaced(graph: _heap.Graph, one: GrownGroup, places: Set[Place]) -> bool:
    """Whether the group is a tensor at one of `places`, those where each step replaces the tensor by one that is not made
    of it.

    Texts and arrays are no such groups: nothing shows what they are made of.
    """
    largest = next(iter(one.group.members))
    return graph.kind(largest) == "storage" and place_of(graph, one) in places


def place_at(graph: _heap.Graph, node: int, variable: tuple[str, int]) -> Place:
    """Return an object of a graph, or one of its variables, as a place."""
    found = graph.describe(node)
    return Place(found.kind, found.type, found.address, variable)


def tensors_at(graph: _heap.Graph, places: Iterable[Place]) -> dict[int, Place]:
    """Find the large tensors that only these places hold, by address."""
    found: dict[Place, dict[int, int]] = {place: {} for place in places}
    names, variables = tensor_type_names() if found else frozenset(), Variables(graph)
    for name in names:
        for node in graph.nodes("python", name):
            above = places_above(graph, node, names, variables)
            place = next((one for one in above if one in found), None)
            if place is not None:
                found[place][graph.describe(node).address] = bytes_of(graph, node)
    return {
        address: place
        for place, sizes in found.items()
        for address, nbytes in sizes.items()
        if nbytes >= MIN_SHARE * max(sizes.values())
    }


def replaced_places(watch: Watch, places: Sequence[Place], steps: int) -> frozenset[Place]:
    """Return the places with a new tensor that was not made of an older one there, after watched steps.

    A place whose tensor the watched steps did not replace is none, nor is any if the contents of a tensor left torch: they
    may have come back.
    """
    now = take_snapshot(steps, collect=Collect.NOTHING)
    found = in_fork(lambda: tensors_at(now.graph, places))
    made = {place for address, place in found.items() if watch.is_made_of_source(address)}
    return frozenset() if watch.left_torch else frozenset(found.values()) - made
