"""Containers that one statement fills are one finding: the lists of a dict. With made-up figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")

from fabricated_hunts import LOSSES, step
from gradlife.hunting.findings.causes import GrowingGroup, one_per_cause
from gradlife.model.hunt import Amounts, Confidence, Finding, StoredAt
from gradlife.model.trace import Hop, PathStep

LINE = StoredAt("train.py", 8, "buckets[key].append(x)", "", Confidence.SURE)


def through(kind: str, name: str, label: str = "", index: int = -1) -> PathStep:
    """A step that refers to the next by an item, or by the name of a variable or an attribute."""
    hop = Hop("", "item" if index >= 0 else "dict_value", label, index)
    return replace(step(kind, name), hops=(hop,))


def growing(variable: str, nbytes: float, *, at: int, stored: StoredAt | None = LINE) -> Finding:
    """The growth of a dict, or of a list in it."""
    steps = (
        through("module __main__", f"global variable '{variable}'", variable),
        replace(through("dict len 4", "[3]", "3"), length=4),
        replace(through("list len 9", "[7]", index=7), length=9),
        step("Tensor float32 []", ""),
    )
    trace = replace(LOSSES.trace, steps=steps)
    return replace(LOSSES, trace=trace, per_step=Amounts(bytes=nbytes), grows_at=at, stored_at=stored)


def causes(*findings: Finding) -> list[Finding]:
    no_graph: Any = None  # only hooks are looked up in it
    return one_per_cause(no_graph, [GrowingGroup(no_graph, one) for one in findings])


def test_lists_of_a_dict_that_one_line_fills_are_one_finding_that_leads_with_the_dict() -> None:
    (one,) = causes(growing("buckets", 300, at=2), growing("buckets", 20, at=1), growing("buckets", 100, at=2))
    assert (one.grows_at, one.per_step.bytes, one.consequences) == (1, 420, 2)


def test_of_lists_that_grow_alike_the_fastest_leads() -> None:
    (one,) = causes(growing("buckets", 100, at=2), growing("buckets", 300, at=2))
    assert (one.per_step.bytes, one.trace.steps[0].via, one.consequences) == (400, "global variable 'buckets'", 1)


def part_of(layer: int, code: str = "GL615", variable: str = "net") -> Finding:
    """The growth of a module list of one layer. The line that fills it is not known."""
    steps = (
        through("module", f"global variable '{variable}'", variable),
        through("Sequential", f"[{layer}]", f"'{layer}'"),
        through("Steps", f".steps[{layer}]", index=layer),
        step("Tensor", ""),
    )
    found = growing("net", 100, at=3, stored=None)
    return replace(found, diagnosis=replace(found.diagnosis, code=code), trace=replace(LOSSES.trace, steps=steps))


def test_places_that_differ_in_a_number_alone_are_one_finding() -> None:
    """A module registered in each layer, and the list of each thread, were shown twice in the same words."""
    (one,) = causes(part_of(0), part_of(12))
    assert (one.per_step.bytes, one.consequences) == (200, 1)
    assert len(causes(part_of(0), part_of(12, "GL512"))) == 2
    assert len(causes(part_of(0, variable="net_1"), part_of(0, variable="net_2"))) == 2


@pytest.mark.parametrize(
    "other",
    [
        growing("losses", 100, at=2),
        growing("buckets", 100, at=2, stored=replace(LINE, line=9)),
        growing("buckets", 100, at=2, stored=None),
    ],
    ids=["another variable", "another line", "no line"],
)
def test_growth_in_another_place_or_of_another_line_is_another_finding(other: Finding) -> None:
    assert len(causes(growing("buckets", 300, at=2), other)) == 2


def test_two_kinds_of_growth_in_what_one_statement_fills_are_one_finding() -> None:
    """A list of models was two: its models, and its items."""
    models = replace(growing("kept", 300, at=2), grows_at=None)
    (one,) = causes(models, growing("kept", 20, at=1))
    assert (one.grows_at, one.consequences) == (None, 1)
