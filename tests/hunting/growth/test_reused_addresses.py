"""Graphs that stand where freed ones stood: a larger one in each step, or a part of it from each round."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth.arrivals import arrived  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, grown_groups  # noqa: E402
from gradlife.model.growth import GrowthKind  # noqa: E402
from step_evidence import evidence  # noqa: E402

pytestmark = pytest.mark.whole


class Run:
    """A record of a run: plain numbers, and the last result with its graph."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.result: Any = None


def growth(found: Evidence) -> list[GrownGroup]:
    """Return all that grows, in each round or now and then."""
    sure, _ = grown_groups(found)
    return [*sure, *arrived(found, [one.group for one in sure])]


def passed_on(value: Any, times: int) -> Any:
    """Apply operations whose nodes keep a tensor each."""
    for _ in range(times):
        value = value.sin()
    return value


def test_a_graph_that_gets_larger_where_the_last_one_stood_is_no_chain() -> None:
    """Of its nodes, those at new addresses are from all rounds, and the heap has more of them after each."""
    run, leaf = Run(), torch.ones(2, requires_grad=True)

    def step(number: int) -> None:
        run.losses.append(float(number))
        run.result = None
        run.result = passed_on(leaf, 4 + 2 * number)

    assert growth(evidence(step, 7, 7, 7, 7, 7, 7)) == []


def test_a_chain_beside_it_is_found() -> None:
    run, leaf = Run(), torch.ones(2, requires_grad=True)
    run.state = leaf  # type: ignore[attr-defined]

    def step(number: int) -> None:
        run.losses.append(float(number))
        run.result = None
        run.result = passed_on(leaf, 4 + 2 * number)
        run.state = passed_on(run.state, 3)  # type: ignore[attr-defined]

    found = evidence(step, 7, 7, 7, 7, 7, 7)
    [chain] = growth(found)
    assert chain.kind is GrowthKind.CHAIN
    assert chain.per_step.graph_nodes == 3.0
    assert len([node for node in chain.group.members if found.graph.kind(node) == "grad_node"]) >= 3 * 35
