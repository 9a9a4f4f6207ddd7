"""Reports of ranks are merged into one: findings by fingerprint, a row for ranks that agree, one verdict, one status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricated_hunts import CLEAN, CYCLE, LEAKING, LOSSES, WAITING, hunt
from gradlife.errors import UsageError
from gradlife.model import hunt_codec
from gradlife.model.heap import Owner
from gradlife.model.hunt import Amounts, Control, Finding, HuntReport, HuntVerdict, Round, Severity
from gradlife.model.ranks import RankEnd, Skew, SnapshotCost, Spread, rank_ranges, unpacked
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import RankReport, SnapshotTime


def left(rank: int, report: HuntReport, **values: Any) -> RankReport:
    """Return the report of a rank that ended well."""
    return RankReport(rank, **{"document": hunt_codec.encode(report), "status": 0, **values})


def losses(nbytes: int, **values: Any) -> Finding:
    """The list of losses, growing at this rate."""
    return replace(LOSSES, per_step=replace(LOSSES.per_step, bytes=float(nbytes)), **values)


def test_a_leak_on_one_rank_names_the_rank_and_makes_the_run_leak() -> None:
    report = merge([left(0, CLEAN), left(1, LEAKING)])
    [finding] = report.findings
    assert finding.on_ranks is not None
    assert (finding.on_ranks.ranks, finding.on_ranks.count, finding.on_ranks.world_size) == ("1", 1, 2)
    assert (report.verdict, report.exit_status) == (HuntVerdict.LEAK, 1)
    assert [(row.ranks, row.verdict, row.findings) for row in report.ranks] == [("0", "clean", 0), ("1", "leak", 1)]


def test_a_leak_on_all_ranks_is_one_finding_with_the_spread_of_its_rates() -> None:
    report = merge([left(rank, hunt(losses(1000 + rank))) for rank in (2, 0, 1)])
    [finding] = report.findings
    assert finding.on_ranks is not None
    assert (finding.on_ranks.ranks, finding.on_ranks.per_step) == ("0-2", Spread(1000, 1002))
    assert finding.per_step.bytes == 1002


def test_the_order_in_which_ranks_are_read_changes_nothing() -> None:
    ranks = [left(0, CLEAN), left(1, hunt(losses(5000), CYCLE)), left(2, hunt(losses(7000)))]
    assert merge(ranks) == merge(reversed(ranks))


def test_of_ranks_that_grow_alike_the_lowest_stands_for_the_fastest() -> None:
    """The tie was once decided by the rank that is shown, so that the order in which ranks were read decided."""
    ranks = [left(0, hunt(losses(1)))] + [left(rank, hunt(losses(1000, survivors=rank))) for rank in (10, 2, 5)]
    for order in (ranks, ranks[::-1]):
        [finding] = merge(order).findings
        assert finding.survivors == 2


def test_the_worst_severity_and_the_nearest_limit_count() -> None:
    near = losses(9000, severity=Severity.CRITICAL, steps_to_limit=40)
    [finding] = merge([left(0, hunt(losses(1000))), left(1, hunt(near))]).findings
    assert (finding.severity, finding.steps_to_limit) == (Severity.CRITICAL, 40)


def test_findings_stand_in_the_order_of_their_severity() -> None:
    minor = losses(10, severity=Severity.MINOR, fingerprint="aa")
    report = merge([left(0, hunt(minor)), left(1, hunt(CYCLE))])
    assert [one.code for one in report.findings] == ["GL101", "GL402"]


def test_ranks_that_all_wait_for_the_collector_need_it() -> None:
    assert merge([left(0, CLEAN), left(1, hunt(WAITING))]).verdict is HuntVerdict.NEEDS_GC


def test_a_clean_run_needs_a_report_of_every_rank() -> None:
    assert merge([left(0, CLEAN), left(1, CLEAN)]).exit_status == 0
    missing = merge([left(0, CLEAN)], world_size=3)
    assert (missing.verdict, missing.exit_status) == (HuntVerdict.INCONCLUSIVE, 3)
    assert missing.trouble == "ranks 1-2 left no files"


def test_a_leak_stays_one_whatever_became_of_the_other_ranks() -> None:
    killed = left(1, CLEAN, end=RankEnd.KILLED, status=137, trouble="killed by signal 9 at 7.9 of 8.0 GiB")
    report = merge([left(0, LEAKING), killed, RankReport(2, end=RankEnd.LOST)], world_size=3)
    assert report.verdict is HuntVerdict.LEAK
    assert report.script_status == 137
    assert report.trouble == (
        "rank 1 was killed by signal 9 at 7.9 of 8.0 GiB, its last report: clean; "
        "rank 2 ended without an exit status, before its first report"
    )
    assert report.limits[-1] == "rank 2 left no report: what was held there is unknown"


def test_a_rank_whose_control_was_misjudged_takes_back_clean_and_says_so() -> None:
    wrong = hunt(controls=(Control("a list that grows", "growth", "clean"),))
    report = merge([left(0, CLEAN), left(1, wrong)])
    assert report.verdict is HuntVerdict.INCONCLUSIVE
    assert report.trouble == "rank 1 could not tell: the planted control 'a list that grows' was misjudged"


def test_a_program_that_fails_on_one_rank_gives_its_status() -> None:
    failed = left(1, replace(CLEAN, trouble="the program ended with ValueError"), end=RankEnd.FAILED, status=1)
    report = merge([left(0, CLEAN), failed])
    assert report.script_status == 1
    assert report.trouble == "rank 1 ended with status 1: the program ended with ValueError"


def test_what_is_known_of_a_rank_besides_its_report_is_said_of_a_failed_one_too() -> None:
    report = merge([left(0, CLEAN), left(1, CLEAN, end=RankEnd.FAILED, status=1, trouble="its disk is full")])
    assert report.trouble == "rank 1 ended with status 1: its disk is full"


@pytest.mark.parametrize(("statuses", "status"), [((143, 137), 137), ((143, 143), 143), ((0, 1), 1), ((0, 0), 0)])
def test_the_status_of_a_run_is_that_of_the_rank_that_failed_not_of_one_that_its_launcher_ended(
    statuses: tuple[int, int], status: int
) -> None:
    ranks = [left(rank, CLEAN, status=one) for rank, one in enumerate(statuses)]
    assert merge(ranks).script_status == status


def test_a_rank_that_a_launcher_ended_does_not_give_the_status_of_one_that_ended_without_a_status() -> None:
    ended = left(0, CLEAN, end=RankEnd.KILLED, status=143, trouble="killed by signal 15")
    report = merge([ended, RankReport(1, end=RankEnd.LOST)])
    assert report.script_status is None
    assert report.trouble == (
        "rank 1 ended without an exit status, before its first report; "
        "rank 0 was killed by signal 15, its last report: clean"
    )


def test_four_thousand_ranks_that_agree_make_a_report_no_longer_than_eight() -> None:
    sizes = {
        count: len(hunt_codec.dumps(merge(left(rank, LEAKING) for rank in range(count)))) for count in (17, 100, 4096)
    }
    assert sizes[4096] <= sizes[100] + 20 <= sizes[17] + 40
    report = merge(left(rank, CLEAN if rank == 77 else LEAKING) for rank in range(4096))
    assert [(row.ranks, row.count) for row in report.ranks] == [("0-76,78-4095", 4095), ("77", 1)]


def test_texts_that_every_rank_words_differently_are_cut() -> None:
    report = merge(left(rank, hunt(limits=(f"{rank} objects were not read",))) for rank in range(40))
    assert len(report.limits) == 13
    assert report.limits[-1] == "28 more limits, each of one rank"


def test_the_merged_report_comes_back_from_its_json_as_version_2() -> None:
    snapshots = (SnapshotTime(5, 1.0, 1.25), SnapshotTime(10, 2.0, 2.25))
    report = merge(
        [left(0, CLEAN, snapshots=snapshots, peak=1 << 30), left(1, LEAKING, snapshots=snapshots[:1], peak=3 << 30)]
    )
    document = hunt_codec.encode(report)
    assert (document["format"], document["world_size"], len(document["ranks"])) == ("gradlife.hunt/2", 2, 2)
    assert hunt_codec.decode(document) == report


def test_the_report_of_one_process_stays_version_1_and_has_no_key_of_ranks() -> None:
    document = hunt_codec.encode(LEAKING)
    assert document["format"] == "gradlife.hunt/1"
    assert not {"ranks", "world_size", "skew", "look_cost"} & document.keys()
    assert "on_ranks" not in document["findings"][0]


def test_a_damaged_report_is_named_by_its_rank() -> None:
    broken = {**hunt_codec.encode(LEAKING), "findings": [{"kind": "growth"}]}
    with pytest.raises(UsageError, match="the report of rank 3 is damaged: KeyError"):
        merge([RankReport(3, document=broken)])


def test_a_finding_that_cannot_be_read_is_named_by_its_own_rank() -> None:
    document = hunt_codec.encode(hunt(losses(10**9)))
    del document["findings"][0]["trace"]
    with pytest.raises(UsageError, match=r"^the report of rank 3: "):
        merge([left(0, LEAKING), RankReport(3, document=document)])


def test_nothing_cannot_be_merged() -> None:
    with pytest.raises(UsageError, match="there is no report of any rank"):
        merge([])


# --- skew ---


def test_a_rank_that_grows_faster_than_the_others_is_skew_with_its_reason() -> None:
    report = merge([left(rank, hunt(losses(90_000 if rank == 2 else 10_000))) for rank in range(4)])
    title = f"GL402 {LOSSES.title}"
    reason = f"{title}: faster than on the other ranks"
    assert report.skew == (Skew("growth per step", "2", 1, 90_000, 10_000, reason, code="GL402"),)


def test_a_leak_on_one_rank_only_is_skew_too() -> None:
    [skew] = merge([left(0, CLEAN), left(1, LEAKING)]).skew
    assert (skew.ranks, skew.usual) == ("1", 0.0)
    assert skew.reason.endswith("not on the other ranks")


def test_a_rank_that_peaks_higher_is_skew_and_says_what_explains_it() -> None:
    peaks = {0: 8 << 30, 1: 4 << 30, 2: 4 << 30}
    [skew] = merge([left(rank, CLEAN, peak=peak) for rank, peak in peaks.items()]).skew
    assert (skew.measure, skew.ranks, skew.value, skew.usual) == ("peak memory", "0", 8 << 30, 4 << 30)
    assert skew.reason.startswith("nothing that the rank holds after a step explains its peak")


def holding(**owners: int) -> HuntReport:
    """A clean hunt whose global variables hold this many MiB."""
    names = {name: f"module __main__: global variable '{name}': dict" for name in owners}
    return replace(CLEAN, owners=tuple(Owner(names[name], size << 20) for name, size in owners.items()))


def test_the_owner_that_only_one_rank_has_explains_its_peak() -> None:
    ranks = [
        left(0, holding(model=100), peak=400 << 20),
        left(1, holding(cache=500, model=100), peak=900 << 20),
        left(2, holding(model=100), peak=400 << 20),
    ]
    [skew] = merge(ranks).skew
    assert (skew.owner, skew.code) == ("module __main__: global variable 'cache': dict", "")
    assert (skew.owner_bytes, skew.owner_usual) == (500 << 20, 0)
    assert skew.reason.endswith("not on the other ranks")


def test_an_owner_that_is_larger_on_one_rank_explains_its_peak() -> None:
    ranks = [
        left(rank, holding(cache=500 if rank == 3 else 100), peak=(900 if rank == 3 else 500) << 20)
        for rank in range(4)
    ]
    [skew] = merge(ranks).skew
    assert (skew.owner_bytes, skew.owner_usual) == (500 << 20, 100 << 20)
    assert skew.reason.endswith("more than on the other ranks")


def test_an_owner_of_a_few_bytes_explains_no_peak() -> None:
    report = merge([left(0, holding(cache=1), peak=800 << 20), left(1, CLEAN, peak=400 << 20)])
    assert [(one.owner, one.reason[:7]) for one in report.skew] == [("", "nothing")]


def test_a_peak_of_a_rank_that_leaks_names_the_finding() -> None:
    grown = left(1, LEAKING, peak=900 << 20)
    [_, skew] = merge([left(0, CLEAN, peak=400 << 20), grown]).skew
    assert (skew.measure, skew.code) == ("peak memory", "GL402")


def test_a_rank_that_took_more_steps_peaks_higher() -> None:
    longer = hunt(rounds=(Round(70, Amounts()),) * 3)
    [skew] = merge([left(0, hunt(), peak=400 << 20), left(1, longer, peak=900 << 20)]).skew
    assert skew.reason == "it took 189 more steps than the median rank"


def test_skew_fails_a_run_only_if_notes_do() -> None:
    report = merge([left(0, holding(cache=300), peak=800 << 20), left(1, CLEAN, peak=400 << 20)])
    assert (report.verdict, report.exit_status) == (HuntVerdict.CLEAN, 0)
    assert replace(report, fail_on=Severity.NOTE).exit_status == 1


def test_the_owners_of_single_ranks_are_not_in_the_merged_report() -> None:
    report = merge([left(0, holding(cache=300)), left(1, holding(cache=300))])
    assert (report.owners, report.skew) == ((), ())


def test_small_differences_are_no_skew() -> None:
    ranks = [left(rank, hunt(losses(10_000 + 400 * rank)), peak=(4 << 30) + rank) for rank in range(8)]
    assert merge(ranks).skew == ()


# --- snapshots ---


def test_a_look_that_all_ranks_take_after_the_same_step_costs_the_time_until_the_last_is_done() -> None:
    first = (SnapshotTime(5, 1.0, 1.25), SnapshotTime(10, 2.0, 2.25), SnapshotTime(99, 9.0, 9.5))
    second = (SnapshotTime(5, 1.0, 1.75), SnapshotTime(10, 2.0, 2.25))
    report = merge([left(0, CLEAN, snapshots=first), left(1, CLEAN, snapshots=second)])
    assert report.snapshot_cost == SnapshotCost(shared=2, alone=1, longest=0.75, extra_wait=0.25, most_extra_wait=0.5)


# --- sets of ranks ---


def test_sets_of_ranks_are_written_as_ranges_and_read_back() -> None:
    assert rank_ranges([9, 0, 2, 1, 11, 12]) == "0-2,9,11-12"
    assert [*unpacked("0-2,9,11-12")] == [0, 1, 2, 9, 11, 12]
    assert rank_ranges([]) == ""
