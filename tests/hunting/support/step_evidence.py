"""What grows in a function that this process calls step by step, with a snapshot after each round."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradlife import _heap
from gradlife.hunting.findings.growth_facts import facts_of, with_outer
from gradlife.hunting.findings.holder_path import find_holder_path
from gradlife.hunting.findings.leak_trace import held_trace
from gradlife.hunting.findings.severity import Room
from gradlife.hunting.growth.arrivals import arrived
from gradlife.hunting.growth.inplace_growth import places_that_grow
from gradlife.hunting.growth.reachable_growth import Evidence, evidence_of, grown_groups
from gradlife.hunting.growth.suspects import is_of_hunt
from gradlife.hunting.session.judgement import split
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot
from gradlife.model.hunt import Explained, Finding
from gradlife.model.trace import sentence

Step = Callable[[int], object]


def evidence(step: Step, *lengths: int) -> Evidence:
    """Return the evidence of snapshots after each of these numbers of steps."""
    numbers = itertools.count()
    snapshots: list[StepSnapshot] = []
    steps = 0
    with noted_births():
        for length in lengths:
            for number in itertools.islice(numbers, length):
                step(number)
            steps += length
            snapshots.append(take_snapshot(steps, with_labels=len(snapshots) == len(lengths) - 1))
    return evidence_of(snapshots)


@contextmanager
def noted_births() -> Iterator[None]:
    """Let the collector's list show what is born after each snapshot, as in a hunt."""
    _heap.begin_births()
    try:
        yield
    finally:
        _heap.end_births()


def judged(found: Evidence, free: int | None = None) -> tuple[list[Finding], list[Explained]]:
    """The leaks of the program, and its growth that is expected, by the table; ``free``: bytes of memory."""
    often, _ = grown_groups(found)
    often += places_that_grow(found, often)
    groups = [*often, *arrived(found, [one.group for one in often])]
    own = [one for one in groups if not is_of_hunt(found.graph, one.group)]
    room = Room(free, 1e6) if free is not None else None
    asked = [facts_of(found.graph, one, CreationSites(), found.snapshots, room) for one in with_outer(found.graph, own)]
    return split(found.graph, asked)


def words(found: Evidence) -> tuple[list[str], int]:
    """The traces of groups with tensors that grow, and how many groups with tensors may."""
    graph = found.graph
    sure, unsure = grown_groups(found)
    mine = [one for one in sure if has_tensors(found, one.group.members)]
    paths = [find_holder_path(graph, one) for one in mine]
    traces = [sentence(held_trace(graph, path.node, path.nodes)) for path in paths]
    return traces, sum(has_tensors(found, group.members) for group in unsure)


def has_tensors(found: Evidence, nodes: Any) -> bool:
    return any(found.graph.describe(node)[0] == "tensor" for node in nodes)
