"""What the prompt says of the steps that it ran."""

from __future__ import annotations

import pytest

from gradlife.model.hunt import Amounts, Round
from gradlife.reports.heap.session import has_added


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (Amounts(), False),
        (Amounts(objects=-3.0), False),
        (Amounts(objects=6.0), False),
        (Amounts(objects=7.0), True),
        (Amounts(tensors=1.0), True),
        (Amounts(graph_nodes=1.0), True),
        (Amounts(bytes=4.0), True),
    ],
    ids=str,
)
def test_steps_added_nothing_if_only_a_cache_got_an_entry(added: Amounts, expected: bool) -> None:
    assert has_added(Round(7, added)) is expected
