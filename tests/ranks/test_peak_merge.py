"""Peaks of ranks are merged into one report: that of the worst rank, a row for each, and what differs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricated_peaks import PICTURED, REPORT
from gradlife.errors import UsageError
from gradlife.model.peak import codec
from gradlife.model.peak.report import Band, Owner, PeakReport, Picture, Place
from gradlife.model.ranks import RankEnd, Skew, Spread
from gradlife.ranks.peak_merge import RankPeak, merge_peaks
from gradlife.reports.formats.markdown.document import markdown_of
from gradlife.reports.html.document import page_of
from gradlife.reports.peak.terminal import print_peak
from printing import printed


def left(rank: int, report: PeakReport | None, **values: Any) -> RankPeak:
    """The peak of a rank that ended well."""
    return RankPeak(rank, **{"report": report, "status": 0, **values})


def peak_with(logits: int, line: int = 15) -> PeakReport:
    """A peak at which the logits of a line have this many bytes, and the parameters ten million."""
    bands = (
        Band(Owner.PARAMETER, Place(), "", (10_000_000,), 4, -1, 0, 0, None),
        Band(Owner.NAMED, Place("/home/me/train.py", line), "head", (logits,), 1, 0, 0, 0, 1),
    )
    return replace(PICTURED, peak_bytes=10_000_000 + logits, picture=Picture((0,), (), bands, 0))


BOTH = merge_peaks("train.py", [left(0, peak_with(2_000_000)), left(1, peak_with(30_000_000))])


def test_the_report_is_that_of_the_rank_with_the_highest_peak() -> None:
    assert (BOTH.worst_rank, BOTH.world_size, BOTH.peak_bytes, BOTH.savings) == (1, 2, 40_000_000, REPORT.savings)
    assert [(row.ranks, row.peak, row.owner) for row in BOTH.ranks] == [
        ("0", Spread(12_000_000, 12_000_000), "saved activations"),
        ("1", Spread(40_000_000, 40_000_000), "saved activations"),
    ]


def test_skew_names_the_line_whose_storages_make_the_difference() -> None:
    name = "outputs held by names of train.py:15 in head"
    reason = f"{name}: more than on the other ranks"
    assert BOTH.skew == (Skew("peak", "1", 1, 40_000_000, 12_000_000, reason, "", name, 30_000_000, 2_000_000),)


def test_skew_of_peaks_without_lines_names_the_kind_of_owner() -> None:
    low = replace(REPORT, peak_bytes=71_013_460, owners=REPORT.owners[1:])
    [skew] = merge_peaks("train.py", [left(0, low), left(1, REPORT)]).skew
    assert (skew.owner, skew.reason) == ("saved activations", "saved activations: not on the other ranks")


def test_ranks_with_nearly_the_same_peak_have_no_skew() -> None:
    ranks = [left(rank, peak_with(30_000_000 + 1000 * rank)) for rank in range(4)]
    assert merge_peaks("train.py", ranks).skew == ()


def test_of_many_ranks_those_that_agree_share_a_row() -> None:
    report = merge_peaks("train.py", [left(rank, peak_with(70_000_000 if rank == 7 else 100)) for rank in range(512)])
    assert [(row.ranks, row.count) for row in report.ranks] == [("0-6,8-511", 511), ("7", 1)]


def test_the_exit_status_is_that_of_the_worst_share_on_any_rank() -> None:
    clean = replace(REPORT, uses={})
    report = merge_peaks("train.py", [left(0, clean), left(1, REPORT)])
    assert (report.exit_status, replace(report, fail_on=5.0).exit_status) == (0, 1)


def test_a_rank_that_died_is_named_and_the_run_cannot_tell() -> None:
    killed = left(1, None, end=RankEnd.KILLED, status=137, trouble="killed by signal 9")
    report = merge_peaks("train.py", [left(0, REPORT), killed], world_size=3)
    assert report.trouble == "rank 1 was killed by signal 9, before its first report; rank 2 left no files"
    assert (report.exit_status, report.script_status) == (3, 137)


def test_ranks_without_a_step_say_so_together() -> None:
    none = replace(REPORT, peak_bytes=0, trouble="no step was seen")
    report = merge_peaks("train.py", [left(0, none), left(1, none)])
    assert (report.trouble, report.exit_status) == ("ranks 0-1 without a peak: no step was seen", 3)


def test_a_run_in_which_no_rank_left_a_report_names_its_target() -> None:
    assert merge_peaks("train.py", [left(0, None, end=RankEnd.LOST, status=None)]).target == "train.py"
    with pytest.raises(UsageError, match="there is no report of any rank"):
        merge_peaks("train.py", [])


def test_the_json_of_one_process_has_no_key_of_ranks_and_that_of_several_comes_back() -> None:
    assert not {"ranks", "world_size", "worst_rank", "skew"} & codec.encode(REPORT).keys()
    document = codec.encode(BOTH)
    assert (document["format"], document["world_size"], len(document["ranks"])) == ("gradlife.peak/1", 2, 2)
    assert codec.loads(codec.dumps(BOTH)) == BOTH


def test_the_first_screen_has_the_peak_of_each_rank() -> None:
    lines = printed(lambda console: print_peak(console, BOTH), 100).splitlines()
    assert lines[0].startswith("drag  train.py: rank 1 of 2, peak of 40 MB on cpu: ")
    assert "   peaks: rank 0 12 MB · rank 1 40 MB" in lines
    assert "   rank 1 is 28 MB higher: outputs held by names of train.py:15 in head, 30 MB (usual 2 MB)" in lines


def test_every_format_has_a_row_for_each_rank() -> None:
    full = printed(lambda console: print_peak(console, BOTH, in_full=True), 100)
    assert "  0     12 MB" in full
    assert "| 0 | 12 MB |" in markdown_of(BOTH)
    page = page_of(BOTH)
    assert "The peak by rank" in page
    assert "All else in this report is of rank 1" in page
