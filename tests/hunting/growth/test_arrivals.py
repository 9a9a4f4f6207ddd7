"""When what comes now and then counts as growth."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gradlife.hunting.growth.arrivals import has_arrivals
from gradlife.hunting.growth.reachable_growth import Evidence


@dataclass
class Boundary:
    steps: int


def evidence(*steps: int) -> Evidence:
    """Snapshots after so many steps each, of which all rounds are judged."""
    snapshots = [Boundary(count) for count in steps]
    return Evidence(snapshots, {}, rounds=len(snapshots) - 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("added", "is_growth"),
    [
        ((0, 1, 0, 1, 1, 1), True),  # now and then, to the end
        ((1, 1, 1, 1, 1, 1), True),
        ((0, 0, 0, 1, 1, 1), False),  # too seldom
        ((1, 1, 1, 1, 0, 0), False),  # it has stopped
        ((1, 1, -1, 1, 1, 1), False),  # some of it goes
        ((8, 4, 2, 1, 1, 1), False),  # a cache that fills
        ((1, 1, 1), False),  # the place was not there at every snapshot
    ],
)
def test_arrivals_are_separate_and_go_on(added: tuple[int, ...], is_growth: bool) -> None:
    assert has_arrivals(added, evidence(0, 10, 20, 30, 40, 50, 60)) is is_growth
