"""Growth less often than each step: once per epoch, trial or fold. Most rounds add nothing.

All snapshots are compared: a container grows this way if it gains items in several separate rounds and loses none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradlife.hunting.growth.groups import Group, containers, has_variables
from gradlife.hunting.growth.reachable_growth import (
    REBUILT_TYPES,
    Evidence,
    GrownGroup,
    below_tops,
    counts_by_round,
    gained_items,
    increments,
    kind_of,
)
from gradlife.hunting.snapshots.node_weights import leak_types, matters, weight
from gradlife.model.hunt import Amounts, Arrivals

#: Rounds in which objects must have arrived. Fewer may belong to the program's start.
MIN_ARRIVALS = 4

#: Objects that arrive in more than this share of the steps belong to the steps.
MAX_OFTEN = 0.5

#: A cache is filling if the second half of the steps brought less than this share of the first half's objects.
MIN_LATER_SHARE = 0.5


def arrived(evidence: Evidence, known: Sequence[Group]) -> list[GrownGroup]:
    """Return the groups that grow now and then, without those in `known`."""
    if len(evidence.snapshots) <= MIN_ARRIVALS:
        return []
    whole = replace(evidence, rounds=len(evidence.snapshots) - 1)
    taken = {node for group in known for node in group.members}
    found = (as_infrequent(group, whole) for group in evidence.held if taken.isdisjoint(group.members))
    return [one for one in found if one is not None]


def as_infrequent(group: Group, evidence: Evidence) -> GrownGroup | None:
    """Return the group with its rate if its members arrived in enough rounds and its holders lost none."""
    leaking = leak_types()
    relevant = [node for node in group.members if matters(evidence.graph, node, leaking)]
    if len({evidence.born[node] for node in relevant}) < MIN_ARRIVALS:
        return None
    held_by = [node for node in containers(evidence.graph, group, evidence.born) if only_gains(node, evidence)]
    if not held_by:
        chain = late_chain(group, evidence)
        if chain is None:
            return None
        rebuilt = rebuilt_now_and_then(chain, evidence)
        return GrownGroup(chain, rate_of(chain, evidence), kind_of(chain, rebuilt), tuple(rebuilt))
    rate = rate_of(group, evidence)
    return GrownGroup(group, rate, kind_of(group, held_by), tuple(held_by), arrivals_of(held_by, rate, evidence))


def rate_of(group: Group, evidence: Evidence) -> Amounts:
    """Return what a group adds per step."""
    return weight(evidence.graph, group.members, sum(map(evidence.steps, evidence.judged_rounds)))


def rebuilt_now_and_then(chain: Group, evidence: Evidence) -> list[int]:
    """Return the containers that the program builds anew from the old one and new items, such as a tuple that gets longer."""
    rebuilt = [node for node in chain.members if evidence.graph.type(node) in REBUILT_TYPES]
    return [node for node in rebuilt if len(rounds_of_items(node, evidence)) >= MIN_ARRIVALS]


def rounds_of_items(container: int, evidence: Evidence) -> set[int]:
    """Return the rounds in which the items of a container were born."""
    return {evidence.born[item] for item in evidence.graph.referents(container) if item in evidence.born}


def arrivals_of(held_by: Sequence[int], rate: Amounts, evidence: Evidence) -> Arrivals | None:
    """Count how often an item was added to the containers; None for a chain, whose links all look the same."""
    steps = sum(map(evidence.steps, evidence.judged_rounds))
    times = min((gained_items(node, evidence) for node in held_by), default=0)
    if not times or times > MAX_OFTEN * steps:
        return None
    return Arrivals(times, steps, round(rate.retained_bytes * steps / times))


def only_gains(node: int, evidence: Evidence) -> bool:
    """Return whether a container gained items in enough rounds and never lost any."""
    return not has_variables(evidence.graph, node) and has_arrivals(increments(node, evidence), evidence)


def late_chain(group: Group, evidence: Evidence) -> Group | None:
    """Return the part of the group that is a chain with links of enough rounds."""
    if not group.anchor or has_variables(evidence.graph, group.anchor):
        return None
    rounds = rounds_below(group, evidence)
    tops = {top for top, found in rounds.items() if len(found) >= MIN_ARRIVALS}
    if not tops:
        return None
    chain = below_tops(group, tops, evidence.graph)
    return chain if has_arrivals(counts_by_round(chain, evidence), evidence) else None


def rounds_below(group: Group, evidence: Evidence) -> dict[int, set[int]]:
    """Return the rounds in which the relevant objects below each top were born."""
    rounds: dict[int, set[int]] = {}
    leaking = leak_types()
    for node, top in group.members.items():
        if matters(evidence.graph, node, leaking):
            rounds.setdefault(top, set()).add(evidence.born[node])
    return rounds


def has_arrivals(added: Sequence[int], evidence: Evidence) -> bool:
    """Return whether enough rounds added something, none removed anything, and the growth continues."""
    if len(added) != len(evidence.judged_rounds) or min(added) < 0:
        return False
    return sum(count > 0 for count in added) >= MIN_ARRIVALS and continues(added, evidence)


def continues(added: Sequence[int], evidence: Evidence) -> bool:
    """Whether the second half of the steps brought about as much as the first."""
    lengths = [evidence.steps(number) for number in evidence.judged_rounds]
    half = sum(lengths) / 2
    sums, steps, at = [0.0, 0.0], [0, 0], 0
    for count, length in zip(added, lengths, strict=True):
        part = int(at + length / 2 > half)
        sums[part] += count
        steps[part] += length
        at += length
    if not steps[0] or not steps[1]:
        return True
    return sums[1] / steps[1] >= MIN_LATER_SHARE * sums[0] / steps[0]
