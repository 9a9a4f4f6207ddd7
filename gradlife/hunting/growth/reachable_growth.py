"""Groups of objects that grow in every round. Temporary objects and caches that have stopped growing are left out.

A group is what one holder (`anchor`) keeps; `tops` are the new objects directly below it, `members` these and all
objects that they keep.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gradlife import _heap
from gradlife.hunting.growth.carried_state import Carrier, find_carrier
from gradlife.hunting.growth.groups import Group, all_tops, containers, held_groups
from gradlife.hunting.growth.islands import cycle_members, grouped_by_cycle, islands
from gradlife.hunting.growth.longer_containers import LongerContainer, longer_containers
from gradlife.hunting.growth.nested_growth import nested
from gradlife.hunting.growth.per_object_growth import spread_groups
from gradlife.hunting.growth.rates import are_steady
from gradlife.hunting.snapshots.node_weights import (
    MIN_OBJECT_BYTES,
    MIN_PLAIN_BYTES,
    is_data,
    leak_types,
    matters,
    plain_bytes,
    weight,
)
from gradlife.hunting.snapshots.noted_facts import identity_of, item_count
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.hunting.snapshots.survivors import Births, births
from gradlife.model.growth import GrowthKind
from gradlife.model.hunt import Amounts, Arrivals
from gradlife.model.trace import NativeHolder

#: Growth must hold in this many last rounds; growth in earlier rounds may be a cache that fills.
ROUNDS = 3

#: A cache that fills grows less in every round than in the one before. If the last round adds at most SLOWED_SHARE of
#: what the first one added per step, the cache is filling; between that and DOUBTED_SHARE growth is in doubt.
SLOWED_SHARE = 0.6
DOUBTED_SHARE = 0.9

#: How many times as much memory an item may keep as an older one of the same cache.
MORE_THAN_ALIKE = 2

#: Steps that the last round needs for this judgement.
MIN_SLOWING_STEPS = 29

#: A container grows if its length rises by at least this share of its new items; a full container does not grow.
MIN_GROWTH = 0.5

#: What is spread over many objects, or holds the previous one, needs this many new objects per step. Fewer come now and then.
MIN_LINKS = 0.1

#: A round shorter than this share of the one before it, such as those that look for native references and creation
#: sites, does not count by itself: growth that occurs every few steps may add nothing in it.
MIN_LENGTH = 0.5

#: After a short round the last snapshot is kept, too, if at most this many others are.
MIN_KEPT = 3

#: Rounds in which a program must freeze what it has, and leave garbage.
MIN_FREEZES = 2

#: Stands for the top of nodes that several places lead to.
SHARED = -1

#: Containers that a program may rebuild in each step, from the old one and new items.
REBUILT_TYPES = frozenset({"list", "tuple", "dict", "set", "frozenset", "collections.OrderedDict", "collections.deque"})

#: A rebuilt container with fewer new items may be ordinary state.
MIN_ITEMS = 10


@dataclass(frozen=True)
class GrownGroup:
    """A group that grew in each of the last rounds."""

    group: Group
    per_step: Amounts
    kind: GrowthKind
    containers: tuple[int, ...] = ()  # for growth of kind CONTAINER: containers with more items after every round
    arrivals: Arrivals | None = None  # set if growth does not happen in every step
    #: Of the places that lead to a chain of graphs: the one that passes it to the next step.
    carrier: Carrier | None = None
    unseen_holder: NativeHolder | None = None  # of objects that no object leads to
    outer: int | None = None  # what holds the growing container beside others that grow: a variable may hold it, too


@dataclass(frozen=True)
class Evidence:
    """Several snapshots, and the objects born between them."""

    snapshots: Sequence[StepSnapshot]
    born: Births  # new objects, by the round in which they appeared
    rounds: int = ROUNDS  # rounds judged at most
    lengths: Sequence[int] = ()  # steps of each round, if they differ from the snapshots' step counts
    planted: Births = field(default_factory=dict)  # objects that the hunt planted, by the round in which they appeared
    collected: frozenset[int] = frozenset()  # objects that a full collection freed after the last snapshot

    @property
    def graph(self) -> _heap.Graph:
        """Return the graph of the last snapshot."""
        return self.snapshots[-1].graph

    @functools.cached_property
    def held(self) -> Sequence[Group]:
        """Return the reachable groups of what was born."""
        return held_groups(self.graph, self.born)

    @property
    def judged_rounds(self) -> range:
        """Return the rounds by which growth is judged: the last ones."""
        count = len(self.snapshots) - 1
        return range(max(0, count - self.rounds), count)

    def steps(self, number: int) -> int:
        """Return the number of steps in a round."""
        if self.lengths:
            return max(1, self.lengths[number])
        return self.snapshots[number + 1].steps - self.snapshots[number].steps


def evidence_of(snapshots: Sequence[StepSnapshot], rounds: int = ROUNDS) -> Evidence:
    """Compare the snapshots and find the objects born between them."""
    snapshots = far_apart(snapshots)
    return Evidence(snapshots, births(snapshots), rounds)


def far_apart(snapshots: Sequence[StepSnapshot]) -> Sequence[StepSnapshot]:
    """Drop snapshots that make a round much shorter than the one before. The steps of a dropped round
    count with the next round, those of the last with the one before.
    """
    kept = list(snapshots[:2])
    for number, snapshot in enumerate(snapshots[2:], 2):
        before = kept[-1].steps - kept[-2].steps
        is_last = number == len(snapshots) - 1
        if snapshot.steps - kept[-1].steps >= MIN_LENGTH * before or (is_last and len(kept) <= MIN_KEPT):
            kept.append(snapshot)
        elif is_last:
            kept[-1] = snapshot
    return kept


def grown_groups(evidence: Evidence) -> tuple[list[GrownGroup], list[Group]]:
    """Return the groups that grow in every judged round, and those in doubt: in some rounds only, or less and less."""
    sure: list[Group] = []
    unsure: list[Group] = []
    others: list[Group] = []
    chains: list[Group] = []
    for group in evidence.held:
        counts = counts_by_round(group, evidence)
        is_in_container = is_in_growing_container(group, counts, evidence)
        if is_in_container:
            (unsure if is_slowing(group, evidence) else sure).append(group)
        elif is_steady_chain(group, evidence):
            chains.append(group)
        else:
            others.append(group)
            if sum(count > 0 for count in counts[:-1]) and has_growing_holder(group, evidence):
                unsure.append(group)
    judged = [group for group in others if evidence.born.get(group.tops[0], -1) in evidence.judged_rounds]
    for group in spread_groups(judged, evidence.graph, evidence.snapshots[evidence.judged_rounds.start].graph):
        counts = counts_by_round(group, evidence)
        if is_significant(counts, evidence):
            (unsure if adds_less_each_round(counts, evidence, SLOWED_SHARE) else sure).append(group)
    explained = {node for group in sure for node in group.members}
    inner = nested_growth([one for one in (*others, *chains) if explained.isdisjoint(one.members)], evidence)
    in_nested = {node for group in inner for node in group.members}
    inner += [chain_alone(one, evidence) for one in chains if in_nested.isdisjoint(one.members)]
    for group in inner:
        (unsure if is_slowing(group, evidence) else sure).append(group)
    lost = grouped_by_cycle(evidence.graph, islands(evidence.graph, evidence.born))
    sure += [
        group for group in lost if is_steady(counts_by_round(group, evidence), evidence) or is_frozen(group, evidence)
    ]
    found = [with_growth_rate(group, evidence) for group in sure]
    longer = longer_than_known(evidence, [*(one.group for one in found), *unsure])
    return [*found, *(as_grown(one) for one in longer if one.bytes >= MIN_PLAIN_BYTES)], unsure


def is_frozen(group: Group, evidence: Evidence) -> bool:
    """Whether only `gc.freeze()`, called again and again, keeps the collector from cycles of Python objects."""
    rounds = {evidence.born.get(node, -1) for node in group.members}.intersection(evidence.judged_rounds)
    if len(rounds) < MIN_FREEZES or not freezes_again(evidence.snapshots):
        return False
    graph = evidence.graph
    inside = cycle_members(graph, group.members) or {node for node in group.members if node in graph.referents(node)}
    return bool(inside) and all(graph.kind(node) == "python" for node in inside)


def freezes_again(snapshots: Sequence[StepSnapshot]) -> bool:
    """Whether the program called `gc.freeze()` in several of the rounds: once is what a server does when it has loaded."""
    return sum(after.frozen > before.frozen for before, after in itertools.pairwise(snapshots)) >= MIN_FREEZES


def longer_than_known(evidence: Evidence, known: Sequence[Group]) -> list[LongerContainer]:
    """Return the containers that get longer in each judged round and do not hold one of these groups."""
    taken = {node for group in known for node in (group.anchor or 0, *group.members, *group.holders)}
    taken |= {node for group in known for node in containers(evidence.graph, group, evidence.born)}
    around = evidence.snapshots[evidence.judged_rounds.start :]
    return [*longer_containers(evidence.graph, around, evidence.born, evidence.judged_rounds, taken)]


def small_growth(evidence: Evidence, known: Sequence[Group]) -> list[LongerContainer]:
    """Return the containers that get longer by less than counts as a leak, largest first."""
    found = [one for one in longer_than_known(evidence, known) if one.bytes < MIN_PLAIN_BYTES]
    return sorted(found, key=lambda one: -one.bytes)


def as_grown(one: LongerContainer) -> GrownGroup:
    """Return a container that gets longer as a group that grows."""
    rate = Amounts(objects=one.items, retained_bytes=one.bytes, bytes=one.bytes)
    return GrownGroup(one.group, rate, GrowthKind.CONTAINER, (one.node,))


def nested_growth(groups: Sequence[Group], evidence: Evidence) -> list[Group]:
    """Return groups whose holders are containers inside one container, which grow together."""
    found: list[Group] = []
    for group in nested(groups, evidence.graph):
        if any(not group.members.keys().isdisjoint(one.members) for one in found):
            continue
        if is_significant(counts_by_round(group, evidence), evidence) and have_holders_grown(group, evidence):
            found.append(group)
    return found


def have_holders_grown(group: Group, evidence: Evidence) -> bool:
    """Whether the holders together gained about as many items as were born. A replaced item adds none."""
    new = sum(evidence.born.get(top, -1) in evidence.judged_rounds for top in group.tops)
    return sum(max(0, sum(increments(node, evidence))) for node in group.holders) >= MIN_GROWTH * new


def with_growth_rate(group: Group, evidence: Evidence) -> GrownGroup:
    """Return the group with its growth rate and growing containers."""
    members = [node for node in group.members if evidence.born.get(node, -1) in evidence.judged_rounds]
    steps = sum(map(evidence.steps, evidence.judged_rounds))
    rate = weight(evidence.graph, members, steps)
    if is_plain(members, evidence.graph):
        rate = replace(rate, bytes=plain_bytes(evidence.graph, members) / steps)
    containers_above = containers(evidence.graph, group, evidence.born) if group.anchor is not None else []
    growing = [node for node in containers_above if is_growing_container(node, group, evidence)]
    if group.holders and group.anchor is not None:
        growing = [group.anchor]
    if growing:
        rate = replace(rate, retained_bytes=max(rate.retained_bytes, retained_by_new(group, evidence) / steps))
    growing = growing or rebuilt_containers(group, evidence)
    kind = kind_of(group, growing)
    carrier = carrier_of(group, evidence) if kind is GrowthKind.CHAIN else None
    return GrownGroup(group, rate, kind, tuple(growing), carrier=carrier)


def carrier_of(group: Group, evidence: Evidence) -> Carrier | None:
    """Find the place that carries a chain of graphs on, by the snapshots of the judged rounds."""
    earlier = evidence.snapshots[evidence.judged_rounds.start : -1]
    return find_carrier(evidence.graph, group, [one.graph for one in earlier])


def kind_of(group: Group, growing: Sequence[int]) -> GrowthKind:
    """Return the kind of growth, given the growing containers."""
    if growing:
        return GrowthKind.CONTAINER
    if group.anchor is None:
        return GrowthKind.UNREACHABLE
    return GrowthKind.SPREAD if group.places else GrowthKind.CHAIN


def retained_by_new(group: Group, evidence: Evidence) -> int:
    """Return the bytes that would be freed with the new items of a growing container."""
    tops = all_tops(evidence.graph, group)
    return sum(evidence.graph.retained(top) for top in tops if evidence.born.get(top, -1) in evidence.judged_rounds)


def rebuilt_containers(group: Group, evidence: Evidence) -> list[int]:
    """Return containers that each step builds anew, from the old one and new items."""
    if group.anchor is None or group.places:
        return []
    found = [node for node in group.members if evidence.graph.type(node) in REBUILT_TYPES]
    return [node for node in found if has_many_of_each_round(node, group, evidence)]


def has_many_of_each_round(node: int, group: Group, evidence: Evidence) -> bool:
    """Whether many items were born in the judged rounds, about as many per step in each round. Few are enough if the group
    has no other objects of these rounds.
    """
    rounds = [evidence.born.get(item) for item in evidence.graph.referents(node)]
    counts = [rounds.count(number) for number in evidence.judged_rounds]
    is_enough = sum(counts) >= MIN_ITEMS or holds_all_new(node, group, evidence)
    return is_enough and is_steady(counts, evidence)


def holds_all_new(container: int, group: Group, evidence: Evidence) -> bool:
    """Whether the Python objects of the group that were born in the judged rounds are items of one container, side by side."""
    objects = (node for node in group.members if evidence.graph.kind(node) == "python")
    new = {node for node in objects if evidence.born.get(node, -1) in evidence.judged_rounds} - {container}
    return len(new) > 1 and new.issubset(evidence.graph.referents(container))


def counts_by_round(group: Group, evidence: Evidence) -> list[int]:
    """Count the members born in each judged round that `counted_members` returns."""
    rounds = [evidence.born.get(node, -1) for node in counted_members(group, evidence)]
    return [rounds.count(number) for number in evidence.judged_rounds]


def counted_members(group: Group, evidence: Evidence) -> list[int]:
    """Return the relevant members; all members if no relevant one was born in the judged rounds but they take much
    memory.

    An item of the first steps may have a tensor that no later one has.
    """
    leaking = leak_types()
    relevant = [node for node in group.members if matters(evidence.graph, node, leaking)]
    is_old = not any(evidence.born.get(node, -1) in evidence.judged_rounds for node in relevant)
    return list(group.members) if is_old and takes_much_memory(group, evidence) else relevant


def is_plain(nodes: Iterable[int], graph: _heap.Graph) -> bool:
    """Whether these are only plain Python data."""
    leaking = leak_types()
    return not any(matters(graph, node, leaking) for node in nodes)


def takes_much_memory(group: Group, evidence: Evidence) -> bool:
    """Whether small objects take many bytes per step in every judged round."""
    sums: Counter[int] = Counter()
    for node in group.members:
        sums[evidence.born.get(node, -1)] += plain_bytes(evidence.graph, [node])
    is_of_data = all(map(is_data, {evidence.graph.type(node) for node in group.members}))
    min_bytes = MIN_PLAIN_BYTES if is_of_data else MIN_OBJECT_BYTES
    return all(sums[number] >= min_bytes * evidence.steps(number) for number in evidence.judged_rounds)


def is_steady(counts: Sequence[int], evidence: Evidence) -> bool:
    """Whether every judged round added per step at least `MIN_SHARE` of what the fastest did."""
    return are_steady(counts, list(map(evidence.steps, evidence.judged_rounds)))


def is_significant(counts: Sequence[int], evidence: Evidence) -> bool:
    """Whether growth is steady and exceeds chance survivors."""
    steps = sum(map(evidence.steps, evidence.judged_rounds))
    return is_steady(counts, evidence) and sum(counts) >= MIN_LINKS * steps


def is_slowing(
    group: Group, evidence: Evidence, share: float = SLOWED_SHARE, min_steps: int = MIN_SLOWING_STEPS
) -> bool:
    """Whether every growing container of the group grows less and less. With several holders, whether their sum does."""
    if group.holders:
        return adds_less_each_round(counts_by_round(group, evidence), evidence, share, min_steps)
    containers_above = [
        node for node in containers(evidence.graph, group, evidence.born) if is_growing_container(node, group, evidence)
    ]
    return bool(containers_above) and all(
        adds_less_each_round(increments(node, evidence), evidence, share, min_steps) or filled_early(node, evidence)
        for node in containers_above
    )


def filled_early(container: int, evidence: Evidence) -> bool:
    """Whether a container of a short run gained less than an item a step in the rounds, and far more of such items before."""
    added, earlier = sum(increments(container, evidence)), evidence.snapshots[evidence.judged_rounds.start]
    steps = sum(map(evidence.steps, evidence.judged_rounds))
    if len(evidence.judged_rounds) >= ROUNDS or added >= steps:
        return False
    had = item_count(earlier, identity_of(evidence.graph, container)) or 0
    return added / steps <= SLOWED_SHARE * had / max(1, earlier.steps) and are_items_alike(container, evidence)


def are_items_alike(container: int, evidence: Evidence) -> bool:
    """Whether the items of the judged rounds keep no more memory than the older ones, so that both may be of one cache."""
    graph = evidence.graph
    new = [one for one in graph.referents(container) if evidence.born.get(one, -1) in evidence.judged_rounds]
    old = [one for one in graph.referents(container) if one not in new]
    kept = [sum(map(graph.retained, items)) / max(1, len(items)) for items in (new, old)]
    return bool(old) and kept[0] <= MORE_THAN_ALIKE * kept[1]


def adds_less_each_round(
    added: Sequence[int], evidence: Evidence, share: float, min_steps: int = MIN_SLOWING_STEPS
) -> bool:
    """Whether no judged round added more per step than the one before, and the last clearly less than the first."""
    rates = [count / evidence.steps(number) for count, number in zip(added, evidence.judged_rounds, strict=True)]
    falls = all(after <= before for before, after in itertools.pairwise(rates))
    is_conclusive = len(rates) >= ROUNDS and evidence.steps(evidence.judged_rounds[-1]) >= min_steps
    return is_conclusive and falls and rates[-1] <= share * rates[0]


def has_growing_holder(group: Group, evidence: Evidence) -> bool:
    """Whether a holder of the group grows: a container by its items, or a chain by its links."""
    return bool(chain_tops(group, evidence)) or any(
        gains_items(node, evidence) for node in containers(evidence.graph, group, evidence.born)
    )


def gains_items(container: int, evidence: Evidence) -> bool:
    """Whether a container gained items in some rounds and lost none in any."""
    added = increments(container, evidence)
    return min(added, default=0) >= 0 and sum(added) > 0


def is_in_growing_container(group: Group, counts: Sequence[int], evidence: Evidence) -> bool:
    """Whether a container that holds the group grows steadily in the judged rounds, by its new items or by its length."""
    containers_above = containers(evidence.graph, group, evidence.born)
    return any(
        is_growing_container(node, group, evidence)
        and (is_steady(counts, evidence) or (sum(counts) > 0 and is_steady(increments(node, evidence), evidence)))
        for node in containers_above
    )


def is_steady_chain(group: Group, evidence: Evidence) -> bool:
    """Whether the group has a chain with about as many new links per step in every judged round.

    What shares the chain's holder counts no more than the chain: the graph of the last step may be larger than a link.
    """
    if not chain_tops(group, evidence):
        return False
    chain = chain_alone(group, evidence)
    rebuilt = (node for node in chain.members if evidence.graph.type(node) in REBUILT_TYPES)
    if any(holds_all_new(node, chain, evidence) for node in rebuilt) and not rebuilt_containers(chain, evidence):
        return False  # items side by side are no links
    return is_significant(counts_by_round(chain, evidence), evidence)


def chain_tops(group: Group, evidence: Evidence) -> set[int]:
    """Return the tops that have, below them, objects of one type born in every judged round: the links of a chain.

    Where two variables carry one chain on, as `h, c = cell(x, (h, c))` does, neither alone holds its nodes: they are tops.
    """
    rounds: dict[tuple[int, tuple[str, str]], set[int]] = {}
    shared: set[int] = set()
    for node in counted_members(group, evidence):
        what, top = evidence.graph.kind_and_type(node), group.members[node]
        is_shared = what[0] == "grad_node" and top == node and top not in group.tops
        shared |= {node} if is_shared else set()
        rounds.setdefault((SHARED if is_shared else top, what), set()).add(evidence.born.get(node, -1))
    found = {top for (top, _), born in rounds.items() if born.issuperset(evidence.judged_rounds)}
    return found - {SHARED} | shared if SHARED in found else found


def chain_alone(group: Group, evidence: Evidence) -> Group:
    """Return the chain without members that share its holder but do not grow, such as the last batch in a variable."""
    return below_tops(group, chain_tops(group, evidence), evidence.graph)


def below_tops(group: Group, tops: Container[int], graph: _heap.Graph) -> Group:
    """Return the part of a group that is below some of its tops."""
    members = {node: top for node, top in group.members.items() if top in tops}
    kept = [top for top in group.tops if top in tops]
    if kept:
        return replace(group, tops=kept, members=members)
    kept = sorted(set(members.values()))  # the chain hangs below a member of the group, not below its holder
    return replace(group, anchor=graph.dominator(kept[0]), tops=kept, members=members)


def increments(container: int, evidence: Evidence) -> list[int]:
    """Return how many items a container gained in each judged round; empty if it was not there before."""
    one = identity_of(evidence.graph, container)
    lengths = []
    for snapshot in evidence.snapshots[evidence.judged_rounds.start :]:
        length = item_count(snapshot, one)
        if length is None:
            return []
        lengths.append(length)
    return [after - before for before, after in itertools.pairwise(lengths)]


def gained_items(container: int, evidence: Evidence) -> int:
    """Return how many items a container gained in the judged rounds."""
    return sum(increments(container, evidence))


def is_growing_container(container: int, group: Group, evidence: Evidence) -> bool:
    """Whether a container has more items after every judged round, and they are no replacement: it gained at least
    `MIN_GROWTH` of what was born in it.
    """
    added = increments(container, evidence)
    inside = set(evidence.graph.referents(container)).intersection(group.tops)
    new = sum(evidence.born.get(node, -1) in evidence.judged_rounds for node in inside)
    return min(added, default=0) > 0 and sum(added) >= MIN_GROWTH * new
