"""Values that other workers have RRefs to: their number beside that of objects without a known holder."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gradlife.hunting.snapshots.remote_references import are_owned, owned_now


@pytest.mark.parametrize(
    ("counts", "new", "owned"),
    [
        ((10, 20, 30), 20, True),
        ((10, 20, 30), 40, True),  # values of two tensors
        ((10, 20, 30), 15, False),
        ((10, 20, 20), 20, False),  # in one round none was added
        ((0, 0, 0), 20, False),
        ((), 20, False),
    ],
)
def test_objects_are_such_values_if_each_round_added_as_many(counts: Sequence[int], new: int, owned: bool) -> None:
    assert are_owned(counts, new) is owned


def test_a_program_without_rpc_owns_none() -> None:
    assert owned_now() == 0
