"""The path that is shown for a growing group: through the container that grows, to a representative member.

An object often has two holders: a list that keeps it and a variable of the running step, or a registry and the
namespace around it. The path leads through the one that holds the whole group and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from gradlife import _heap
from gradlife.heap.diff import path_text
from gradlife.heap.graph import Reference
from gradlife.heap.path_steps import merged_steps, spans_of
from gradlife.hunting.findings.leak_trace import (
    MAX_COMPARED,
    WEAK_RELATIONS,
    best_members,
    by_storage,
    explain,
    raw_path,
    representative,
    resources,
    shown_members,
)
from gradlife.hunting.findings.metric_states import is_metric_state
from gradlife.hunting.growth.carried_state import Carrier
from gradlife.hunting.growth.groups import Group, has_variables
from gradlife.hunting.growth.per_object_growth import path_to_place
from gradlife.hunting.growth.reachable_growth import GrownGroup
from gradlife.model.growth import Growth, GrowthKind

#: A container that holds at least this share of what the fullest one holds is as good a holder.
ABOUT_ALL = 0.9

#: Most members to search between a container's item and the shown member.
MAX_BETWEEN = 4096

#: Most other holders to name.
MAX_OTHERS = 3

#: The relation from a frame to a value of an expression under way.
STACK = "stack"

#: Types of keys and values that any container may have besides the kept objects.
PLAIN = frozenset({"str", "int", "float", "bool", "NoneType", "bytes", "tuple"})


@dataclass(frozen=True)
class HolderPath:
    """The path that a report shows for a group."""

    node: int  # the member that is shown
    nodes: tuple[int, ...]  # from a root to it; empty: the shortest path
    holder: int | None  # the container that grows, if one does
    others: tuple[int, ...] = ()  # containers that hold as much, each on its own


def find_holder_path(graph: _heap.Graph, grown: GrownGroup) -> HolderPath:
    """Find the path through the best of the growing containers, or through the place that carries a chain on."""
    path = with_named_start(graph, shown_path(graph, grown.group, grown.containers, grown.carrier))
    return through_outer(graph, path, grown.outer)


def through_outer(graph: _heap.Graph, path: HolderPath, outer: int | None) -> HolderPath:
    """Return the path through what holds the container beside others that grow, if one leads there."""
    nodes = path.nodes or tuple(graph.path(path.node))
    if outer is None or outer in nodes or path.holder not in nodes or path.holder in graph.path(outer):
        return path
    return replace(path, nodes=(*graph.path(outer), *nodes[nodes.index(path.holder) :]))


def shown_path(graph: _heap.Graph, group: Group, containers: Sequence[int], carrier: Carrier | None) -> HolderPath:
    """Find the path without regard to the names on its way to the container."""
    if group.places:
        return path_below(graph, group, path_to_place(graph, group))
    best = ordered(graph, group, containers)
    paths = (path_through(graph, group, node) for node in best)
    found = next((path for path in paths if path is not None), None)
    if found is None:
        paths = (path_through_any(graph, group, node) for node in best)
        found = next((path for path in paths if path is not None), None)
    if found is None:
        found = path_to_resource(graph, group)
    if found is None:
        paths = (path_to_item(graph, group, node) for node in best)
        found = next((path for path in paths if path is not None), None)
    if found is None:
        return path_through_carrier(graph, group, carrier) or HolderPath(representative(graph, group), (), None)
    return replace(found, others=tuple(node for node in best if node != found.holder))


def with_named_start(graph: _heap.Graph, path: HolderPath) -> HolderPath:
    """Return the path through a name of the program where a shorter one begins at a value of an expression under way.

    In `self.trials.append(run())` the list is such a value while `run` takes its steps.
    """
    nodes = path.nodes or tuple(graph.path(path.node))
    value = next((link.node for link in graph.path_references_along(nodes) if link.relation == STACK), None)
    at = nodes.index(value) if value is not None else len(nodes)
    if at + 1 >= len(nodes):
        return path
    leads = [graph.path(link.node) for link in explain(graph, nodes[at + 1])["referrers"] if is_named(link)]
    fitting = [one for one in leads if one and nodes[at + 1] not in one and not begins_on_stack(graph, one)]
    return replace(path, nodes=(*min(fitting, key=len), *nodes[at + 1 :])) if fitting else path


def is_named(link: Reference) -> bool:
    """Whether a person can name the reference: it is no value of an expression, no key and not unknown."""
    return link.kind == "python" and link.relation not in {STACK, *WEAK_RELATIONS}


def begins_on_stack(graph: _heap.Graph, path: Sequence[int]) -> bool:
    """Whether a value of an expression under way is on the path."""
    return any(link.relation == STACK for link in graph.path_references_along(path))


def path_through_carrier(graph: _heap.Graph, group: Group, carrier: Carrier | None) -> HolderPath | None:
    """Find the path through the carried state's place to the member that represents its chain."""
    if carrier is None:
        return None
    node = representative(graph, group)
    *lead, first = carrier.path
    inner = inner_path(graph, group, {first}, node)
    path = (*graph.path(carrier.holder), *lead, *inner)
    return HolderPath(node, path, None) if inner else None


