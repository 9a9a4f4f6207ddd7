"""The types that a holder retains."""

from __future__ import annotations

import functools
from typing import Any

from gradlife.heap import snapshot
from gradlife.hunting.snapshots.retained_types import MAX_TYPES, added_up, types_of, types_retained
from gradlife.model.heap import TypeCount


class Crate:
    def __init__(self, count: int) -> None:
        self.apples = [bytearray(1000) for _ in range(count)]
        self.shared = SHARED


SHARED = [bytearray(5000)]
CRATE = Crate(40)
MIXED: Any = [type(f"Kind{number}", (bytearray,), {})(number * 100) for number in range(MAX_TYPES + 3)]


@functools.cache
def graph() -> Any:
    return snapshot()._graph


def node_of(value: object) -> int:
    node = graph().find(id(value))
    assert node is not None
    return int(node)


def test_types_are_reported_with_their_bytes_and_what_is_shared_is_not_among_them() -> None:
    rows = {row.type.rpartition(".")[2]: row for row in types_retained(graph(), [node_of(CRATE)])}
    assert rows["bytearray"].count == 40
    assert 40_000 < rows["bytearray"].bytes < 45_000
    assert rows["list"].count == rows["Crate"].count == 1


def test_they_come_to_what_is_retained() -> None:
    rows = types_retained(graph(), [node_of(CRATE)])
    assert sum(row.bytes for row in rows) == graph().retained(node_of(CRATE))
    assert [row.bytes for row in rows] == sorted((row.bytes for row in rows), reverse=True)


def test_several_holders_are_reported_together() -> None:
    one, other = (types_retained(graph(), [node_of(CRATE.apples[number])]) for number in (0, 1))
    both = types_retained(graph(), [node_of(CRATE.apples[0]), node_of(CRATE.apples[1])])
    assert both == (TypeCount("bytearray", "python", 2, one[0].bytes + other[0].bytes),)


def test_what_is_beyond_the_limit_is_not_distinguished() -> None:
    rows = types_retained(graph(), [node_of(CRATE)], most=5)
    assert sum(row.count for row in rows) == 5
    assert sum(row.bytes for row in rows) == graph().retained(node_of(CRATE))
    assert (rows[-1].type, rows[-1].count) == ("not examined", 0)


def test_of_many_types_those_that_take_least_are_one() -> None:
    rows = types_of(graph(), [node_of(one) for one in MIXED])
    assert len(rows) == MAX_TYPES + 1
    assert (rows[-1].type, rows[-1].count) == ("other types", 3)
    assert rows[0].type.endswith(f"Kind{MAX_TYPES + 2}")


def test_rows_of_one_type_are_added_up() -> None:
    rows = [TypeCount("a", "python", 1, 10), TypeCount("b", "python", 2, 15), TypeCount("a", "python", 3, 20)]
    assert added_up(rows) == (TypeCount("a", "python", 4, 30), TypeCount("b", "python", 2, 15))
