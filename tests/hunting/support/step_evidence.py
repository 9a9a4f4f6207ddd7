"""What grows in a function that this process calls step by step, with a snapshot after each round."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradlife import _heap
from gradlife.hunting.findings.holder_path import find_holder_path
from gradlife.hunting.findings.leak_trace import held_trace
from gradlife.hunting.growth.reachable_growth import Evidence, evidence_of, grown_groups
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot, take_snapshot
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


def words(found: Evidence) -> tuple[list[str], int]:
    """The traces of groups with tensors that grow, and how many groups with tensors may."""
    graph = found.graph
    sure, unsure = grown_groups(found)
    mine = [one for one in sure if has_tensors(found, one.group.members)]
    paths = [find_holder_path(graph, one.group, one.containers) for one in mine]
    traces = [sentence(held_trace(graph, path.node, path.nodes)) for path in paths]
    return traces, sum(has_tensors(found, group.members) for group in unsure)


def has_tensors(found: Evidence, nodes: Any) -> bool:
    return any(found.graph.describe(node)[0] == "tensor" for node in nodes)
