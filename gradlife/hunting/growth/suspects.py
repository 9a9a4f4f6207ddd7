"""Likely leaks, found early so that creation sites can be recorded for their types.

If nothing seems to leak, that is the result of the hunt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.growth.arrivals import arrived
from gradlife.hunting.growth.controls import Controls
from gradlife.hunting.growth.garbage import Garbage
from gradlife.hunting.growth.groups import OWN, Group, is_hunts_own
from gradlife.hunting.growth.inplace_growth import Place, place_of, places_that_grow
from gradlife.hunting.growth.islands import has_cycle, lost_with_neighbours
from gradlife.hunting.growth.oversized_storages import finished_steps
from gradlife.hunting.growth.reachable_growth import (
    DOUBTED_SHARE,
    Evidence,
    GrownGroup,
    evidence_of,
    grown_groups,
    is_slowing,
    small_growth,
)
from gradlife.hunting.growth.rounds import judged_controls, planted_in, rounds_of, without_planted
from gradlife.hunting.snapshots.stale_activations import has_fresh_attributes
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.hunt import COUNTED, Control, HuntReport, Round


@dataclass(frozen=True)
class CleanResult:
    """The result of snapshots that show no leak."""

    snapshots: int
    rounds: tuple[Round, ...]
    controls: tuple[Control, ...]
    limits: tuple[str, ...]


@dataclass(frozen=True)
class Suspects:
    """The likely leaks in the snapshots so far."""

    has_growth: bool  # something grows, or may grow, that the hunt did not plant
    types: frozenset[str]  # Python types that grow
    fresh_attributes: bool  # modules hold tensors of the last round
    clean: CleanResult | None  # None if something grows or a finished step is still held
    grown_in_place: tuple[Place, ...] = ()  # places whose one object is larger after each round
    has_slowing_growth: bool = False  # something grows less in every round
    has_old_garbage: bool = False  # a full collection may free objects that the rounds left
    has_small_growth: bool = False  # a container gets longer by less than counts


@dataclass(frozen=True)
class Slowing:
    """Whether the growth in the snapshots so far is in doubt."""

    is_any: bool  # something grows less in every round
    has_old_garbage: bool  # a full collection may free objects that the rounds left
    report: HuntReport | None = None  # the report, if nothing is left to wait for and it could be made at once


def find_suspects(snapshots: Sequence[StepSnapshot], controls: Controls) -> Suspects:
    """Find the suspects. Reads the graphs: call it in a fork."""
    graph = snapshots[-1].graph
    whole = evidence_of(snapshots)
    planted = planted_in(whole.snapshots, controls)
    evidence = without_planted(whole, planted)
    has_old_garbage = may_collect(evidence)
    snapshots[-1].settle(has_old_garbage)
    sure, unsure = grown_groups(evidence)
    has_slowing_growth = is_any_slowing(evidence, sure, unsure)
    grown_in_place = places_that_grow(evidence, sure)
    sure += grown_in_place
    rare = arrived(evidence, [*unsure, *(one.group for one in sure)])
    groups = [one.group for one in (*sure, *rare)] + unsure
    groups = [group for group in groups if not is_of_hunt(graph, group)]
    types = type_names(graph, (node for group in groups for node in group.members))
    clean = None
    if not groups and not finished_steps(evidence, sure):
        rounds = tuple(rounds_of(evidence, planted))
        clean = CleanResult(
            len(snapshots), rounds, tuple(judged_controls(evidence, planted, controls)), tuple(snapshots[-1].limits)
        )
    latest = [node for node, number in evidence.born.items() if number == len(evidence.snapshots) - 2]
    places = tuple(place_of(graph, one) for one in grown_in_place)
    fresh = has_fresh_attributes(graph, latest)
    small = bool(small_growth(evidence, [*unsure, *(one.group for one in sure)]))
    return Suspects(bool(groups), types, fresh, clean, places, has_slowing_growth, has_old_garbage, small)


def may_collect(evidence: Evidence) -> bool:
    """Whether a full collection may free objects that the rounds left: nothing reaches them, and they are in a cycle or
    next to one.
    """
    return has_cycle(evidence.graph, lost_with_neighbours(evidence.graph, evidence.born, evidence.planted))


def is_in_doubt(snapshots: Sequence[StepSnapshot], controls: Controls) -> bool:
    """Whether more rounds may change the verdict. Reads the graphs: call it in a fork.

    Growth is in doubt if it occurs only in some rounds or slows down. So is a verdict of no growth if totals rise in
    every round.
    """
    whole = evidence_of(snapshots)
    planted = planted_in(whole.snapshots, controls)
    evidence = without_planted(whole, planted)
    sure, unsure = grown_groups(evidence)
    if any(not is_of_hunt(evidence.graph, group) for group in unsure):
        return True
    if sure:
        return any(is_slowing(one.group, evidence, DOUBTED_SHARE, min_steps=0) for one in sure)
    amounts = [one.added for one in rounds_of(evidence, planted)]
    return any(min(getattr(one, name) for one in amounts) > 0 for name in (*COUNTED, "bytes"))


def find_slowing(snapshots: Sequence[StepSnapshot], controls: Controls) -> Slowing:
    """Find out whether anything grows less in every round. Reads the graphs: call it in a fork."""
    whole = evidence_of(snapshots)
    evidence = without_planted(whole, planted_in(whole.snapshots, controls))
    return Slowing(is_any_slowing(evidence, *grown_groups(evidence)), may_collect(evidence))


def is_any_slowing(evidence: Evidence, sure: Sequence[GrownGroup], unsure: Sequence[Group]) -> bool:
    """Whether any of these groups grows less in every round."""
    return any(is_slowing(group, evidence, DOUBTED_SHARE) for group in [*unsure, *(one.group for one in sure)])


def is_of_hunt(graph: _heap.Graph, group: Group) -> bool:
    """Whether the hunt itself holds the group. Nothing seems to hold its snapshots where only its frames do, which are
    hidden.
    """
    if group.anchor is not None:
        return is_hunts_own(graph, group.tops[0])
    near = (node for top in group.tops for node in (top, *graph.referrers(top)))
    return any(graph.type(node).startswith(OWN) for node in near)


def types_of(garbage: Garbage) -> frozenset[str]:
    """Return the types of the Python objects that wait for the collector."""
    return type_names(garbage.graph, (node for group in garbage.groups for node in group.members))


def type_names(graph: _heap.Graph, nodes: Iterable[int]) -> frozenset[str]:
    """Return the types of the Python objects among these nodes."""
    return frozenset(found.type for found in map(graph.describe, nodes) if found.kind == "python")
