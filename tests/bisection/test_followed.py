"""The finding that a bisection follows: the one that BAD has and GOOD has not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import CLEAN, CYCLE, LEAKING, LOSSES, hunt
from gradlife.bisection.bisect import bisect
from gradlife.bisection.followed import Hunted, follow
from gradlife.errors import GradlifeError, UsageError
from gradlife.model.bisection import Bisected, Candidate, Judged, Outcome
from gradlife.model.hunt import HuntReport

GOOD, BAD = Candidate("aaaa", "a" * 40, "Begin"), Candidate("bbbb", "b" * 40, "Change")
OTHER = replace(LOSSES, fingerprint="0badcafe")
INCONCLUSIVE = hunt(rounds=())


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (Hunted(CLEAN), Hunted(CLEAN), "bbbb is good: it has no finding that fails a hunt (try: another bad end)"),
        (
            Hunted(LEAKING),
            Hunted(LEAKING),
            "aaaa is bad already: it has GL402 A list of losses keeps the graph of each [7c1e09ab]"
            " (try: an earlier good end)",
        ),
    ],
)
def test_ends_that_are_no_ends(good: Hunted, bad: Hunted, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        follow(GOOD, good, BAD, bad)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (
            Hunted(trouble="No module named x"),
            Hunted(LEAKING),
            "could not tell at aaaa, the good end: No module named x",
        ),
        (Hunted(CLEAN), Hunted(), "could not tell at bbbb, the bad end: the hunt left no report"),
        (Hunted(INCONCLUSIVE), Hunted(LEAKING), "could not tell at aaaa, the good end: the hunt was inconclusive"),
        (
            Hunted(replace(CLEAN, script_status=1), "ValueError: no"),
            Hunted(LEAKING),
            "could not tell at aaaa, the good end: the program ended with status 1: ValueError: no",
        ),
    ],
)
def test_ends_that_cannot_be_judged(good: Hunted, bad: Hunted, words: str) -> None:
    with pytest.raises(GradlifeError) as caught:
        follow(GOOD, good, BAD, bad)
    assert (caught.value.message, caught.value.exit_status) == (words, 3)


def test_of_several_new_findings_one_is_to_be_named() -> None:
    with pytest.raises(
        UsageError, match=r"2 findings are new at bbbb: .*\[7c1e09ab\], .*\(try: --fingerprint 7c1e09ab\)"
    ):
        follow(GOOD, Hunted(CLEAN), BAD, Hunted(hunt(LOSSES, CYCLE)))
    assert follow(GOOD, Hunted(CLEAN), BAD, Hunted(hunt(LOSSES, OTHER)), "0badca").finding == OTHER


def test_a_known_finding_is_not_followed() -> None:
    assert follow(GOOD, Hunted(hunt(LOSSES)), BAD, Hunted(hunt(LOSSES, CYCLE))).finding == CYCLE


def test_a_fingerprint_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="bbbb is good: it has no finding with the fingerprint 123456, but GL402"):
        follow(GOOD, Hunted(CLEAN), BAD, Hunted(LEAKING), "123456")


def test_a_program_that_fails_with_the_finding_has_it() -> None:
    followed = follow(GOOD, Hunted(CLEAN), BAD, Hunted(LEAKING))
    assert followed.outcome(Hunted(replace(LEAKING, script_status=1))) is Outcome.BAD
    assert followed.outcome(Hunted(replace(CLEAN, script_status=1))) is Outcome.SKIPPED
    assert followed.outcome(Hunted(hunt(CYCLE))) is Outcome.GOOD


def bisected(*reports: HuntReport | None) -> tuple[Bisected, list[Judged]]:
    """Bisect a row after a good one."""
    row = [Candidate(str(number), str(number)) for number in range(len(reports))]
    seen: list[Judged] = []

    def hunted(one: Candidate) -> Hunted:
        return Hunted(CLEAN) if one == GOOD else Hunted(reports[int(one.key)], "it does not compile")

    return bisect(GOOD, row, hunted, seen.append), seen


def test_the_first_with_the_finding_is_found() -> None:
    result, seen = bisected(CLEAN, CLEAN, LEAKING, LEAKING)
    assert ([one.name for one in result.suspects], result.is_certain) == (["2"], True)
    assert [(one.candidate.name, one.outcome.value) for one in seen] == [
        ("3", "BAD"),
        ("aaaa", "good"),
        ("1", "good"),
        ("2", "BAD"),
    ]


def test_one_that_does_not_run_is_skipped_and_may_be_the_first() -> None:
    result, seen = bisected(CLEAN, None, LEAKING)
    assert ([one.name for one in result.suspects], result.is_certain) == (["1", "2"], False)
    assert [one.why for one in seen if one.outcome is Outcome.SKIPPED] == ["it does not compile"]
