"""Entries that the state of an optimizer gets late."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth.arrivals import arrived  # noqa: E402
from gradlife.hunting.growth.reachable_growth import grown_groups  # noqa: E402
from gradlife.hunting.session.judgement import split_by_intent  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from step_evidence import evidence, has_tensors  # noqa: E402


def judged(is_new: bool, period: int) -> tuple[bool, list[str]]:
    """Whether a leak is found if an optimizer gets another layer now and then, one of the frozen ones or a new one; and
    the kinds of growth that is meant.
    """
    layers = [torch.nn.Linear(8, 8) for _ in range(20)]
    trained: list[Any] = [layers.pop()]
    optimizer = torch.optim.Adam(trained[0].parameters())
    for layer in layers:
        optimizer.add_param_group({"params": list(layer.parameters())})

    def step(number: int) -> None:
        if number % period == 0 and is_new:
            trained.append(torch.nn.Linear(8, 8))
            optimizer.add_param_group({"params": list(trained[-1].parameters())})
        elif number % period == 0:
            trained.append(layers.pop())
        optimizer.zero_grad()
        x = torch.ones(2, 8)
        for layer in trained:
            x = layer(x)
        x.sum().backward()
        optimizer.step()

    found = evidence(step, 5, 7, 8, 9, 10, 11)
    sure, _ = grown_groups(found)
    grown = [*sure, *arrived(found, [one.group for one in sure])]
    mine = [one for one in grown if has_tensors(found, one.group.members)]
    leaks, meant = split_by_intent(found.graph, mine, CreationSites(), None, found.snapshots)
    return bool(leaks), [one.kind for one in meant]


@pytest.mark.whole
@pytest.mark.parametrize("period", [3, 6])
def test_the_state_of_parameters_that_are_unfrozen_late_is_no_leak(period: int) -> None:
    """Gradual unfreezing adds an entry for each parameter of another layer once an epoch."""
    assert judged(is_new=False, period=period) == (False, ["optimizer state"])


@pytest.mark.whole
@pytest.mark.parametrize("period", [3, 6])
def test_the_state_of_ever_more_new_parameters_is_a_leak(period: int) -> None:
    leaks, meant = judged(is_new=True, period=period)
    assert (leaks, meant) == (True, [])
