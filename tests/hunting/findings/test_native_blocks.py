"""Blocks of native code beside the tensors that it holds, with made-up figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from fabricated_hunts import LOSSES
from gradlife.hunting.findings.builder import with_native_blocks
from gradlife.model.hunt import Amounts, Finding, FindingKind, Round


def growing(kind: FindingKind, nbytes: float) -> Finding:
    return replace(LOSSES, kind=kind, per_step=Amounts(bytes=nbytes, retained_bytes=nbytes))


def malloc(*rates: float | None) -> tuple[Round, ...]:
    return tuple(Round(29, Amounts(), rate) for rate in rates)


def rates(*findings: Finding, rounds: tuple[Round, ...]) -> list[float]:
    return [one.per_step.retained_bytes for one in with_native_blocks(findings, rounds)]


NATIVE, SMALL = growing(FindingKind.NATIVE, 17_000), growing(FindingKind.NATIVE, 3_000)


def test_what_malloc_gives_out_beside_all_findings_is_a_part_of_the_largest_that_native_code_holds() -> None:
    others = (SMALL, growing(FindingKind.GROWTH, 10_000), growing(FindingKind.NEEDS_GC, 50_000))
    assert rates(NATIVE, *others, rounds=malloc(115_000, 116_000, 115_000)) == [102_000, 3_000, 10_000, 50_000]


@pytest.mark.parametrize(
    "rounds",
    [malloc(115_000, 50_000, 115_000), malloc(115_000, None, 115_000), malloc(115_000, 115_000), malloc(1, 1, 1)],
)
def test_what_is_not_the_same_in_each_round_is_nobodys(rounds: tuple[Round, ...]) -> None:
    assert rates(NATIVE, rounds=rounds) == [17_000]


def test_blocks_belong_to_no_finding_that_python_holds() -> None:
    assert rates(growing(FindingKind.GROWTH, 1_000), rounds=malloc(115_000, 115_000, 115_000)) == [1_000]


def test_a_rate_never_gets_less() -> None:
    assert rates(NATIVE, rounds=malloc(9_000, 9_000, 9_000)) == [17_000]
