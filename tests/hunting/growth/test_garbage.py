"""Findings about garbage that waits for the collector."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fabricated_hunts import LOSSES
from gradlife.hunting.findings import builder
from gradlife.hunting.growth.garbage import is_lost
from gradlife.hunting.growth.groups import Group
from gradlife.model.hunt import Amounts


def test_islands_of_one_fingerprint_are_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = {
        1: replace(LOSSES, fingerprint="a", per_step=Amounts(3.0, 1.0), survivors=2, retained_bytes=8),
        2: replace(LOSSES, fingerprint="b", per_step=Amounts(1.0, 1.0), survivors=1, retained_bytes=1),
        3: replace(LOSSES, fingerprint="a", per_step=Amounts(2.0, 0.5), survivors=1, retained_bytes=4),
    }
    monkeypatch.setattr(builder, "garbage_finding", lambda graph, group, steps, noted: known[group])
    garbage: Any = SimpleNamespace(graph=None, groups=(1, 2, 3), steps=5, threshold=0)
    noted: Any = None
    whole, other = builder.garbage_findings(garbage, noted)
    assert (whole.per_step, whole.survivors, whole.retained_bytes) == (Amounts(5.0, 1.5), 3, 12)
    assert other == known[2]


def test_the_line_of_garbage_is_that_of_its_cycle_before_that_of_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.jit.script` in a loop was reported at the line before it, which makes the tensor that the cycle holds."""
    monkeypatch.setattr(builder, "cycle_members", lambda graph, members: {3, 2})
    monkeypatch.setattr(builder, "creation_candidates", lambda graph, group, node: iter([[node], [7]]))
    graph, group = cast(Any, None), Group(None, [1], {2: 1, 3: 1, 7: 1})
    assert [*builder.garbage_candidates(graph, group, 7)] == [[], [2, 3], [7], [7]]
    assert [*builder.garbage_candidates(graph, group, 2)] == [[2], [2, 3], [2], [7]]


@pytest.mark.parametrize(
    ("is_uncollected", "islands", "size", "is_leak"),
    [(True, 5, 600, True), (True, 5, 400, False), (True, 1, 5_000, False), (False, 5, 5_000, False)],
)
def test_plain_objects_in_cycles_are_lost_if_nothing_collects(
    is_uncollected: bool, islands: int, size: int, is_leak: bool
) -> None:
    graph = SimpleNamespace(describe=lambda node: SimpleNamespace(bytes=size), atom_bytes=lambda node: 0)
    waiting: Any = SimpleNamespace(before=SimpleNamespace(graph=graph), is_uncollected=is_uncollected, steps=5)
    assert is_lost(Group(None, [*range(islands)], {node: node for node in range(5)}), waiting) == is_leak
