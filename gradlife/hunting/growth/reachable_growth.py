"""Groups that grow in every round, apart from those that are full or were there only for a while."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gradlife import _heap
from gradlife.hunting.growth.groups import Group, containers, held_groups
from gradlife.hunting.growth.islands import alike, islands
from gradlife.hunting.growth.per_object_growth import spread
from gradlife.hunting.growth.unreachable_growth import unreachable_growth
from gradlife.hunting.snapshots.node_weights import (
    LEAST_OBJECT_BYTES,
    LEAST_PLAIN_BYTES,
    is_data,
    leak_types,
    matters,
    plain_bytes,
    weight,
)
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, tensor_type_names
from gradlife.hunting.snapshots.survivors import Births, births
from gradlife.model.growth import GrowthKind
from gradlife.model.hunt import Arrivals, PerStep

#: Growth must hold in so many last rounds; those before may be a cache that fills.
ROUNDS = 3

#: A round may add less for each step than the one that added most; a leak that comes every few steps does.
LEAST_SHARE = 0.25

#: Something that gets less in every round than in the one before, and in the last this share of the first, fills up: a
#: cache whose keys repeat. One whose rate falls by less is in doubt.
SLOWED_SHARE = 0.6
DOUBTED_SHARE = 0.9

#: Steps of a last round that is long enough to tell so.
LEAST_TELLING = 29

#: A container that keeps what it is given grows by as much; one that is full does not grow.
LEAST_GROWTH = 0.5


#: Objects a step of a chain: a link has several, and comes every few steps. Of what is replaced all the time, too, a few
#: stand where others stood at every snapshot.
LEAST_LINKS = 0.1

#: A round of less than this share of the one before it, as those for natives and lines are, is no round by itself: what
#: comes every few steps only may leave nothing in it.
LEAST_LENGTH = 0.5

#: Snapshots that are not given up for longer rounds.
LEAST_KEPT = 3

#: Containers that cannot be distinguished from the one before, and the items from which on one has too many for a state that is
#: carried on.
REMADE = frozenset({"list", "tuple", "dict", "set", "frozenset", "collections.OrderedDict", "collections.deque"})
LEAST_ITEMS = 10

#: Of so many items that are new one at least is known to be.
MOST_MISSING = 2.0

#: Bytes that tell of an object more: what is held may come out larger by less from round to round.
LEAST_GATHERED = 64


@dataclass(frozen=True)
class Grown:
    """A group of which every one of the last rounds left something behind."""

    group: Group
    per_step: PerStep
    kind: GrowthKind
    containers: tuple[int, ...] = ()  # of growth of the kind CONTAINER: they have more items after every round
    arrivals: Arrivals | None = None  # where they come more rarely than the steps


@dataclass(frozen=True)
class Evidence:
    """Several snapshots, and the objects that were born between them."""

    snapshots: Sequence[StepSnapshot]
    born: Births
    rounds: int = ROUNDS  # by which growth is judged at most
    lengths: Sequence[int] = ()  # what counts as the steps of each round, where that is not the program's
    planted: Births = field(default_factory=dict)  # what the hunt planted: none of the program's

    @property
    def graph(self) -> _heap.Graph:
        """The last snapshot's."""
        return self.snapshots[-1].graph

    @property
    def judged(self) -> range:
        """The rounds by which growth is judged: the last ones."""
        count = len(self.snapshots) - 1
        return range(max(0, count - self.rounds), count)

    @property
    def foreign(self) -> Counter[tuple[str, str]]:
        """Objects by type that the hunt left in the judged rounds."""
        found = (node for node, number in self.planted.items() if number in self.judged)
        return Counter(map(self.graph.kind_and_type, found))

    def steps(self, number: int) -> int:
        """Steps of a round."""
        if self.lengths:
            return max(1, self.lengths[number])
        return self.snapshots[number + 1].steps - self.snapshots[number].steps


def evidence_of(snapshots: Sequence[StepSnapshot], rounds: int = ROUNDS) -> Evidence:
    """The snapshots with what was born between them."""
    snapshots = far_apart(snapshots)
    return Evidence(snapshots, births(snapshots), rounds)


def far_apart(snapshots: Sequence[StepSnapshot]) -> Sequence[StepSnapshot]:
    """The snapshots without those that make a round much shorter than the one before: it counts with the next one, the last round
    with the one before.
    """
    kept = list(snapshots[:2])
    for number, snapshot in enumerate(snapshots[2:], 2):
        before = kept[-1].steps - kept[-2].steps
        is_last = number == len(snapshots) - 1
        if snapshot.steps - kept[-1].steps >= LEAST_LENGTH * before or (is_last and len(kept) <= LEAST_KEPT):
            kept.append(snapshot)
        elif is_last:
            kept[-1] = snapshot
    return kept


