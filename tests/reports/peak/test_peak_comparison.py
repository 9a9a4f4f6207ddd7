"""A peak against that of an earlier report: how much larger, by which holder, made at which line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_peaks import FORWARD, REPORT
from gradlife.model.peak import codec
from gradlife.model.peak.comparison import compare_peaks, with_comparison
from gradlife.model.peak.report import Cause, Moment, Owner, PeakPart, PeakReport, Place
from gradlife.model.threshold import Threshold, threshold_of
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.peak.terminal import first_screen

MB = 1_000_000
LOGITS = PeakPart("", Owner.TEMPORARY, FORWARD, "logits = self.head(x)", 0, 0, 16 * MB)
HELD = replace(LOGITS, holder="local 'logits' of step (train.py:23)", owner=Owner.NAMED, bytes=16 * MB, storages=1)
SAVED = PeakPart("", Owner.SAVED, replace(FORWARD, module="blocks.*"), "x = block(x)", 84 * MB, 9, 84 * MB)
WEIGHTS = PeakPart("", Owner.PARAMETER, Moment("", Place(), ""), "", 7 * MB, 51, 7 * MB)
FIVE = Threshold(percent=5.0)


def peak(*parts: PeakPart, step_peaks: tuple[int, ...] = (), device: str = "cpu") -> PeakReport:
    total = sum(part.bytes for part in parts)
    return replace(
        REPORT, peak_bytes=total, parts=parts, step_peaks=step_peaks or (total, total), device=device, savings=()
    )


BEFORE, AFTER = peak(SAVED, WEIGHTS, LOGITS), peak(SAVED, WEIGHTS, HELD)


def screen(before: PeakReport, after: PeakReport, threshold: Threshold | None = FIVE) -> list[str]:
    return [line.plain for line in first_screen(with_comparison(after, before, "before.json", threshold))]


def test_a_storage_that_lives_longer_is_named_with_its_line() -> None:
    lines = screen(BEFORE, AFTER)
    assert lines[0] == ("LARGER  train.py: peak of 91 MB to 107 MB on cpu (+16 MB, 17.6 %); 4.55 MB more is allowed")
    assert lines[2] == (
        "   +16 MB  local 'logits' of step (train.py:23), train.py:15 in head: now lives into backward, 16 MB"
    )
    assert with_comparison(AFTER, BEFORE, "before.json", FIVE).exit_status == 1


@pytest.mark.parametrize(
    ("then", "now", "cause"),
    [
        (None, HELD, Cause.NEW),
        (LOGITS, HELD, Cause.LONGER),
        (HELD, replace(HELD, bytes=32 * MB, made_bytes=32 * MB), Cause.LARGER),
        (replace(HELD, bytes=32 * MB, made_bytes=32 * MB), HELD, Cause.SMALLER),
        (HELD, LOGITS, Cause.SHORTER),
        (HELD, None, Cause.GONE),
    ],
)
def test_why_a_part_changed(then: PeakPart | None, now: PeakPart | None, cause: Cause) -> None:
    before, after = peak(SAVED, *filter(None, [then])), peak(SAVED, *filter(None, [now]))
    [change] = compare_peaks(before, after, "before.json", FIVE).changes
    assert (change.cause, change.more_bytes) == (cause, after.peak_bytes - before.peak_bytes)


@pytest.mark.parametrize(
    "edited",
    [
        replace(HELD, born=replace(FORWARD, place=Place("train.py", 99, "main"))),
        replace(HELD, source="logits = head(x)"),
        replace(HELD, holder="local 'logits' of step (train.py:77)"),
    ],
    ids=["the line moved", "the line was changed", "the frame is at another line"],
)
def test_a_part_is_known_again_after_an_edit(edited: PeakPart) -> None:
    assert compare_peaks(AFTER, peak(SAVED, WEIGHTS, edited), "before.json", FIVE).changes == ()


def test_two_equal_statements_of_a_function_are_two_parts() -> None:
    other = replace(HELD, born=replace(FORWARD, place=Place("train.py", 50, "main")), bytes=9 * MB, made_bytes=9 * MB)
    [change] = compare_peaks(peak(HELD, other), peak(other), "before.json", FIVE).changes
    assert (change.cause, change.part.born.place.line) == (Cause.GONE, 15)


@pytest.mark.parametrize(
    ("limit", "status"),
    [("5%", 1), ("17.5%", 1), ("17.6%", 0), ("16MB", 0), ("15.9 MB", 1), ("20 MiB", 0)],
)
def test_larger_within_the_limit_is_no_regression(limit: str, status: int) -> None:
    assert with_comparison(AFTER, BEFORE, "before.json", threshold_of(limit)).exit_status == status


def test_without_a_limit_one_per_cent_is_allowed() -> None:
    more = replace(AFTER, peak_bytes=BEFORE.peak_bytes + 910_000)
    assert with_comparison(more, BEFORE, "before.json", None).exit_status == 0
    assert with_comparison(replace(more, peak_bytes=91_910_001), BEFORE, "before.json", None).exit_status == 1


def test_a_lower_peak_is_no_regression() -> None:
    assert screen(AFTER, BEFORE)[0] == ("no regression  train.py: peak of 107 MB to 91 MB on cpu (-16 MB, 15.0 %)")


def test_an_equal_peak_says_so() -> None:
    assert screen(BEFORE, BEFORE)[0] == "no regression  train.py: peak of 91 MB on cpu, as in before.json"


def test_steps_of_one_run_that_differ_by_as_much_give_no_answer() -> None:
    uneven = replace(BEFORE, step_peaks=(70 * MB, 91 * MB))
    found = with_comparison(AFTER, uneven, "before.json", FIVE)
    assert found.exit_status == 3
    assert screen(uneven, AFTER)[0].endswith("but the steps of one run differ by up to 21 MB")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (peak(HELD, device="cuda:0"), AFTER, "the earlier peak is on cuda:0, this one on cpu"),
        (replace(BEFORE, world_size=8), AFTER, "the earlier run had 8 ranks, this one 1"),
        (PeakReport("a.py", "", trouble="no step was seen"), AFTER, "the earlier run has no peak: no step was seen"),
    ],
)
def test_peaks_that_cannot_be_compared(before: PeakReport, after: PeakReport, words: str) -> None:
    found = with_comparison(after, before, "before.json", FIVE)
    assert found.exit_status == 3
    assert screen(before, after)[0] == f"could not tell  train.py: not compared with before.json: {words}"


def test_another_device_of_the_same_kind_is_compared() -> None:
    found = compare_peaks(peak(HELD, device="cuda:0"), peak(HELD, device="cuda:1"), "before.json", FIVE)
    assert (found.trouble, found.exit_status) == ("", 0)


def test_a_report_of_an_earlier_version_has_sizes_only() -> None:
    found = compare_peaks(replace(BEFORE, parts=(), step_peaks=()), AFTER, "before.json", FIVE)
    assert (found.more_bytes, found.changes, found.exit_status) == (16 * MB, (), 1)


def test_a_comparison_goes_through_json() -> None:
    report = with_comparison(AFTER, BEFORE, "before.json", FIVE)
    assert codec.loads(codec.dumps(report)) == report


def test_markdown_begins_with_what_is_larger() -> None:
    lines = markdown_of(with_comparison(AFTER, BEFORE, "before.json", FIVE)).splitlines()
    assert lines[0] == "## gradlife peak: LARGER in `train.py`"
    assert lines[2] == "peak of 91 MB to 107 MB on cpu (+16 MB, 17.6 %); 4.55 MB more is allowed."
    assert (
        "- +16 MB: local 'logits' of step (train.py:23), train.py:15 in head: now lives into backward, 16 MB" in lines
    )


@pytest.mark.parametrize("text", ["", "5 x", "-5%", "101%", "5%%", "nan", "GB", "1e9"])
def test_what_is_no_threshold(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        threshold_of(text)
