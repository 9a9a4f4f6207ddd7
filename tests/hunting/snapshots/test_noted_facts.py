"""What a judge asks of an earlier snapshot is found once, for the copies that follow."""

from __future__ import annotations

import sys

import pytest

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.noted_facts import (
    Identity,
    identity_of,
    item_count,
)
from gradlife.hunting.snapshots.step_snapshots import take_snapshot

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no forked copies")


def test_what_judges_ask_of_an_earlier_snapshot_is_found_once() -> None:
    kept = [[1.0], [2.0]]
    snapshot = take_snapshot(0)

    def asked() -> tuple[object, ...]:
        one = identity_of(snapshot.graph, snapshot.graph.find(id(kept)) or 0)
        return one, item_count(snapshot, one)

    one, items = in_fork(asked)
    assert isinstance(one, Identity)
    assert items == 2

    def asked_again() -> tuple[object, ...]:
        return item_count(snapshot, one), snapshot.opened

    assert in_fork(asked_again) == (items, None)
    assert item_count(snapshot, one._replace(type="tuple")) is None