def grown_groups(evidence: Evidence) -> tuple[list[Grown], list[Group]]:
    """Groups that grow in every judged round, and those that grow in some of them only."""
    sure: list[Group] = []
    unsure: list[Group] = []
    others: list[Group] = []
    for group in held_groups(evidence.graph, evidence.born):
        counts = counted(group, evidence)
        is_full = is_filled(group, counts, evidence)
        if is_full or (are_many(counts, evidence) and is_chain(group, evidence)):
            (unsure if is_slowing(group, evidence) else sure).append(group if is_full else chain_alone(group, evidence))
        else:
            others.append(group)
            if sum(count > 0 for count in counts[:-1]) and gathers(group, evidence):
                unsure.append(group)
    late = [group for group in others if evidence.born[group.tops[0]] in evidence.judged]
    for group in spread(late, evidence.graph, evidence.snapshots[evidence.judged.start].graph):
        counts = counted(group, evidence)
        if are_many(counts, evidence):
            (unsure if slows(counts, evidence, SLOWED_SHARE) else sure).append(group)
    lost = alike(evidence.graph, islands(evidence.graph, evidence.born))
    steady = [group for group in lost if is_steady(counted(group, evidence), evidence)]
    graphs = [snapshot.graph for snapshot in evidence.snapshots[evidence.judged.start :]]
    sure += unreachable_growth(steady, graphs, evidence.born, evidence.judged, evidence.foreign)
    return without_items([grown(group, evidence) for group in sure], evidence.graph), unsure


def without_items(found: Sequence[Grown], graph: _heap.Graph) -> list[Grown]:
    """The groups without those that hang on a tensor which a growing container has: it is new, at the address of an older one,
    and does not grow itself.
    """
    items = {item for one in found for container in one.containers for item in graph.referents(container)}
    tensors = tensor_type_names()
    return [one for one in found if one.group.anchor not in items or graph.type(one.group.anchor) not in tensors]


def grown(group: Group, evidence: Evidence) -> Grown:
    """The group with its rate."""
    members = [node for node in group.members if evidence.born[node] in evidence.judged]
    steps = sum(map(evidence.steps, evidence.judged))
    rate = weight(evidence.graph, members, steps)
    if is_plain(group, evidence.graph):
        rate = replace(rate, bytes=plain_bytes(evidence.graph, members) / steps)
    held_by = containers(evidence.graph, group, evidence.born) if group.anchor is not None else []
    growing = [node for node in held_by if grows(node, group, evidence)]
    rate = replace(rate, retained_bytes=max(rate.retained_bytes, retained_rate(group, growing, evidence) / steps))
    growing = growing or remade(group, evidence)
    return Grown(group, rate, kind_of(group, growing), tuple(growing))


def kind_of(group: Group, growing: Sequence[int]) -> GrowthKind:
    """Return how a group grows whose growing containers are known."""
    if growing:
        return GrowthKind.CONTAINER
    if group.anchor is None:
        return GrowthKind.UNREACHABLE
    return GrowthKind.SPREAD if group.places else GrowthKind.CHAIN


def retained_rate(group: Group, growing: Sequence[int], evidence: Evidence) -> float:
    """Bytes that would be freed with the new items of a container that grows; 0 where none does.

    An item at the address of an object that is gone passes for old: the length of the container shows how many are missing.
    """
    tops = [top for top in group.tops if evidence.born[top] in evidence.judged]
    if not growing or not tops:
        return 0.0
    items = evidence.graph.referents(growing[0])
    seen = sum(evidence.born.get(item, -1) in evidence.judged for item in items)
    more = sum(increments(growing[0], evidence))
    missing = min(MOST_MISSING, max(1.0, more / seen)) if seen else 1.0
    return missing * sum(evidence.graph.retained(top) for top in tops)


def remade(group: Group, evidence: Evidence) -> list[int]:
    """Lists, tuples and dicts that are made anew of all that was in the one before, with more: the last of each."""
    if group.anchor is None or group.places:
        return []
    found = [node for node in group.members if evidence.graph.type(node) in REMADE]
    return [node for node in found if has_many_of_each(node, evidence)]


def has_many_of_each(node: int, evidence: Evidence) -> bool:
    """Were many of its items born in the judged rounds, and about as many in each step?"""
    rounds = [evidence.born.get(item) for item in evidence.graph.referents(node)]
    counts = [rounds.count(number) for number in evidence.judged]
    return sum(counts) >= LEAST_ITEMS and is_steady(counts, evidence)


