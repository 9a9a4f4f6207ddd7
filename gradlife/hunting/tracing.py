"""The trace of a group: of its members the one that says most, and the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from gradlife import _heap
from gradlife.heap.steps import RawStep, short_type
from gradlife.heap.why import trace_of
from gradlife.hunting.groups import Group
from gradlife.hunting.islands import heart
from gradlife.hunting.looks import tensor_type_names
from gradlife.model.trace import Lifetime, Trace

#: Members whose paths are compared.
MOST_COMPARED = 64

#: Objects of one type, each held by the one before, that are a chain.
LINKS = 3

#: Types of which several stand above one another in any object that is made of others.
CONTAINERS = frozenset({"dict", "list", "tuple", "set", "frozenset", "cell", "collections.OrderedDict"})

#: The type of tensors that are of no other.
PLAIN_TENSOR = "torch.Tensor"

#: Bytes from which an object is told of rather than what it is a part of.
LARGE = 4096

#: References that say less than any other way to the same object.
WEAK_RELATIONS = {"dict_key", "unknown", "member"}

#: Tuples whose first item a runner of tests keeps for them, by their addresses: the name of the value, and its scope. There
#: a trace begins, for a reader.
BEGINNINGS: ContextVar[Mapping[int, tuple[str, str]]] = ContextVar("BEGINNINGS", default=MappingProxyType({}))

#: The object that such a trace begins with.
FIXTURE = "fixture"


def held_trace(graph: _heap.Graph, node: int, way: Sequence[int] = (), by: RawStep | None = None) -> Trace:
    """Why a node is alive that a root reaches: by a way or through a referrer if asked for, else by the way that says most."""
    found = story(graph, node)
    found["path"] = raw_way(graph, node, way) if by is None else begun_late(path_by(graph, node, by))
    return trace_of(name_of(graph, node), found, graph, ())


def own_cycle_trace(graph: _heap.Graph, node: int, by: RawStep) -> Trace:
    """The cycle that will keep a node when no root reaches it any more: the last in it is below the node, and refers to it."""
    found = story(graph, node)
    way = path_by(graph, node, by)[:-1]
    start = next(at for at, row in enumerate(way) if row[0] == node)
    found.update(path=[], cycle=way[start:], tail=[], legs=[], lifetime=Lifetime.GC.value)
    return trace_of(name_of(graph, node), found, graph, ())


def path_by(graph: _heap.Graph, node: int, by: RawStep) -> list[RawStep]:
    """The way to a node through one of its referrers, of which the reference is given."""
    return [*graph.path_steps(by[0])[:-1], by, *graph.path_steps(node)[-1:]]


def raw_way(graph: _heap.Graph, node: int, way: Sequence[int] = ()) -> list[RawStep]:
    """A way as it stands in memory; the one that says most where none is given."""
    return begun_late(graph.steps_along(way)) if way else raw_path(graph, node)


def raw_path(graph: _heap.Graph, node: int) -> list[RawStep]:
    """The way that says most, as it stands in memory."""
    return begun_late(telling_path(graph, graph.path(node)) or graph.path_steps(node))


def begun_late(steps: list[RawStep]) -> list[RawStep]:
    """The way from the last beginning on that a runner has declared."""
    known = BEGINNINGS.get()
    for at in range(len(steps) - 1, -1, -1):
        node, _, _, address, _, relation, _, index, _ = steps[at]
        if address in known and (relation, index) == ("item", 0):
            name, scope = known[address]
            return [(node, "root", FIXTURE, address, f"{name} ({scope})", "local", name, -1, ""), *steps[at + 1 :]]
    return steps


def lost_trace(graph: _heap.Graph, node: int, lifetime: Lifetime) -> Trace:
    """The cycle that keeps a node which no root reaches, and the way from the cycle to it."""
    return replace(trace_of(name_of(graph, node), story(graph, node), graph, ()), lifetime=lifetime)


def story(graph: _heap.Graph, node: int) -> dict[str, Any]:
    """What the graph tells of a node."""
    return graph.story(node)


def name_of(graph: _heap.Graph, node: int) -> str:
    """The type as traces have it."""
    return short_type(graph.describe(node)[1])


def telling_path(graph: _heap.Graph, path: Sequence[int]) -> list[Any] | None:
    """Another way where the shortest goes through a key: an object is told by who has it as a value."""
    steps = graph.path_steps(path[-1]) if path else []
    for at in range(len(steps) - 1, 0, -1):
        if steps[at - 1][5] != "dict_key":
            continue
        for step in story(graph, path[at])["referrers"]:
            way = graph.path(step[0])
            if step[5] not in WEAK_RELATIONS and step[1] == "python" and way and path[at] not in way:
                return [*graph.path_steps(step[0])[:-1], step, *steps[at:]]
    return None


def representative(graph: _heap.Graph, group: Group) -> int:
    """The member to tell of where no container grows: a link of a chain of its like, or else a tensor with the most bytes, on
    a short way through the anchor.
    """
    link = chain_link(graph, group)
    if link is not None:
        return link
    best = telling_members(graph, group)
    if group.anchor is None:  # a parameter says more than its gradient
        best = [node for node in best if graph.describe(node)[1] != PLAIN_TENSOR] or best
    return best[len(best) // 2]


def in_cycle(graph: _heap.Graph, group: Group) -> int:
    """The member to tell of what only waits for the collector: like the others, and in the cycle itself if one is."""
    inside = heart(graph, group.members)
    best = telling_members(graph, group)
    best = [node for node in best if node in inside] or best
    return best[len(best) // 2]


def chain_link(graph: _heap.Graph, group: Group) -> int | None:
    """The first member below so many of its own type that there is no doubt of a chain. What is near the top retains most."""
    names = tensor_type_names()
    objects = [node for node in told_members(graph, group) if graph.describe(node)[0] == "python"]
    tensors = [node for node in objects if graph.describe(node)[1] in names]
    found = first_link(graph, group, tensors or objects)
    if found is not None or not tensors:
        return found
    return first_link(graph, group, [node for node in objects if graph.describe(node)[1] not in CONTAINERS])


def first_link(graph: _heap.Graph, group: Group, nodes: Iterable[int]) -> int | None:
    """The first of these that has enough of its own type above it in the group."""
    for node in sorted(nodes, key=graph.retained, reverse=True)[:MOST_COMPARED]:
        kind = graph.describe(node)[:2]
        if sum(graph.describe(one)[:2] == kind for one in graph.path(node) if one in group.members) >= LINKS:
            return node
    return None


def telling_members(graph: _heap.Graph, group: Group, holder: int | None = None) -> list[int]:
    """All members that say as much as the one that is shown, or a sample of them: on short ways through what holds them.

    The latest of a list's items is often held by a variable, too, which is not where the others are.
    """
    told = told_members(graph, group)
    nodes = heaviest(graph, told) or largest(graph, told) or group.tops or list(group.members)
    sample = nodes[:: max(1, len(nodes) // MOST_COMPARED)]
    paths = [graph.path(node) for node in sample]
    costs = [(holder not in path, group.anchor is not None and group.anchor not in path, len(path)) for path in paths]
    return [node for node, cost in zip(sample, costs, strict=True) if cost == min(costs)]


def largest(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """Where there are no tensors: what takes most memory by itself, an array, say."""
    sizes = {node: graph.describe(node)[3] or 0 for node in members}
    most = max(sizes.values(), default=0)
    return sorted(node for node, nbytes in sizes.items() if nbytes == most) if most >= LARGE else []


def told_members(graph: _heap.Graph, group: Group) -> list[int]:
    """Of a group that a root holds those to which a way is known: native code may hold others."""
    return [node for node in group.members if group.anchor is None or graph.dominator(node) is not None]


def heaviest(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """Tensors, as Python objects where there are such, that hold the largest storages of the group."""
    held = held_bytes(graph, members)
    most = max(held.values(), default=0)
    return sorted(node for node, nbytes in held.items() if nbytes == most)


def by_storage(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """All tensors, as Python objects where there are such, those with the largest storages first."""
    held = held_bytes(graph, members)
    return sorted(held, key=lambda node: (-held[node], node))


def held_bytes(graph: _heap.Graph, members: Iterable[int]) -> dict[int, int]:
    """Bytes of the storage of each tensor, as a Python object where there are such."""
    names = tensor_type_names()
    inside = set(members)
    tensors = [node for node in inside if graph.describe(node)[1] in names]
    tensors = tensors or [node for node in inside if graph.describe(node)[0] == "tensor"]
    return {node: storage_bytes(graph, node, inside) for node in tensors}


def storage_bytes(graph: _heap.Graph, node: int, inside: set[int]) -> int:
    """Bytes of the storage that a tensor uses, if it is one of these."""
    for target in graph.referents(node):
        kind, _, _, nbytes = graph.describe(target)
        if kind == "storage" and target in inside:
            return nbytes or 0
        if kind == "tensor" and graph.describe(node)[0] == "python":
            return storage_bytes(graph, target, inside)
    return 0
