"""Groups of survivors by their holder: an object that is older than all of them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.step_snapshots import memory_file_names
from gradlife.hunting.snapshots.survivors import Births

#: Kinds of nodes that have items. Some roots do: the interpreter's exit callbacks are stored in no Python object.
HOLDERS = {"python", "root"}

#: A frame's variables hold unrelated objects, and often the newest item of a container. So do the global variables of a
#: module.
FRAME = ("root", RUNNING_FRAME)

#: About how many members of a group have their referrers looked up.
MAX_SAMPLE = 40

#: Two merged groups keep the holder of the larger one if it has this many times as many top objects (`Group.tops`): the
#: other has only the newest objects.
MANY_MORE = 2

#: How the names of the hunt's own types begin.
OWN = "gradlife.hunting."


@dataclass
class Group:
    """Survivors that share a holder, or that are unreachable."""

    anchor: int | None  # the nearest dominator that is not a survivor; None if the group is unreachable
    tops: list[int] = field(default_factory=list)  # members that no other member dominates
    members: dict[int, int] = field(default_factory=dict)  # each member with its top
    places: dict[int, int] = field(default_factory=dict)  # if many objects hold one top each: each top's holder
    #: If the anchor holds several containers that together hold the tops: these containers.
    holders: frozenset[int] = frozenset()

    def absorb(self, other: Group) -> None:
        """Take in a group that is a consequence of this group."""
        self.members.update(other.members)


def held_groups(graph: _heap.Graph, born: Births) -> list[Group]:
    """Return the reachable groups. A group becomes a part of another one if a member of the other also holds its tops.

    Groups in the same container, such as the keys and values of a registry, are merged too.
    """
    groups = [one for one in anchored(graph, born) if not is_inside_file(graph, one)]
    home = {node: number for number, group in enumerate(groups) for node in group.members}
    target = list(range(len(groups)))
    held_by = [containers(graph, group, born) for group in groups]
    ranks = [(bool(nodes), len(group.tops)) for nodes, group in zip(held_by, groups, strict=True)]
    holders: dict[int, int] = {}
    for number, group in enumerate(groups):
        non_variables = [node for node in held_by[number] if not has_variables(graph, node)]
        homes = (home[node] for node in above(graph, group) if home.get(node, number) != number)
        # A list in a local variable of the running step may hold some of the members, too, but is not the cause. Nor is the
        # step's graph, which holds the hooks of its modules.
        found = next(
            (
                one
                for one in homes
                if not non_variables
                or not (has_variables(graph, groups[one].anchor) or is_by_graph(held_by[one], groups[one], group))
            ),
            None,
        )
        # A container of the program takes over a library's group only if it holds all of it: a dict with the last
        # results holds some of what a library's buffer keeps, but is not the cause.
        has_all = found is not None and len(group.tops) >= len(groups[found].tops)
        if found is not None and has_all and is_of_program_alone(graph, non_variables, held_by[found]):
            join(target, found, number)
        elif found is not None and not is_part_of_larger(target, number, found, ranks):
            join(target, number, found)
        for node in non_variables:
            if node in holders:
                join_by_container(target, number, holders[node], ranks)
        holders.update(dict.fromkeys(held_by[number], number))
    return united(groups, target)


def is_by_graph(containers: Sequence[int], group: Group, other: Group) -> bool:
    """Whether only C++ objects hold a group, and it has much fewer top objects than the other."""
    return not containers and len(other.tops) > MANY_MORE * len(group.tops)


def has_variables(graph: _heap.Graph, node: int | None) -> bool:
    """Whether the node holds the variables of a running function, or of a module as those of a script's loop."""
    if node is None:
        return False
    kind, name = graph.kind_and_type(node)
    is_of_module = name == "dict" and any(graph.type(one) == "module" for one in graph.referrers(node))
    return (kind, name) == FRAME or is_of_module


def is_of_program_alone(graph: _heap.Graph, nodes: Sequence[int], others: Sequence[int]) -> bool:
    """Whether a container of the program holds the group, while at most the standard library holds the other one."""
    return is_kept_for_library(graph, others) and not is_kept_for_library(graph, nodes)


def is_kept_for_library(graph: _heap.Graph, nodes: Sequence[int]) -> bool:
    """Whether all these containers are the standard library's, such as the waiters of an asyncio.Event."""
    return all(is_of_standard_library(graph, node) for node in nodes)