def path_below(graph: _heap.Graph, group: Group, path: tuple[int, ...]) -> HolderPath:
    """Continue a path to one of many objects with one new object each, down to its most informative member."""
    top = path[-1]
    below = {node: at for node, at in group.members.items() if at == top}
    inner = inner_path(graph, group, {top}, best_members(graph, Group(group.anchor, [top], below))[0])
    return HolderPath((inner or path)[-1], (*path, *inner[1:]), None)


def path_through(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """Find the path through a container to one of its most informative members.

    If there are ever more variables, the heaviest members may be below one that each step replaces: then the path leads
    to one of the variables.
    """
    variables = sorted(items_of(graph, group, container).intersection(group.tops))
    if len(variables) > 1 and has_variables(graph, container):
        item = variables[len(variables) // 2]
        return named_path(graph, container, [item], item)
    held = best_members(graph, group, container)
    node = held[len(held) // 2]
    if container in graph.path(node):
        return HolderPath(node, (), container)
    return path_to_one(graph, group, container, held)


def path_through_any(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """Find the path through a container to its largest tensor. The largest of the group may be elsewhere."""
    return path_to_one(graph, group, container, by_storage(graph, shown_members(graph, group))[:MAX_COMPARED])


def path_to_one(graph: _heap.Graph, group: Group, container: int, nodes: Sequence[int]) -> HolderPath | None:
    """Find the path through a container to the first of these members that it reaches."""
    items = items_of(graph, group, container)
    paths = ((one, inner_path(graph, group, items, one)) for one in nodes)
    return next((named for one, inner in paths if (named := named_path(graph, container, inner, one))), None)


def path_to_resource(graph: _heap.Graph, group: Group) -> HolderPath | None:
    """Find the shortest path to a process group or the like, which several tables of a library hold.

    No path leads to one that is unreachable.
    """
    found = resources(graph, group) if group.anchor is not None else []
    if not found:
        return None
    path = graph.path(found[len(found) // 2])
    return HolderPath(path[-1], tuple(path), path[-2])


def path_to_item(graph: _heap.Graph, group: Group, container: int) -> HolderPath | None:
    """Find the path to an item of a container, for items whose own references have no known label."""
    paths = (named_path(graph, container, [item], item) for item in items_of(graph, group, container))
    return next((path for path in paths if path is not None), None)


def named_path(graph: _heap.Graph, container: int, inner: list[int], node: int) -> HolderPath | None:
    """Return the path through a container if every reference on it has a known label."""
    if not inner or any(step.relation == "unknown" for step in graph.references_along([container, *inner])[:-1]):
        return None
    return HolderPath(node, (*graph.path(container), *inner), container)


def items_of(graph: _heap.Graph, group: Group, container: int) -> set[int]:
    """Return the members of a group that a container refers to."""
    return {item for item in graph.referents(container) if item in group.members}


def ordered(graph: _heap.Graph, group: Group, containers: Sequence[int]) -> list[int]:
    """Return the containers that hold about all of the group, best holder first."""
    if not containers:
        return []
    tops = set(group.tops)
    counts = {node: len(tops.intersection(graph.referents(node))) for node in containers}
    whole = [node for node in containers if counts[node] >= ABOUT_ALL * max(counts.values())]
    names = {graph.kind_and_type(top) for top in tops}
    return sorted(whole, key=lambda node: cost_of(graph, node, names))


def cost_of(graph: _heap.Graph, container: int, names: set[tuple[str, str]]) -> tuple[bool, bool, int]:
    """Rank a holder, best first: the program's before a library's, those without other items, those near a root."""
    path = graph.path(container)
    has_others = any(is_other(graph, node, names) for node in graph.referents(container))
    return (is_of_library(graph, container), has_others, len(path))


def is_other(graph: _heap.Graph, node: int, names: set[tuple[str, str]]) -> bool:
    """Return whether the node is neither of a growing type nor a plain key or value."""
    kind, name = graph.kind_and_type(node)
    return (kind, name) not in names and name not in PLAIN


def is_of_library(graph: _heap.Graph, container: int) -> bool:
    """Whether the path to a container begins in a module of the standard library or of torch."""
    first = next((step for step in graph.path_references(container) if step.type == "module"), None)
    package = first.detail.partition(".")[0] if first is not None else ""
    return package in sys.stdlib_module_names or package == "torch"


def inner_path(graph: _heap.Graph, group: Group, items: set[int], node: int) -> list[int]:
    """Return a short path through members from one of these items to a member; empty if there is none."""
    after = {node: node}
    front = [node]
    for at in front:
        if at in items:
            path = [at]
            while path[-1] != node:
                path.append(after[path[-1]])
            return path
        for referrer in graph.referrers(at) if len(after) < MAX_BETWEEN else ():
            if referrer in group.members and referrer not in after:
                after[referrer] = at
                front.append(referrer)
    return []


def other_holders(graph: _heap.Graph, group: Group, path: HolderPath) -> tuple[str, ...]:
    """Return the paths to the other containers that hold as much."""
    found: dict[str, None] = {}
    for container in path.others:
        item = next(iter(items_of(graph, group, container)), None)
        if item is not None:
            raw = graph.path_references_along([*graph.path(container), item])
            steps = merged_steps(raw)
            is_step = spans_of(raw)[-2] == {container}  # otherwise the path folds it into its owner
            found[path_text(steps[:-1] if is_step else steps)] = None
    return tuple(found)[:MAX_OTHERS]


def growing_on(path: HolderPath, grown: GrownGroup) -> frozenset[int]:
    """Return the containers that grow, as far as a path may lead through them."""
    return frozenset(grown.containers if path.holder is None else (path.holder, *grown.containers))


def growth_in_trace(graph: _heap.Graph, path: HolderPath, grown: GrownGroup) -> Growth:
    """Find the container that grows among the steps of the group's trace."""
    if grown.kind not in {GrowthKind.CONTAINER, GrowthKind.LARGER}:
        return Growth(grown.kind)
    raw = raw_path(graph, path.node, path.nodes)
    growing = growing_on(path, grown)
    steps, spans = merged_steps(raw, growing=growing), spans_of(raw, growing)
    if grown.kind is GrowthKind.LARGER:
        growth = Growth(GrowthKind.LARGER)
        return replace(growth, is_state=is_metric_state(graph, steps, spans, growth))
    wanted = [set() if path.holder is None else {path.holder}, set(grown.containers)]
    fitting = (number for one in wanted for number, nodes in enumerate(spans) if not nodes.isdisjoint(one))
    number = next(fitting, None)
    hop = hop_of(raw, spans[number], wanted) if number is not None else None
    growth = Growth(GrowthKind.CONTAINER, number, hop, is_nested=bool(grown.group.holders))
    return replace(growth, is_state=is_metric_state(graph, steps, spans, growth))


def hop_of(raw: Sequence[Reference], span: Set[int], wanted: Sequence[Set[int]]) -> int | None:
    """Return the index of the container that grows among the objects that one step merges."""
    nodes = [link.node for link in raw if link.node in span]
    return next((at for one in wanted for at, node in enumerate(nodes) if node in one), None)
