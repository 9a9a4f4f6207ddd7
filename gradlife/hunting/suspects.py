"""What seems to leak before it is known for sure: of its types it is worth while to record where objects are created."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.controls import Controls, planted_name
from gradlife.hunting.garbage import Garbage
from gradlife.hunting.growth import evidence_of, grown_groups
from gradlife.hunting.looks import Look
from gradlife.hunting.slices import finished_steps
from gradlife.hunting.swelling import Place, place_of, swollen


@dataclass(frozen=True)
class Suspects:
    """What the looks so far tell."""

    grow: bool  # something grows, or seems to, that the hunt did not plant
    are_there: bool  # or a finished step is still held
    types: frozenset[str]  # of Python objects among those that grow
    swelling: tuple[Place, ...] = ()  # what has one thing in it that is larger after each round


def suspects(looks: Sequence[Look], controls: Controls) -> Suspects:
    """Reads the graphs: to be asked for aside."""
    graph = looks[-1].graph
    evidence = evidence_of(looks)
    sure, unsure = grown_groups(evidence)
    swelling = swollen(evidence, sure)
    sure += swelling
    groups = [one.group for one in sure if not planted_name(graph, one, controls)] + unsure
    kept = finished_steps(evidence, sure)
    types = type_names(graph, (node for group in groups for node in group.members))
    places = tuple(place_of(graph, one) for one in swelling)
    return Suspects(bool(groups), bool(groups or kept), types, places)


def types_of(garbage: Garbage) -> frozenset[str]:
    """Of what waits for the collector."""
    return type_names(garbage.graph, (node for group in garbage.groups for node in group.members))


def type_names(graph: _heap.Graph, nodes: Iterable[int]) -> frozenset[str]:
    """Of the Python objects among these."""
    return frozenset(name for kind, name, _, _ in map(graph.describe, nodes) if kind == "python")
