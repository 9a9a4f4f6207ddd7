"""Stray objects in runs of few rounds: an object that native code holds may stand where another one stood."""

from __future__ import annotations

import pytest

from gradlife.hunting.findings.diagnosis import finding
from gradlife.hunting.session.judgement import without_strays
from gradlife.model.hunt import Amounts, Finding, FindingKind, Round
from gradlife.model.trace import Ledger, Lifetime, Trace

PLAIN, TENSORS, NODES = Amounts(objects=2.0), Amounts(objects=1.0, tensors=1.0, storages=1.0), Amounts(graph_nodes=1.0)


def unheld(rate: Amounts, kind: FindingKind = FindingKind.NATIVE) -> Finding:
    """Objects that no other object holds."""
    trace = Trace("tuple", "len 1", Lifetime.NEVER, (), (), Ledger(1, ()))
    return finding(kind, Lifetime.NEVER, trace, rate, survivors=12, retained_bytes=600)


def rounds(count: int) -> tuple[Round, ...]:
    """So many rounds of six steps."""
    return (Round(6, Amounts(objects=12.0)),) * count


def test_fewer_than_three_rounds_leave_out_stray_plain_objects() -> None:
    stray = unheld(PLAIN)
    assert stray.code == "GL801"
    assert without_strays([stray], rounds(2)) == []
    assert without_strays([stray], rounds(3)) == [stray]


@pytest.mark.parametrize("rate", [TENSORS, NODES], ids=["tensors", "nodes"])
def test_two_rounds_are_enough_for_torch_objects(rate: Amounts) -> None:
    leak = unheld(rate)
    assert without_strays([leak], rounds(2)) == [leak]


def test_two_rounds_are_enough_for_growth_that_is_held() -> None:
    leak = unheld(PLAIN, FindingKind.GROWTH)
    assert without_strays([leak, unheld(PLAIN)], rounds(2)) == [leak]
