"""What a judge asks of an earlier snapshot is found once, for the copies that follow."""

from __future__ import annotations

import sys

import pytest

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.noted_facts import (
    Identity,
    identity_of,
    level_by_type,
    reference_count,
    retained_bytes,
)
from gradlife.hunting.snapshots.step_snapshots import take_snapshot

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no forked copies")


def test_what_judges_ask_of_an_earlier_snapshot_is_found_once() -> None:
    kept = [[1.0], [2.0]]
    snapshot = take_snapshot(0)

    def asked() -> tuple[object, ...]:
        one = identity_of(snapshot.graph, snapshot.graph.find(id(kept)) or 0)
        return one, reference_count(snapshot, one), retained_bytes(snapshot, one), level_by_type(snapshot)[one[:2]] > 1

    one, references, nbytes, has_lists = in_fork(asked)
    assert isinstance(one, Identity)
    assert (references, has_lists) == (2, True)

    def asked_again() -> tuple[object, ...]:
        found = reference_count(snapshot, one), retained_bytes(snapshot, one), level_by_type(snapshot)[one[:2]] > 1
        return *found, snapshot.opened

    assert in_fork(asked_again) == (references, nbytes, has_lists, None)
    assert reference_count(snapshot, one._replace(type="tuple")) is None
