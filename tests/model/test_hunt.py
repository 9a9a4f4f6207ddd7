"""The figures of a hunt besides its findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabricated_hunts import LOSSES, WAITING, hunt, rounds
from gradlife.model import hunt_codec
from gradlife.model.hunt import STRICT, Amounts, Explained, Finding, FindingKind, HuntVerdict, Round, Severity
from gradlife.model.unread_layout import UnreadLayout


@pytest.mark.parametrize("field", ["tensors", "storages", "graph_nodes"])
def test_as_much_a_step_in_every_round_is_not_called_clean_where_nothing_is_found(field: str) -> None:
    report = hunt(rounds=rounds(Amounts(**{field: 6}), 5, 7, 11))
    assert (report.verdict, report.unexplained) == (HuntVerdict.INCONCLUSIVE, {field: 6})
    assert report.exit_status == 3


@pytest.mark.parametrize(
    "added",
    [
        rounds(Amounts(), 5, 7, 11),
        rounds(Amounts(objects=2, bytes=100), 5, 7, 11),
        rounds(Amounts(tensors=1), 5, 7),
        (*rounds(Amounts(tensors=1), 5, 7), Round(11, Amounts(tensors=7))),
        rounds(Amounts(tensors=0.25), 5, 7, 11),
        (*rounds(Amounts(tensors=1), 5, 7), Round(11, Amounts())),
        (*rounds(Amounts(bytes=65_000), 5, 7), Round(11, Amounts(bytes=11 * 67_000))),
        (Round(0, Amounts(tensors=1)), *rounds(Amounts(tensors=1), 5, 7)),
    ],
)
def test_what_is_not_the_same_each_time_or_too_short_to_judge_leaves_it_clean(added: tuple[Round, ...]) -> None:
    assert hunt(rounds=added).verdict is HuntVerdict.CLEAN


def test_as_many_bytes_a_step_in_every_round_are_not_called_clean_either() -> None:
    added = (*rounds(Amounts(bytes=65_536), 5, 7), Round(11, Amounts(bytes=11 * 65_000)))
    report = hunt(rounds=added)
    assert (report.verdict, report.unexplained) == (HuntVerdict.INCONCLUSIVE, {"bytes": 65_000})


def test_about_as_many_bytes_a_step_in_four_rounds_are_no_accident() -> None:
    uneven = (Round(11, Amounts(bytes=11 * 60_000)), Round(17, Amounts(bytes=17 * 55_000)))
    assert hunt(rounds=uneven).unexplained == {}
    assert hunt(rounds=(*rounds(Amounts(bytes=65_000), 5, 7), *uneven)).unexplained == {"bytes": 55_000}


def test_one_tensor_more_or_less_does_not_make_growth_clean() -> None:
    added = (*rounds(Amounts(tensors=1), 5, 7), Round(11, Amounts(tensors=10)))
    assert hunt(rounds=added).verdict is HuntVerdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("rates", "unexplained"),
    [
        pytest.param((3_000, 3_100, 3_100, 3_200), {"malloc_bytes": 3_000}, id="strings"),
        pytest.param((3_100, 3_100, 3_200), {}, id="too few rounds"),
        pytest.param((900, 900, 900, 900), {}, id="too little"),
        pytest.param((3_000, 3_000, 0, 3_000), {}, id="not in every round"),
    ],
)
def test_what_malloc_gives_out_in_each_of_four_rounds_is_not_called_clean(
    rates: tuple[float, ...], unexplained: dict[str, float]
) -> None:
    report = hunt(rounds=malloc_rounds(*rates))
    assert report.unexplained == unexplained
    assert (report.verdict is HuntVerdict.INCONCLUSIVE) == bool(unexplained)


def malloc_rounds(*per_step: float | None) -> tuple[Round, ...]:
    return tuple(Round(29, Amounts(), rate) for rate in per_step)


def test_what_malloc_gives_out_in_each_of_the_last_rounds_is_held_by_nothing() -> None:
    assert hunt(rounds=malloc_rounds(900, 20_100, 20_000, 19_000)).unheld_rate == 19_000


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param((20_000, 20_000), id="too few rounds"),
        pytest.param((7_000, 7_000, 7_000), id="too little"),
        pytest.param((20_000, 20_000, 14_000), id="less in the end"),
        pytest.param((20_000, None, 20_000), id="unknown once"),
        pytest.param((20_000, 20_000, -20_000), id="given back"),
    ],
)
def test_other_amounts_of_malloc_show_nothing(rates: tuple[float | None, ...]) -> None:
    assert hunt(rounds=malloc_rounds(*rates)).unheld_rate == 0


def test_memory_that_a_finding_or_a_cache_may_have_is_not_reported_again() -> None:
    grown = malloc_rounds(20_000, 20_000, 20_000)
    assert hunt(LOSSES, rounds=grown).unheld_rate == 0
    assert hunt(rounds=grown, explained=(Explained("bounded container", "a deque", 1),)).unheld_rate == 0


@pytest.mark.parametrize(
    ("steps", "more"),
    [((), 0), ((4, 3), 16), ((3, 3, 3, 3), 11), ((5, 17), 1), ((5, 30), 1), ((5, 7, 8), 0), ((5, 7, 11), 0)],
)
def test_few_steps_or_two_rounds_tell_how_many_more_would_do(steps: tuple[int, ...], more: int) -> None:
    assert hunt(rounds=rounds(Amounts(), *steps)).more_steps == more


def test_what_is_explained_or_found_is_in_no_doubt() -> None:
    added = rounds(Amounts(tensors=1), 5, 7, 11)
    assert hunt(rounds=added, explained=(Explained("bounded container", "a deque", 1),)).verdict is HuntVerdict.CLEAN
    assert hunt(LOSSES, rounds=added).verdict is HuntVerdict.LEAK


@pytest.mark.parametrize(
    ("severity", "fail_on", "verdict", "status"),
    [
        (Severity.CRITICAL, Severity.MAJOR, HuntVerdict.LEAK, 1),
        (Severity.MAJOR, Severity.CRITICAL, HuntVerdict.LEAK, 0),
        (Severity.MINOR, Severity.MAJOR, HuntVerdict.LEAK, 0),
        (Severity.MINOR, Severity.MINOR, HuntVerdict.LEAK, 1),
        (Severity.NOTE, Severity.MINOR, HuntVerdict.CLEAN, 0),
        (Severity.NOTE, Severity.NOTE, HuntVerdict.CLEAN, 1),
    ],
)
def test_the_exit_status_follows_the_severity(
    severity: Severity, fail_on: Severity, verdict: HuntVerdict, status: int
) -> None:
    report = replace(hunt(replace(LOSSES, severity=severity)), fail_on=fail_on)
    assert (report.verdict, report.exit_status) == (verdict, status)


def test_what_waits_for_the_collector_fails_only_where_that_is_asked_for() -> None:
    report = hunt(WAITING)
    assert report.exit_status == 0
    assert (report.is_failure(WAITING), report.is_failure(WAITING, is_strict=True)) == (False, True)


def test_what_waits_for_the_collector_fails_a_strict_hunt_also_beside_a_minor_leak() -> None:
    """`--fail-on needs-gc` ended with 0 if there was a minor leak, too, and the JSON report never had the strict status."""
    for report in (hunt(WAITING), hunt(replace(LOSSES, severity=Severity.MINOR), WAITING)):
        strict = replace(report, settings={STRICT: "1"})
        assert (report.exit_status, strict.exit_status) == (0, 1)
        assert hunt_codec.encode(strict)["exit_status"] == 1
        assert hunt_codec.loads(hunt_codec.dumps(strict)).exit_status == 1


def collected(found: tuple[Round, ...]) -> tuple[Round, ...]:
    """The rounds, the last of which ended with a full collection."""
    return (*found[:-1], replace(found[-1], is_collected=True))


def test_memory_that_a_collection_does_not_free_is_no_garbage() -> None:
    """A class that is scripted anew in each step was `needs-gc`, though 59 kB a step stay after every collection."""
    grown = malloc_rounds(60_000, 61_000, 59_000)
    report = hunt(WAITING, rounds=collected(grown))
    assert (report.verdict, report.unexplained) == (HuntVerdict.INCONCLUSIVE, {"malloc_bytes": 59_000})
    assert hunt(WAITING, rounds=grown).verdict is HuntVerdict.NEEDS_GC
    assert hunt(WAITING, rounds=collected(malloc_rounds(60_000, 61_000, -90_000))).verdict is HuntVerdict.NEEDS_GC


def test_memory_is_explained_only_by_growth_of_about_its_size() -> None:
    """The rounds have 87 steps, in which a cache that has 870 kB now grows by at most 10 kB a step."""
    cache = Explained("bounded container", "a deque", 870_000)
    found = {rate: hunt(rounds=collected(malloc_rounds(rate, rate, rate)), explained=(cache,)) for rate in (20e3, 21e3)}
    assert {rate: report.unexplained for rate, report in found.items()} == {20e3: {}, 21e3: {"malloc_bytes": 11_000}}
    unknown = replace(cache, bytes=0)
    assert hunt(rounds=collected(malloc_rounds(90e3, 90e3, 90e3)), explained=(unknown,)).unexplained == {}


@pytest.mark.parametrize(
    ("workers", "verdict", "unheld"),
    [
        ((6, 8, 14), HuntVerdict.INCONCLUSIVE, 0.0),
        ((0, 0, 0), HuntVerdict.CLEAN, 59e3),
        ((20, 4, 2), HuntVerdict.CLEAN, 59e3),
    ],
    ids=["grows with them", "no threads", "fewer and fewer threads"],
)
def test_memory_that_grows_with_the_threads_that_do_new_work_may_be_theirs(
    workers: tuple[int, ...], verdict: HuntVerdict, unheld: float
) -> None:
    grown = malloc_rounds(60e3, 61e3, 59e3)
    report = hunt(rounds=tuple(replace(one, new_workers=more) for one, more in zip(grown, workers, strict=True)))
    assert (report.verdict, report.unheld_rate) == (verdict, unheld)


def test_variables_that_get_their_first_graph_after_the_warm_up_are_no_growth_of_graphs() -> None:
    """A replay buffer below its size was a leak: training began some steps after the buffer, and left one graph."""
    assert not Amounts(tensors=1.97, graph_nodes=0.11).keeps_graphs
    assert Amounts(tensors=1, graph_nodes=3).keeps_graphs
    assert Amounts(graph_nodes=0.1).keeps_graphs
    assert not Amounts().keeps_graphs


KEPT = replace(LOSSES, kind=FindingKind.RETAINED, severity=Severity.NOTE, per_step=Amounts(), retained_bytes=65_536)
#: A list of plain data.
ROWS = replace(LOSSES, severity=Severity.MINOR, per_step=Amounts(objects=2, bytes=1_000, retained_bytes=1_000))
#: The states of a metric.
STATES = replace(LOSSES, severity=Severity.NOTE, per_step=Amounts(objects=1, tensors=1, storages=1, bytes=4_096))


@pytest.mark.parametrize("beside", [KEPT, ROWS, STATES], ids=["kept, not growing", "a minor leak", "a metric"])
def test_what_malloc_gives_out_is_not_hidden_by_a_finding_of_another_kind(beside: Finding) -> None:
    """A note or a minor leak beside 100 kB per step of native memory was clean, or a leak with exit status 0."""
    grown = malloc_rounds(100_000, 101_000, 100_000)
    assert hunt(beside, rounds=grown).unheld_rate == 100_000 - beside.per_step.bytes


def test_buffers_that_libraries_keep_for_a_longer_tensor_are_no_other_leak() -> None:
    """MKL keeps four times a growing operand: native code led the report, and the tensor came second."""
    longer = replace(LOSSES, diagnosis=replace(LOSSES.diagnosis, code="GL704"), per_step=Amounts(bytes=4_096))
    assert hunt(longer, rounds=malloc_rounds(20_500, 20_500, 20_500)).unheld_rate == 0
    assert hunt(longer, rounds=malloc_rounds(900_000, 900_000, 900_000)).unheld_rate == 900_000 - 33 * 4_096


@pytest.mark.parametrize(
    ("beside", "verdict", "unexplained"),
    [
        pytest.param(KEPT, HuntVerdict.INCONCLUSIVE, {"tensors": 6}, id="kept, not growing"),
        pytest.param(ROWS, HuntVerdict.LEAK, {"tensors": 6}, id="a minor leak"),
        pytest.param(STATES, HuntVerdict.INCONCLUSIVE, {"tensors": 5}, id="a metric"),
    ],
)
def test_growth_without_a_cause_beside_findings_that_do_not_fail_could_not_be_told(
    beside: Finding, verdict: HuntVerdict, unexplained: dict[str, float]
) -> None:
    report = hunt(beside, rounds=rounds(Amounts(tensors=6), 5, 7, 11))
    assert (report.verdict, report.unexplained, report.exit_status) == (verdict, unexplained, 3)


@pytest.mark.parametrize("beside", [STATES, LOSSES], ids=["its own growth", "a major leak of graphs"])
def test_growth_of_about_a_findings_size_is_its_own(beside: Finding) -> None:
    rate = beside.per_step.bytes
    grown = tuple(Round(29, replace(beside.per_step, tensors=58), 1.9 * rate) for _ in range(3))
    report = hunt(beside, rounds=grown)
    assert (report.unexplained, report.unheld_rate) == ({}, 0)


def test_objects_that_a_collection_does_not_free_are_no_garbage() -> None:
    grown = rounds(Amounts(tensors=6), 5, 7, 11)
    assert hunt(WAITING, rounds=grown).verdict is HuntVerdict.NEEDS_GC
    assert hunt(WAITING, rounds=collected(grown)).unexplained == {"tensors": 6}


def test_a_leak_that_is_not_worth_a_failure_does_not_hide_memory_that_grows_with_new_threads() -> None:
    grown = tuple(replace(one, new_workers=29) for one in malloc_rounds(60e3, 61e3, 59e3))
    report = hunt(ROWS, rounds=grown)
    assert (report.verdict, report.new_work_rate, report.exit_status) == (HuntVerdict.LEAK, 58e3, 3)


IN_PART = UnreadLayout("2.16.0", ("next edges", "hooks"), 69, is_newer=True)


@pytest.mark.parametrize(
    ("unread", "verdict", "status"),
    [
        pytest.param(IN_PART, HuntVerdict.CLEAN, 0, id="nothing grows, whoever holds it"),
        pytest.param(replace(IN_PART, withheld=1), HuntVerdict.INCONCLUSIVE, 3, id="something may have a holder"),
    ],
)
def test_findings_that_rest_on_what_cannot_be_read_make_no_verdict(
    unread: UnreadLayout, verdict: HuntVerdict, status: int
) -> None:
    report = replace(hunt(rounds=rounds(Amounts(), 5, 7, 11)), unread=unread)
    assert (report.verdict, report.exit_status) == (verdict, status)
    assert replace(report, findings=(LOSSES,)).verdict is HuntVerdict.LEAK
    assert hunt_codec.decode(hunt_codec.encode(report)) == report


def test_what_cannot_be_read_is_said_in_a_clause() -> None:
    lost = "PyTorch 2.16.0 is newer than tested: 2 of 69 kinds of references and fields in C++ were not found"
    assert str(IN_PART) == f"{lost}; holders in C++ may be missing"
    assert str(replace(IN_PART, hides_references=False)) == lost
    assert str(replace(IN_PART, is_newer=False)).startswith("PyTorch 2.16.0: 2 of 69 ")
