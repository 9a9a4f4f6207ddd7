"""Survivors that native code holds, merged with the Python objects that seem to own them.

A capsule or a handle of an extension is opaque. If opaque objects grow at the same rate as tensors without a known
holder, they are taken for the holders, and both become one finding. In the other direction, what native code holds of
something that grows anyway, such as the method of a running thread, is not a second leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradlife import _heap
from gradlife.hunting.findings.leak_trace import name_of
from gradlife.hunting.growth.groups import held_groups
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, is_in_growing_container, with_growth_rate
from gradlife.hunting.snapshots import cast_cache
from gradlife.hunting.snapshots.node_weights import FIELDS, LARGE_BYTES, NATIVE
from gradlife.hunting.snapshots.remote_references import HOLDER, are_owned
from gradlife.hunting.snapshots.step_snapshots import names_below
from gradlife.model.hunt import Amounts

#: Types whose objects hold nothing, or only what their references show.
PLAIN = frozenset(
    {"str", "int", "float", "complex", "bool", "bytes", "bytearray", "NoneType", "range", "ellipsis", "object", "code"}
    | {"list", "tuple", "dict", "set", "frozenset", "type", "collections.OrderedDict", "weakref.ReferenceType"}
)

#: Types of handles of distributed operations.
HANDLES = frozenset({"Work", "Future"})

GREENLET = "greenlet.greenlet"

#: The relative difference that the rates of holders and held objects may have from round to round. What handles hold
#: comes from other threads, and some of it is not recognized at the address of a freed tensor.
TOLERANCE = 0.2
HANDLE_TOLERANCE = 0.5


def with_native_parts(evidence: Evidence, groups: Sequence[GrownGroup]) -> list[GrownGroup]:
    """Merge each group that only native code holds into a group with as many opaque objects."""
    held = [one for one in groups if one.group.anchor is not None]
    unheld = [one for one in groups if one.group.anchor is None]
    cyclic = [one for one in unheld if has_cycle(evidence.graph, one)]
    lost = [one for one in unheld if one not in cyclic]
    lost = joined(evidence, held, lost)
    if lost:
        others = unlike(evidence, held)
        lost = joined(evidence, others, lost)
        held += [one for one in others if one.per_step.tensors]
    return [*held, *(with_known_owner(evidence, one) for one in lost), *cyclic]


def with_known_owner(evidence: Evidence, one: GrownGroup) -> GrownGroup:
    """Name what C++ is known to keep: weights whose casts torch.autocast has in its cache, or values that other workers of
    torch.distributed.rpc got as many RRefs to.
    """
    if has_cached_casts(evidence, one):
        return replace(one, unseen_holder=cast_cache.HOLDER)
    counts = [one.owned_rrefs for one in evidence.snapshots[evidence.judged_rounds.start :]]
    new = sum(evidence.born[top] in evidence.judged_rounds for top in one.group.tops)
    return replace(one, unseen_holder=HOLDER) if are_owned(counts, new) else one


def has_cached_casts(evidence: Evidence, one: GrownGroup) -> bool:
    """Whether these are weights, in a region of torch.autocast that was not left between the snapshots."""
    around = evidence.snapshots[evidence.judged_rounds.start :]
    weights = names_below("torch.nn.parameter", "Parameter")
    return all(each.is_caching_casts for each in around) and any(
        evidence.graph.type(top) in weights for top in one.group.members
    )


def joined(evidence: Evidence, held: list[GrownGroup], lost: Sequence[GrownGroup]) -> list[GrownGroup]:
    """Merge groups without a holder into their holders in `held`; return the groups that have none."""
    left = []
    order = sorted(range(len(held)), key=lambda number: not has_handles(evidence.graph, held[number]))
    for one in lost:
        number = next((number for number in order if is_part(evidence, held[number], one)), None)
        if number is None:
            left.append(one)
        else:
            held[number] = united(held[number], one)
    return left


def has_handles(graph: _heap.Graph, one: GrownGroup) -> bool:
    """Whether handles of operations are among the group."""
    return any(name_of(graph, node) in HANDLES for node in one.group.members)


def unlike(evidence: Evidence, known: Sequence[GrownGroup]) -> list[GrownGroup]:
    """Find growing groups of opaque objects. Such growth alone is not a leak."""
    seen = {one.group.anchor for one in known}
    rows = []
    for group in held_groups(evidence.graph, evidence.born):
        opaque = [evidence.born[node] for node in group.members if may_own(evidence, node)]
        counts = [opaque.count(number) for number in evidence.judged_rounds]
        if group.anchor not in seen and min(counts) > 0 and is_in_growing_container(group, counts, evidence):
            rows.append(with_growth_rate(group, evidence))
    return rows


def may_own(evidence: Evidence, node: int) -> bool:
    """Whether the node is a new object that may hold others invisibly."""
    return node in evidence.born and is_opaque(evidence.graph, node)


def has_cycle(graph: _heap.Graph, one: GrownGroup) -> bool:
    """Whether a cycle keeps the group."""
    return bool(graph.explain(one.group.tops[0])["cycle"])


def united(holder: GrownGroup, part: GrownGroup) -> GrownGroup:
    """Merge a group into its holder's group, and add up their rates."""
    holder.group.absorb(part.group)
    rates = (getattr(holder.per_step, name) + getattr(part.per_step, name) for name in FIELDS)
    return replace(holder, per_step=Amounts(*rates))