def is_of_standard_library(graph: _heap.Graph, container: int) -> bool:
    """Whether an object of the standard library holds the container, directly or through plain containers."""
    for node in reversed(graph.path(container)[:-1]):
        package, dot, _ = graph.type(node).partition(".")
        if dot and package != "collections":
            return package in sys.stdlib_module_names
    return False


def join(target: list[int], number: int, into: int) -> None:
    """Make a group, with its parts, a part of another."""
    if final(target, number) != final(target, into):
        target[final(target, number)] = final(target, into)


def is_part_of_larger(target: Sequence[int], number: int, other: int, ranks: Sequence[tuple[bool, int]]) -> bool:
    """Whether a group is a part of another one with much more top objects than the other: what holds the part, such as
    the running step's batch, does not hold the whole.
    """
    whole = final(target, number)
    return whole != number and ranks[whole][1] > MANY_MORE * ranks[final(target, other)][1]


def join_by_container(target: list[int], number: int, other: int, ranks: Sequence[tuple[bool, int]]) -> None:
    """Merge two groups that share a container, and keep the anchor of the one that lies mostly in it.

    The container's length shows whether they grow. The other group may have only the newest members, anchored at the
    running step or at a cache of the last result. It is much smaller.
    """
    mine, others = final(target, number), final(target, other)
    into, part = (others, mine) if mine == number else (mine, others)
    (is_held, tops), (is_part_held, part_tops) = ranks[into], ranks[part]
    if is_part_held > is_held or (is_part_held == is_held and part_tops > MANY_MORE * tops):
        into, part = part, into
    join(target, part, into)


def united(groups: list[Group], target: list[int]) -> list[Group]:
    """Merge each group with its parts."""
    for number, group in enumerate(groups):
        into = final(target, number)
        if into != number:
            groups[into].absorb(group)
    return [group for number, group in enumerate(groups) if target[number] == number]


def final(target: Sequence[int], number: int) -> int:
    """Follow a chain of parts to its end."""
    while target[number] != number:
        number = target[number]
    return number


def is_inside_file(graph: _heap.Graph, group: Group) -> bool:
    """Whether the group is the contents of a file in memory. The file grows as a whole."""
    above = graph.dominator(group.anchor or 0)
    return above is not None and graph.type(above) in memory_file_names()


def anchored(graph: _heap.Graph, born: Births) -> list[Group]:
    """Group survivors by anchor and by the type of their top."""
    tops: dict[int, int] = {}
    groups: defaultdict[tuple[int, str], Group] = defaultdict(lambda: Group(None))
    for node in born:
        top = top_of(graph, node, born, tops)
        anchor = graph.dominator(top)
        if anchor is None:
            continue
        group = groups[anchor, graph.type(top)]
        group.anchor = anchor
        group.members[node] = top
        if top == node:
            group.tops.append(node)
    return [group for group in groups.values() if group.tops]


def top_of(graph: _heap.Graph, node: int, born: Births, known: dict[int, int]) -> int:
    """Follow the dominators up from `node` as long as they are survivors; return the last one."""
    path = []
    at = node
    while at not in known:
        path.append(at)
        above = graph.dominator(at)
        if above is None or above not in born:
            known[at] = at
            break
        at = above
    known.update(dict.fromkeys(path, known[at]))
    return known[node]


def sample_of_tops(group: Group) -> list[int]:
    """Return some of the tops, spread evenly."""
    return group.tops[:: max(1, len(group.tops) // MAX_SAMPLE)]


def above(graph: _heap.Graph, group: Group) -> Iterator[int]:
    """Yield the holders of the tops: nodes on the path from the root, and all referrers."""
    for top in sample_of_tops(group)[:3]:
        yield from graph.path(top)
        yield from graph.referrers(top)


def containers(graph: _heap.Graph, group: Group, born: Births) -> list[int]:
    """Return what refers to the tops and is older: Python objects, and roots that have tables of their own."""
    found: dict[int, None] = {}
    for top in sample_of_tops(group):
        for node in graph.referrers(top):
            if node not in born and graph.kind(node) in HOLDERS:
                found[node] = None
    return list(found)


def all_tops(graph: _heap.Graph, group: Group) -> list[int]:
    """Return the tops of the group and of the groups that it took in, without those that a member dominates."""
    others = set(group.members.values()).difference(group.tops)
    return [*group.tops, *(top for top in others if group.members.keys().isdisjoint(dominators(graph, top)))]


def is_hunts_own(graph: _heap.Graph, node: int) -> bool:
    """Whether the hunt itself holds the object."""
    return any(step.type.startswith(OWN) for step in graph.path_references(node))
