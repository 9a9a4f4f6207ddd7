"""Fingerprints of the programs of the table of expectations: each leak has its own, also in a run of other lengths."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from expected_programs import PROGRAMS  # noqa: E402
from step_evidence import evidence, judged  # noqa: E402

#: Bytes of memory that the programs may still use.
FREE = 1 << 33


def printed(name: str, *steps: int) -> set[str]:
    """The fingerprints of what a new run of a program leaks."""
    step = PROGRAMS[name][0]()  # a queue is asked for its size while it lives
    return {one.fingerprint for one in judged(evidence(step, *steps), FREE)[0] if not one.expectation}


@pytest.mark.whole
def test_no_two_programs_share_one_and_two_runs_of_a_program_agree() -> None:
    found: dict[str, str] = {}
    for name, (_, row) in PROGRAMS.items():
        if not row:
            marks = printed(name, 5, 7, 11, 13, 17)
            assert marks
            assert (name, marks) == (name, printed(name, 6, 9, 10, 14, 15))
            shared = [found[mark] for mark in marks if mark in found]
            assert (name, shared) == (name, [])
            found.update(dict.fromkeys(marks, name))