def is_part(evidence: Evidence, holder: GrownGroup, part: GrownGroup) -> bool:
    """Whether both groups are one leak."""
    return (
        holds_as_many(evidence, holder, part)
        or belongs_to(evidence.graph, holder, part)
        or is_on_native_stacks(evidence, holder, part)
    )


def belongs_to(graph: _heap.Graph, holder: GrownGroup, part: GrownGroup) -> bool:
    """Return whether the part holds no memory of note and each of its islands refers to an object of the holder's."""
    if any(takes_memory(graph, node) for node in part.group.members):
        return False
    others = holder.group.members.keys()
    members = part.group.members.items()
    return {top for node, top in members if not others.isdisjoint(graph.referents(node))}.issuperset(part.group.tops)


def is_on_native_stacks(evidence: Evidence, holder: GrownGroup, part: GrownGroup) -> bool:
    """Return whether the part holds no memory of note and the holder got a greenlet for each of its islands, in each round.

    The C code in which a greenlet waits holds what it works with.
    """
    graph = evidence.graph
    if any(takes_memory(graph, node) for node in part.group.members):
        return False
    greenlets = rates_of(evidence, greenlets_among(graph, holder.group.members))
    islands = rates_of(evidence, part.group.tops)
    return all(0 < rate <= (1 + TOLERANCE) * made for rate, made in zip(islands, greenlets, strict=True))


def greenlets_among(graph: _heap.Graph, nodes: Iterable[int]) -> list[int]:
    """Return those of the nodes that are greenlets."""
    of_type: dict[str, bool] = {}
    found = []
    for node in nodes:
        name = graph.type(node)
        if name not in of_type:
            [step] = graph.references_along([node])
            of_type[name] = GREENLET in (name, *step.bases.splitlines())
        if of_type[name]:
            found.append(node)
    return found


def takes_memory(graph: _heap.Graph, node: int) -> bool:
    """Return whether the object is torch's, or large."""
    found = graph.describe(node)
    return found.kind in NATIVE or (found.bytes or 0) >= LARGE_BYTES


def holds_as_many(evidence: Evidence, holder: GrownGroup, part: GrownGroup) -> bool:
    """Return whether in each round the holder got as many opaque objects of one type as the part got tensors.

    The handle of a distributed operation has any number of tensors, as many as other handles of the program.
    """
    graph = evidence.graph
    wanted = rates_of(evidence, (node for node in part.group.members if graph.kind(node) == "tensor"))
    if not wanted or min(wanted) <= 0:
        return False
    opaque = [node for node in holder.group.members if is_opaque(graph, node)]
    for name in {name_of(graph, node) for node in opaque}:
        rates = rates_of(evidence, (node for node in opaque if name_of(graph, node) == name))
        shares = [rate / want for rate, want in zip(rates, wanted, strict=True)]
        least, tolerance = (0.0, HANDLE_TOLERANCE) if name in HANDLES else (1 - TOLERANCE, TOLERANCE)
        if min(shares) > least and max(shares) <= (1 + tolerance) * min(shares):
            return True
    return False


def rates_of(evidence: Evidence, nodes: Iterable[int]) -> list[float]:
    """Return how many of these nodes each step of each judged round made."""
    rounds = [evidence.born[node] for node in nodes if node in evidence.born]
    return [rounds.count(number) / evidence.steps(number) for number in evidence.judged_rounds]


def is_opaque(graph: _heap.Graph, node: int) -> bool:
    """Whether the object may hold others that its references do not show."""
    kind, name = graph.kind_and_type(node)
    if kind != "python" or name in PLAIN:
        return False
    return all(is_class(graph, node, target) for target in graph.referents(node))


def is_class(graph: _heap.Graph, node: int, target: int) -> bool:
    """Whether a referent is a class, possibly with a metaclass derived from `type`."""
    if graph.type(target) == "type":
        return True
    return "type" in graph.references_along([node, target])[-1].bases.splitlines()
