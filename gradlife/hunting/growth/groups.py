"""Survivors gathered by what holds them: all that hang on one place that was there before them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gradlife import _heap
from gradlife.hunting.snapshots.survivors import Births

#: Kinds of nodes that have items: the interpreter's callbacks at exit stand in no Python object.
HOLDERS = {"python", "root"}

#: Its variables hold what has nothing to do with one another, and the newest of anything that a container has, too. So do
#: those of a module.
FRAME = ("root", "running frame")

#: Objects between two survivors that may have the addresses of others: a tensor, its dict, what is in it.
MOST_MISSED = 4

#: Members of a group that are asked for who refers to them.
MOST_ASKED = 40

#: A group is called after another that a container has so many times more of: one or two are the newest only.
MANY_MORE = 2


@dataclass
class Group:
    """Survivors that hang on one place, or that no root reaches."""

    anchor: int | None  # the nearest dominator that is no survivor; None where no root reaches the group
    tops: list[int] = field(default_factory=list)  # members that no other member dominates
    members: dict[int, int] = field(default_factory=dict)  # each with the top above it
    places: dict[int, int] = field(default_factory=dict)  # of tops that many objects got one each: with its object

    def absorb(self, other: Group) -> None:
        """Takes in another group, which is a part of this one's doing."""
        self.members.update(other.members)


def held_groups(graph: _heap.Graph, born: Births) -> list[Group]:
    """Groups that a root reaches; those that another group holds, too, are parts of that one.

    So are those that the same container has: a registry's values, and the objects that it has them for.
    """
    groups = anchored(graph, born)
    home = {node: number for number, group in enumerate(groups) for node in group.members}
    target = list(range(len(groups)))
    held_by = [containers(graph, group, born) for group in groups]
    ranks = [(bool(nodes), len(group.tops)) for nodes, group in zip(held_by, groups, strict=True)]
    holders: dict[int, int] = {}
    for number, group in enumerate(groups):
        older = [node for node in held_by[number] if not has_variables(graph, node)]
        homes = (home[node] for node in above(graph, group) if home.get(node, number) != number)
        # A step under way may look at a part of what grows, in a list of its own: that has not made it grow.
        found = next((one for one in homes if not (older and has_variables(graph, groups[one].anchor))), None)
        if found is not None:
            join(target, number, found)
        for node in older:
            if node in holders:
                join_held(target, number, holders[node], ranks)
        holders.update(dict.fromkeys(held_by[number], number))
    return united(groups, target)


def has_variables(graph: _heap.Graph, node: int | None) -> bool:
    """Is this the variables of a function that runs, or those of a module? A script's step has its own in the latter."""
    if node is None:
        return False
    kind, name = graph.kind_and_type(node)
    is_of_module = name == "dict" and any(graph.type(one) == "module" for one in graph.referrers(node))
    return (kind, name) == FRAME or is_of_module


def join(target: list[int], number: int, into: int) -> None:
    """One group, with those that are parts of it, becomes a part of another."""
    if final(target, number) != final(target, into):
        target[final(target, number)] = final(target, into)


def join_held(target: list[int], number: int, other: int, ranks: Sequence[tuple[bool, int]]) -> None:
    """Two that the same container has: what they are parts of becomes one, called after the one that a container has.

    The container shows whether they grow. The newest of them may be held by something else, too: by a step under
    path, by a cache of the last one; then a container has many more of the others.
    """
    mine, others = final(target, number), final(target, other)
    into, part = (others, mine) if mine == number else (mine, others)
    (is_held, tops), (is_part_held, part_tops) = ranks[into], ranks[part]
    if is_part_held > is_held or (is_part_held == is_held and part_tops > MANY_MORE * tops):
        into, part = part, into
    join(target, part, into)


def united(groups: list[Group], target: list[int]) -> list[Group]:
    """Groups with those that are parts of them."""
    for number, group in enumerate(groups):
        into = final(target, number)
        if into != number:
            groups[into].absorb(group)
    return [group for number, group in enumerate(groups) if target[number] == number]


def final(target: list[int], number: int) -> int:
    """Follow a chain of parts to its end."""
    while target[number] != number:
        number = target[number]
    return number


def anchored(graph: _heap.Graph, born: Births) -> list[Group]:
    """Survivors by their anchor and the type of what hangs on it."""
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
    """The highest survivor on the path up the dominators that has only survivors between it and `node`."""
    path = []
    at = node
    while at not in known:
        path.append(at)
        above = survivor_above(graph, at, born)
        if above is None:
            known[at] = at
            break
        at = above
    known.update(dict.fromkeys(path, known[at]))
    return known[node]


def survivor_above(graph: _heap.Graph, node: int, born: Births) -> int | None:
    """The survivor that dominates another one, if there is one near: a link of a chain that stands at the address of one that
    is gone passes for older than the chain.
    """
    above = graph.dominator(node)
    for _ in range(MOST_MISSED):
        if above is None or above in born:
            return above
        above = graph.dominator(above)
    return None


def asked(group: Group) -> list[int]:
    """A sample of the tops."""
    return group.tops[:: max(1, len(group.tops) // MOST_ASKED)]


def above(graph: _heap.Graph, group: Group) -> Iterator[int]:
    """Yield the holders of the tops: nodes on the path from the root, and all referrers."""
    for top in asked(group)[:3]:
        yield from graph.path(top)
        yield from graph.referrers(top)


def containers(graph: _heap.Graph, group: Group, born: Births) -> list[int]:
    """Return the older nodes that refer to the tops themselves: Python objects, and roots with tables of their own."""
    found: dict[int, None] = {}
    for top in asked(group):
        for node in graph.referrers(top):
            if node not in born and graph.kind(node) in HOLDERS:
                found[node] = None
    return list(found)
