from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, CYCLE, LEAKING, LOSSES, WAITING, hunt, rounds
from gradlife.model.fix_verification import verify
from gradlife.model.hunt import STRICT, Amounts, Finding, FindingKind, HuntReport, Severity
from gradlife.reports.hunt.verification import print_verification
from printing import printed


def text(before: HuntReport, after: HuntReport) -> list[str]:
    return printed(lambda console: print_verification(console, verify(before, after)), 120).splitlines()


def test_a_leak_that_is_gone_is_fixed() -> None:
    assert text(LEAKING, CLEAN) == [
        "fix check  rates of 3 rounds before, 3 after",
        "  ✔ GL402  A list of losses keeps the graph of each: +1 tensor and 65.5 kB → nothing a step",
        "fixed: 1 leak is gone",
    ]
    assert verify(LEAKING, CLEAN).exit_status == 0


def test_a_leak_that_is_slower_is_not_fixed() -> None:
    slower = replace(LOSSES, per_step=Amounts(tensors=1, storages=1, bytes=512), retained_bytes=9)
    found = verify(hunt(LOSSES, CYCLE), hunt(slower))
    assert (found.exit_status, [change.is_gone for change in found.changes]) == (1, [False, True])
    assert text(hunt(LOSSES, CYCLE), hunt(slower))[-1] == "NOT FIXED: 1 of 2 leaks left, 0 new"


def test_the_same_leak_is_known_again_without_a_fingerprint_and_at_another_index() -> None:
    moved = replace(
        LOSSES.trace, steps=tuple(replace(one, via=one.via.replace("17", "3")) for one in LOSSES.trace.steps)
    )
    bare, other = replace(LOSSES, fingerprint=""), replace(LOSSES, fingerprint="", trace=moved)
    assert [change.is_gone for change in verify(hunt(bare), hunt(other)).changes] == [False]


def at(module: str, fingerprint: str) -> Finding:
    """A leak that begins at a module. The old fingerprint is that of every such path."""
    steps = (replace(LOSSES.trace.steps[0], type="module", detail=module), *LOSSES.trace.steps[1:])
    return replace(
        LOSSES, trace=replace(LOSSES.trace, steps=steps), fingerprint=fingerprint, legacy_fingerprint="place"
    )


def test_other_objects_in_the_same_place_are_the_rest_of_the_leak() -> None:
    """A fix that detaches what a list keeps changes the code, and so the fingerprint."""
    [change] = verify(hunt(at("train", "graphs")), hunt(at("train", "numbers"))).changes
    assert not change.is_gone
    found = verify(hunt(at("train", "graphs")), hunt(at("model", "numbers")))
    assert (found.changes[0].is_gone, len(found.new)) == (True, 1)


def test_the_same_fingerprint_goes_before_the_same_place() -> None:
    one, other = at("train", "one"), at("train", "other")
    found = verify(hunt(one, other), hunt(other))
    assert [change.is_gone for change in found.changes] == [True, False]


def test_a_report_of_an_earlier_version_is_matched_by_its_fingerprint() -> None:
    old = replace(LOSSES, fingerprint="place")
    assert [change.is_gone for change in verify(hunt(old), hunt(at("train", "now"))).changes] == [False]


def test_a_leak_that_was_not_there_is_new() -> None:
    lines = text(LEAKING, hunt(CYCLE))
    assert lines[2] == "  not there before:"
    assert lines[-1] == "NOT FIXED: 0 of 1 leak left, 1 new"


def test_one_round_is_no_rate() -> None:
    short = replace(CLEAN, rounds=rounds(Amounts(), 7))
    found = verify(LEAKING, short)
    assert (found.exit_status, found.trouble) == (3, "the hunt after the fix has 1 rounds: a rate needs 2")
    assert verify(LEAKING, hunt(rounds=())).trouble == "the hunt after the fix was inconclusive"


def test_nothing_before_and_nothing_after() -> None:
    assert text(CLEAN, CLEAN)[-1] == "fixed: nothing leaked, and nothing does"


KEPT = replace(LOSSES, kind=FindingKind.RETAINED, severity=Severity.NOTE, per_step=Amounts(), fingerprint="note")
ROWS = replace(LOSSES, severity=Severity.MINOR, fingerprint="rows")


@pytest.mark.parametrize("one", [KEPT, ROWS, WAITING], ids=["a note", "a minor leak", "waits for the collector"])
def test_what_does_not_fail_a_hunt_does_not_fail_a_fix(one: Finding) -> None:
    """A fixed program was "NOT FIXED" with exit status 1 because of a note."""
    found = verify(hunt(LOSSES, one), hunt(one))
    assert (found.exit_status, [change.is_gone for change in found.changes]) == (0, [True, False])
    assert text(hunt(LOSSES, one), hunt(one))[-1] == "fixed: 1 leak is gone; 1 finding is not counted (see --fail-on)"
    assert (found := verify(LEAKING, hunt(one))).exit_status == 0
    assert (found.new, found.minor) == ((), (one,))


def test_the_severity_that_fails_a_hunt_decides() -> None:
    strict = replace(hunt(ROWS), fail_on=Severity.MINOR)
    assert verify(hunt(LOSSES, ROWS), strict).exit_status == 1
    assert verify(LEAKING, hunt(WAITING, settings={STRICT: "1"})).exit_status == 1


def test_growth_without_a_known_cause_that_is_gone_is_fixed() -> None:
    """The answer was "could not tell": the first hunt had no verdict."""
    grows = hunt(rounds=rounds(Amounts(tensors=6), 5, 7, 11))
    assert text(grows, CLEAN)[-1] == "fixed: what grew is gone"
    assert verify(grows, CLEAN).exit_status == 0
    assert (verify(grows, grows).exit_status, verify(CLEAN, grows).exit_status) == (3, 3)
