"""The leak trace of a group: its most informative member and the path to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType

from gradlife import _heap
from gradlife.heap.graph import GAP, Explanation, Reference
from gradlife.heap.path_steps import short_type
from gradlife.heap.why import trace_of
from gradlife.hunting.growth.groups import Group
from gradlife.hunting.growth.islands import cycle_members
from gradlife.hunting.snapshots.node_weights import base_types
from gradlife.hunting.snapshots.step_snapshots import storage_content, tensor_type_names
from gradlife.model.trace import Lifetime, Trace

#: Most members whose paths are compared.
MAX_COMPARED = 64

#: Least objects of one type, each holding the next, that make a chain.
LINKS = 3

#: Types that are nested in most objects; several in a row are not a chain.
CONTAINERS = frozenset({"dict", "list", "tuple", "set", "frozenset", "cell", "collections.OrderedDict"})

#: The type of a plain tensor, which is neither a Parameter nor of another subclass.
PLAIN_TENSOR = "torch.Tensor"

#: Least bytes for which an object is shown rather than the object that contains it.
LARGE = 4096

#: Kinds of the C++ objects inside a tensor.
INSIDE_TENSORS = frozenset({"tensor", "storage", "grad_node"})

#: References that explain less than any other path to the same object.
WEAK_RELATIONS = {"dict_key", "unknown", "member"}

#: Tuples in which a test runner keeps a fixture's value as the first item, by address: the fixture's name and scope.
#: A trace through such a tuple begins there.
BEGINNINGS: ContextVar[Mapping[int, tuple[str, str]]] = ContextVar("BEGINNINGS", default=MappingProxyType({}))

#: The name of the object that such a trace begins with.
FIXTURE = "fixture"


def held_trace(
    graph: _heap.Graph,
    node: int,
    path: Sequence[int] = (),
    by: Reference | None = None,
    growing: Set[int] = frozenset(),
) -> Trace:
    """Explain why a reachable node is alive: along `path`, through the referrer `by`, or along the most informative
    path. ``growing``: containers that are known to grow.
    """
    found = explain(graph, node)
    found["path"] = raw_path(graph, node, path) if by is None else begun_late(path_by(graph, node, by))
    return trace_of(name_of(graph, node), found, graph, (), growing=growing)


def own_cycle_trace(graph: _heap.Graph, node: int, by: Reference) -> Trace:
    """Return the cycle that will keep a node once no root reaches it; ``by`` is the reference that closes it."""
    found = explain(graph, node)
    path = path_by(graph, node, by)[:-1]
    start = next(at for at, row in enumerate(path) if row.node == node)
    found.update({"path": [], "cycle": path[start:], "tail": [], "uncollectable": [], "lifetime": Lifetime.GC.value})
    return trace_of(name_of(graph, node), found, graph, ())


def path_by(graph: _heap.Graph, node: int, by: Reference) -> list[Reference]:
    """Return the path to a node through ``by``, a reference of one of its referrers."""
    return [*graph.path_references(by.node)[:-1], by, *graph.path_references(node)[-1:]]


def raw_path(graph: _heap.Graph, node: int, path: Sequence[int] = ()) -> list[Reference]:
    """Return the path as recorded; the most informative path if none is given."""
    return begun_late(graph.path_references_along(path)) if path else most_informative_path(graph, node)


def most_informative_path(graph: _heap.Graph, node: int) -> list[Reference]:
    """Return the most informative path, as recorded."""
    return begun_late(path_by_value(graph, graph.path(node)) or graph.path_references(node))


def begun_late(steps: list[Reference]) -> list[Reference]:
    """Cut the path so that it begins at the last fixture that a test runner declared."""
    known = BEGINNINGS.get()
    for at in range(len(steps) - 1, -1, -1):
        found = steps[at]
        if found.address in known and (found.relation, found.index) == ("item", 0):
            return [fixture(found, *known[found.address]), *steps[at + 1 :]]
    return steps


def fixture(found: Reference, name: str, scope: str) -> Reference:
    """Return the tuple with a fixture's value as a root with the fixture's name, which the user knows."""
    return Reference((found.node, "root", FIXTURE, found.address, f"{name} ({scope})", "local", name, -1, "", ""))


def lost_trace(graph: _heap.Graph, node: int, lifetime: Lifetime) -> Trace:
    """Return the cycle that keeps an unreachable node, and the path from the cycle to it."""
    return replace(trace_of(name_of(graph, node), explain(graph, node), graph, ()), lifetime=lifetime)


def explain(graph: _heap.Graph, node: int) -> Explanation:
    """Return everything that the graph records about why a node is alive."""
    return graph.explain(node)


def name_of(graph: _heap.Graph, node: int) -> str:
    """Return the type as traces name it."""
    return short_type(graph.type(node))


def path_by_value(graph: _heap.Graph, path: Sequence[int]) -> list[Reference] | None:
    """Find another path if the shortest goes through a dict key: the holder of a value explains more."""
    steps = graph.path_references(path[-1]) if path else []
    for at in range(len(steps) - 1, 0, -1):
        node = steps[at].node
        if steps[at - 1].relation != "dict_key" or steps[at].kind == GAP:
            continue
        for step in explain(graph, node)["referrers"]:
            other = graph.path(step.node)
            if step.relation not in WEAK_RELATIONS and step.kind == "python" and other and node not in other:
                return [*graph.path_references(step.node)[:-1], step, *steps[at:]]
    return None


def representative(graph: _heap.Graph, group: Group) -> int:
    """Choose the member to show if no container grows: a link of a chain, else a tensor with the most bytes on a short
    path through the anchor.
    """
    link = chain_link(graph, group)
    if link is not None:
        return link
    best = best_members(graph, group)
    if group.anchor is None:  # a parameter says more than its gradient
        best = [node for node in best if graph.type(node) != PLAIN_TENSOR] or best
        return best[len(best) // 2]
    return tensor_around(graph, best[len(best) // 2])


def tensor_around(graph: _heap.Graph, node: int) -> int:
    """Return the Python tensor that alone holds a C++ object or a grad node; the node itself if there is none.

    A tensor that each step replaces often gets the address of the freed one: it counts as old although its contents are
    new. A gradient or a base is not part of the tensor that holds it.
    """
    at: int | None = node
    names = tensor_type_names()
    while at is not None and graph.kind(at) in INSIDE_TENSORS:
        above = graph.dominator(at)
        if above is not None and graph.kind(at) == graph.kind(above) == "tensor":
            return node
        at = above
    return at if at is not None and graph.type(at) in names else node


def in_cycle(graph: _heap.Graph, group: Group) -> int:
    """Choose the member to show for garbage: one like the others, preferably in the cycle."""
    inside = cycle_members(graph, group.members)
    best = best_members(graph, group)
    best = [node for node in best if node in inside] or best
    return best[len(best) // 2]


def chain_link(graph: _heap.Graph, group: Group) -> int | None:
    """Return the first member with enough of its own type above it to be a chain. Links near the top retain most."""
    names = tensor_type_names()
    objects = [node for node in shown_members(graph, group) if graph.kind(node) == "python"]
    tensors = [node for node in objects if graph.type(node) in names]
    found = first_link(graph, group, tensors or objects)
    if found is not None or not tensors:
        return found
    found = first_link(graph, group, [node for node in objects if graph.type(node) not in CONTAINERS])
    return found or nested_link(graph, group, [node for node in objects if graph.type(node) in CONTAINERS])


def nested_link(graph: _heap.Graph, group: Group, nodes: Iterable[int]) -> int | None:
    """Return the first container below enough others that each hold the next at the same place: `log = (loss, log)`."""
    for node in sorted(nodes, key=graph.retained, reverse=True)[:MAX_COMPARED]:
        above = graph.path_references(node)[-LINKS - 1 : -1]
        places = {(step.type, step.relation, step.label, step.index) for step in above}
        if len(above) == LINKS and len(places) == 1 and above[0].type == graph.type(node):
            return node
    return None


def first_link(graph: _heap.Graph, group: Group, nodes: Iterable[int]) -> int | None:
    """Return the first of these nodes with enough group members of its own type above it."""
    for node in sorted(nodes, key=graph.retained, reverse=True)[:MAX_COMPARED]:
        kind = graph.kind_and_type(node)
        if sum(graph.kind_and_type(one) == kind for one in graph.path(node) if one in group.members) >= LINKS:
            return node
    return None


def best_members(graph: _heap.Graph, group: Group, holder: int | None = None) -> list[int]:
    """Return the members with the most memory and the shortest path through the holder, or a sample of them.

    Without large ones these are threads, process groups and the like: they are the leak, and not the lists around them.
    A variable often holds the newest item of a list, too; the path through it does not lead to the other items.
    """
    result = shown_members(graph, group)
    nodes = heaviest(graph, result) or largest(graph, result) or resources(graph, group)
    nodes = nodes or group.tops or list(group.members)
    sample = nodes[:: max(1, len(nodes) // MAX_COMPARED)]
    paths = [graph.path(node) for node in sample]
    costs = [(holder not in path, group.anchor is not None and group.anchor not in path, len(path)) for path in paths]
    return [node for node, cost in zip(sample, costs, strict=True) if cost == min(costs)]


def resources(graph: _heap.Graph, group: Group) -> list[int]:
    """Return the threads, process groups and the like: members that hold more than the heap shows."""
    leaking = base_types()
    return sorted(node for node in shown_members(graph, group) if graph.type(node) in leaking)


def largest(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """Return the members that take most memory by themselves, such as arrays; for groups without tensors."""
    sizes = {node: graph.describe(node).bytes or 0 for node in members}
    most = max(sizes.values(), default=0)
    return sorted(node for node, nbytes in sizes.items() if nbytes == most) if most >= LARGE else []


def shown_members(graph: _heap.Graph, group: Group) -> list[int]:
    """Return the members with a known path. Native code may hold other members of a reachable group."""
    return [node for node in group.members if group.anchor is None or graph.dominator(node) is not None]


def heaviest(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """Return the tensors with the largest storages, as Python objects if there are any."""
    held = held_bytes(graph, members)
    most = max(held.values(), default=0)
    return sorted(node for node, nbytes in held.items() if nbytes == most)


def by_storage(graph: _heap.Graph, members: Iterable[int]) -> list[int]:
    """Sort all tensors by the size of their storages, largest first; as Python objects if there are any."""
    held = held_bytes(graph, members)
    return sorted(held, key=lambda node: (-held[node], node))


def held_bytes(graph: _heap.Graph, members: Iterable[int]) -> dict[int, int]:
    """Return the bytes of each tensor's storage; the tensors as Python objects if there are any."""
    names = tensor_type_names()
    inside = set(members)
    tensors = [node for node in inside if graph.type(node) in names]
    tensors = tensors or [node for node in inside if graph.kind(node) == "tensor"]
    return {node: storage_bytes(graph, node, inside) for node in tensors}


def storage_bytes(graph: _heap.Graph, node: int, inside: set[int]) -> int:
    """Return the bytes of the storage that a tensor uses; 0 if the storage is not in ``inside``."""
    for target in graph.referents(node):
        found = graph.describe(target)
        if found.kind == "storage" and target in inside:
            return storage_content(graph, target)
        if found.kind == "tensor" and graph.kind(node) == "python":
            return storage_bytes(graph, target, inside)
    return 0
