"""Every row of the table of expectations has a program that needs it, and a look-alike that is still a leak."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from expected_programs import PROGRAMS  # noqa: E402
from gradlife.hunting.findings.severity import Room, graded  # noqa: E402
from gradlife.model.hunt import Severity  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402

#: Bytes of memory that the programs may still use.
FREE = 1 << 33


@pytest.mark.whole
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_judged_as_the_table_says(name: str) -> None:
    make, row = PROGRAMS[name]
    step = make()  # a queue is asked for its size while it lives
    found, expected = judged(evidence(step, 5, 7, 11, 13, 17), FREE)
    rows = {one.kind for one in expected} | {one.expectation for one in found if one.expectation}
    leaks = [one for one in graded(found, Room(FREE, 1e6)) if one.severity is not Severity.NOTE]
    assert (rows, bool(leaks)) == (({row}, False) if row else (set(), True))