def counted(group: Group, evidence: Evidence) -> list[int]:
    """Members that matter, born in each judged round; where none does, all of them if they come to much in each."""
    leaking = leak_types()
    rounds = [evidence.born[node] for node in group.members if matters(evidence.graph, node, leaking)]
    if not rounds and is_much(group, evidence):
        rounds = [evidence.born[node] for node in group.members]
    return [rounds.count(number) for number in evidence.judged]


def is_plain(group: Group, graph: _heap.Graph) -> bool:
    """Has it nothing but plain data of Python's?"""
    leaking = leak_types()
    return not any(matters(graph, node, leaking) for node in group.members)


def is_much(group: Group, evidence: Evidence) -> bool:
    """Do small things come to many bytes in each step of every judged round?"""
    sums: Counter[int] = Counter()
    for node in group.members:
        sums[evidence.born[node]] += evidence.graph.describe(node).bytes or 0
    is_of_data = all(map(is_data, {evidence.graph.type(node) for node in group.members}))
    least = LEAST_PLAIN_BYTES if is_of_data else LEAST_OBJECT_BYTES
    return all(sums[number] >= least * evidence.steps(number) for number in evidence.judged)


def is_steady(counts: Sequence[int], evidence: Evidence) -> bool:
    """Did every judged round leave its share?"""
    rates = [count / evidence.steps(number) for count, number in zip(counts, evidence.judged, strict=True)]
    return len(rates) > 1 and min(rates) > LEAST_SHARE * max(rates)


def are_many(counts: Sequence[int], evidence: Evidence) -> bool:
    """Are they steady, and more than what passes for survivors by chance?"""
    steps = sum(map(evidence.steps, evidence.judged))
    return is_steady(counts, evidence) and sum(counts) >= LEAST_LINKS * steps


def is_slowing(group: Group, evidence: Evidence, share: float = SLOWED_SHARE, least: int = LEAST_TELLING) -> bool:
    """Does everything that grows and holds the group get ever less?"""
    held_by = [node for node in containers(evidence.graph, group, evidence.born) if grows(node, group, evidence)]
    return bool(held_by) and all(slows(increments(node, evidence), evidence, share, least) for node in held_by)


def slows(added: Sequence[int], evidence: Evidence, share: float, least: int = LEAST_TELLING) -> bool:
    """Did every judged round add no more for each step than the one before, and the last one clearly less?"""
    rates = [count / evidence.steps(number) for count, number in zip(added, evidence.judged, strict=True)]
    falls = all(after <= before for before, after in itertools.pairwise(rates))
    is_told = len(rates) >= ROUNDS and evidence.steps(evidence.judged[-1]) >= least
    return is_told and falls and rates[-1] <= share * rates[0]


def gathers(group: Group, evidence: Evidence) -> bool:
    """Does something grow that holds the group: a container by its items, or a chain by its links?

    Objects that come and go at the same addresses pass for survivors; what holds them stays as large as it was.
    """
    if group.anchor and has_gathered(group.anchor, evidence):
        return True
    return is_chain(group, evidence) or any(
        grows(node, group, evidence) for node in containers(evidence.graph, group, evidence.born)
    )


def is_filled(group: Group, counts: Sequence[int], evidence: Evidence) -> bool:
    """Does a container that holds the group get its share in every judged round?

    Its length tells it even where new objects stand at the addresses of old ones, and pass for these.
    """
    held_by = containers(evidence.graph, group, evidence.born)
    return any(
        grows(node, group, evidence)
        and (is_steady(counts, evidence) or (sum(counts) > 0 and is_steady(increments(node, evidence), evidence)))
        for node in held_by
    )


def is_chain(group: Group, evidence: Evidence) -> bool:
    """Does one top have objects of every judged round below it, and are there more of their types after each?"""
    return bool(chain_tops(group, evidence)) and are_left(group, evidence)


def chain_tops(group: Group, evidence: Evidence) -> set[int]:
    """The tops that have objects of one type of every judged round below them: the links of a chain are alike.

    A few things of several types may stand at addresses where others stood in different rounds.
    """
    rounds: dict[tuple[int, tuple[str, str]], set[int]] = {}
    leaking = leak_types()
    for node, top in group.members.items():
        if matters(evidence.graph, node, leaking):
            rounds.setdefault((top, evidence.graph.kind_and_type(node)), set()).add(evidence.born[node])
    return {top for (top, _), found in rounds.items() if found.issuperset(evidence.judged)}


