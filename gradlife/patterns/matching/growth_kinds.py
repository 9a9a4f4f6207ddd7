"""Recognize the kind of growth: a larger object, one object for each of many, the state of a metric, items read ahead."""

from __future__ import annotations

from gradlife.model.growth import GrowthKind
from gradlife.patterns.matching.chains import backbone
from gradlife.patterns.matching.pattern import Case


def is_larger(case: Case) -> bool:
    """Whether the held object itself gets larger."""
    return case.growth.kind is GrowthKind.LARGER and is_without_graph(case)


def is_filled(case: Case) -> bool:
    """Whether the object at the end is the container that grows: its new items are text and numbers."""
    return case.growth.kind is GrowthKind.CONTAINER and case.growth.step == len(case.steps) - 1


def is_nested(case: Case) -> bool:
    """Whether several containers in the one that is named get longer together."""
    return case.growth.is_nested


def is_spread(case: Case) -> bool:
    """Whether each of many objects got one."""
    return case.growth.kind is GrowthKind.SPREAD


def is_spread_with_graph(case: Case) -> bool:
    """Whether each of many objects got a result with its graph."""
    return is_spread(case) and case.has_graph


def is_state(case: Case) -> bool:
    """Whether it is the state of a metric, without graphs."""
    return case.growth.is_state and is_without_graph(case)


def is_longer_state(case: Case) -> bool:
    """Whether it is the state of a metric, and a tensor that gets longer."""
    return is_larger(case) and case.growth.is_state


def is_without_graph(case: Case) -> bool:
    """Whether there is no graph on the path or on the kept object."""
    return not case.has_graph and not backbone(case)


def is_of_tee(case: Case) -> bool:
    """Whether an iterator that `itertools.tee` made is on the path."""
    return any(step.type == "itertools._tee" for step in case.steps)
