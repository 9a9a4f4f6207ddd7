"""The parts of hunts in workers: who joins, what a step is, what is copied, how reports become one."""

from __future__ import annotations

import queue
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricated_hunts import CLEAN, LEAKING, LOSSES, hunt
from gradlife.hunting.process.private_pages import PrivateMemory
from gradlife.hunting.workers.copies import containers, copies, copy_on_read
from gradlife.hunting.workers.entries import StepQueue
from gradlife.hunting.workers.hunt import WorkerHunt
from gradlife.hunting.workers.merge import with_workers
from gradlife.hunting.workers.worker import MAX_LIVES, MAX_WORKERS, REPORT, Worker, join
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport, HuntVerdict
from gradlife.model.ranks import Spread

LOADER = Worker("DataLoader worker", "Words", 0, 4, "batch", "fork")
POOL = Worker("pool worker", "", -1, 0, "task", "fork")


def leave(root: Path, worker: Worker, report: HuntReport | None) -> None:
    """Join as a worker and leave a report."""
    joined = join(str(root), worker)
    assert joined is not None
    if report is not None:
        Path(joined[0], REPORT).write_text(hunt_codec.dumps(report))


def test_a_step_is_over_when_the_worker_asks_for_more_work() -> None:
    plain: queue.Queue[Any] = queue.Queue()
    for item in ((0, [1]), (1, [2]), None):
        plain.put(item)
    done: list[int] = []
    heard = StepQueue(plain, lambda: done.append(plain.qsize()))
    assert heard.get(timeout=1) == (0, [1])
    assert done == []
    heard.get(timeout=1)
    assert done == [2]
    assert heard.get() is None
    with pytest.raises(queue.Empty):
        heard.get(block=False)
    assert (done, heard.qsize()) == ([2, 1], 0)


def test_a_worker_that_is_started_anew_is_hunted_until_it_has_a_report(tmp_path: Path) -> None:
    assert join(str(tmp_path), LOADER) is not None
    leave(tmp_path, LOADER, CLEAN)
    assert join(str(tmp_path), LOADER) is None
    lives = [join(str(tmp_path), replace(LOADER, number=1)) for _ in range(MAX_LIVES + 1)]
    assert [one is not None for one in lives] == [True] * MAX_LIVES + [False]


def test_workers_of_a_pool_are_numbered_as_they_come_and_the_first_are_hunted(tmp_path: Path) -> None:
    joined = [join(str(tmp_path), POOL) for _ in range(MAX_WORKERS + 1)]
    assert [one[1].number if one is not None else None for one in joined] == [0, 1, 2, 3, None]


def test_findings_of_workers_are_merged_and_named(tmp_path: Path) -> None:
    leave(tmp_path, LOADER, hunt(replace(LOSSES, per_step=replace(LOSSES.per_step, bytes=7000.0))))
    leave(tmp_path, replace(LOADER, number=1), LEAKING)
    leave(tmp_path, replace(LOADER, number=2), CLEAN)
    leave(tmp_path, replace(LOADER, number=3), None)
    report = with_workers(CLEAN, str(tmp_path))
    [finding] = report.findings
    assert finding.in_workers is not None
    assert (finding.in_workers.ranks, finding.in_workers.count, finding.in_workers.world_size) == ("0-1", 2, 4)
    assert (report.verdict, report.exit_status) == (HuntVerdict.LEAK, 1)
    assert [(row.workers, row.verdict) for row in report.workers] == [("0-1", "leak"), ("2", "clean"), ("3", "none")]
    assert hunt_codec.decode(hunt_codec.encode(report)) == report


def test_workers_that_took_few_steps_leave_a_clean_program_clean(tmp_path: Path) -> None:
    leave(tmp_path, LOADER, None)
    report = with_workers(CLEAN, str(tmp_path))
    assert (report.verdict, report.workers[0].growth) == (HuntVerdict.CLEAN, Spread())
    assert with_workers(CLEAN, str(tmp_path / "elsewhere")) is CLEAN


def test_pages_that_became_private_without_becoming_resident_were_copied() -> None:
    start = PrivateMemory(10 << 20, 100 << 20)
    assert copies(start, PrivateMemory(14 << 20, 100 << 20)) == 4 << 20
    assert copies(start, PrivateMemory(14 << 20, 104 << 20)) == 0
    assert copies(start, PrivateMemory(9 << 20, 100 << 20)) == 0


STEADY = [(5 * at, PrivateMemory(at << 20, 100 << 20)) for at in range(5)]


def test_copies_count_where_they_come_in_every_round() -> None:
    read = {"dataset": [[number] for number in range(40_000)]}  # in this process all of it is private
    found = copy_on_read(STEADY, read)
    assert found is not None
    assert (found.bytes, found.per_step, found.holder, found.items) == (4 << 20, (4 << 20) / 20, "dataset", 40_000)
    once = [(5 * at, PrivateMemory((at > 0) << 22, 100 << 20)) for at in range(5)]
    assert copy_on_read(once, read) is None


def test_copies_that_no_container_explains_are_not_called_copies_by_reading() -> None:
    assert copy_on_read(STEADY, {}) is None
    assert copy_on_read(STEADY, {"dataset": [0] * 40_000}) is None  # one object: one page


def test_large_containers_are_found_by_the_expression_that_leads_to_them() -> None:
    class Samples:
        def __init__(self) -> None:
            self.names = ["a"] * 2000
            self.few = [1, 2]
            self.parts = {"train": tuple(range(3000))}

    names = [name for name, _ in containers({"dataset": Samples()})]
    assert names == ["dataset.names", "dataset.parts['train']"]


def test_a_worker_whose_snapshots_cannot_be_judged_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a report it counted as one with too few steps, and the program as clean."""

    def fail(*_: object) -> None:
        raise OSError("Bad file descriptor")

    monkeypatch.setattr("gradlife.hunting.workers.hunt.report_of", fail)
    report = WorkerHunt(str(tmp_path), replace(LOADER, start_method="spawn"), "train.py", {})._report()
    assert report.verdict is HuntVerdict.INCONCLUSIVE
    assert report.trouble == "its snapshots could not be judged: OSError: Bad file descriptor"