def chain_alone(group: Group, evidence: Evidence) -> Group:
    """A chain without what hangs on the same place and does not grow: other variables have the batch of the last step."""
    tops = chain_tops(group, evidence)
    members = {node: top for node, top in group.members.items() if top in tops}
    kept = [top for top in group.tops if top in tops]
    if kept:
        return replace(group, tops=kept, members=members)
    kept = sorted(tops)  # of a part that hangs on a place of its own
    return replace(group, anchor=evidence.graph.dominator(kept[0]), tops=kept, members=members)


def are_left(group: Group, evidence: Evidence) -> bool:
    """Does the heap have more objects of the group's types after every judged round, about as many as the group got?

    Objects that come and go at the same addresses pass for survivors; their number stays. What a chain hangs on does not
    tell: a tensor that each step replaces often stands where another one stood.
    """
    leaking = leak_types()
    born = counts_by_type(
        evidence, {node: evidence.born[node] for node in group.members if matters(evidence.graph, node, leaking)}
    )
    foreign = counts_by_type(evidence, evidence.planted)
    levels = [level_by_type(snapshot.graph) for snapshot in evidence.snapshots[evidence.judged.start :]]
    for at in range(len(evidence.judged)):
        planted = sum(foreign[at:], Counter())
        got = sum(born[at:], Counter())
        more = {type_: levels[-1][type_] - levels[at][type_] - planted[type_] for type_ in got}
        if sum(max(0, min(more[type_], got[type_])) for type_ in got) < LEAST_GROWTH * got.total():
            return False
    return True


def counts_by_type(evidence: Evidence, rounds: Births) -> list[Counter[tuple[str, str]]]:
    """Count the nodes of each judged round by kind and type."""
    found: list[Counter[tuple[str, str]]] = [Counter() for _ in evidence.judged]
    for node in rounds:
        if rounds[node] in evidence.judged:
            found[rounds[node] - evidence.judged.start][evidence.graph.kind_and_type(node)] += 1
    return found


def level_by_type(graph: _heap.Graph) -> Counter[tuple[str, str]]:
    """How many objects there are of each kind and type."""
    found: Counter[tuple[str, str]] = Counter()
    for name, kind, count, _ in graph.census():
        found[kind, name] += count
    return found


def has_gathered(node: int, evidence: Evidence) -> bool:
    """Does an object retain more after each round? Of most that do not, the first snapshot and the last tell it."""
    snapshots = evidence.snapshots[evidence.judged.start :]
    ends = retained_amounts(node, [snapshots[0], snapshots[-1]])
    is_worth_while = len(ends) < 2 or ends[1] - ends[0] >= LEAST_GATHERED
    return is_worth_while and has_grown(retained_amounts(node, snapshots))


def has_grown(amounts: Sequence[int]) -> bool:
    """Never less than before, and more in the end."""
    return amounts == sorted(amounts) and len(amounts) > 1 and amounts[-1] > amounts[0]


def retained_amounts(node: int, snapshots: Sequence[StepSnapshot]) -> list[int]:
    """The bytes that an object of the last one retained at each snapshot, as far as it was there."""
    one = snapshots[-1].graph.describe(node)
    found = ((snapshot.graph, snapshot.graph.find(one.address)) for snapshot in snapshots)
    return [graph.retained(at) for graph, at in found if at is not None and graph.kind_and_type(at) == one[:2]]


def increments(container: int, evidence: Evidence) -> list[int]:
    """Return how many references a container gained in each judged round; empty if it was not there before."""
    found = evidence.graph.describe(container)
    lengths = []
    for snapshot in evidence.snapshots[evidence.judged.start :]:
        node = snapshot.graph.find(found.address)
        if node is None or snapshot.graph.kind_and_type(node) != found[:2]:
            return []
        lengths.append(len(snapshot.graph.referents(node)))
    return [after - before for before, after in itertools.pairwise(lengths)]


def grows(container: int, group: Group, evidence: Evidence) -> bool:
    """Does a container have more items after every judged round, about as many as it was given?

    An item at the address of one that an earlier round made passes for that one, so that only sums from a round on compare.
    """
    added = increments(container, evidence)
    inside = set(evidence.graph.referents(container)).intersection(group.tops)
    rounds = [evidence.born[node] for node in inside]
    return min(added, default=0) > 0 and all(
        sum(added[at:]) >= LEAST_GROWTH * sum(number >= first for number in rounds)
        for at, first in enumerate(evidence.judged)
    )
