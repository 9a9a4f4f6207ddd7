"""The parts of hunts in workers: who joins, what a step is, what is copied, how reports become one."""

from __future__ import annotations

import multiprocessing.pool
import os
import pickle
import queue
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricated_hunts import CLEAN, LEAKING, LOSSES, hunt
from gradlife.hunting.process.launcher import JOINED_BY, SITECUSTOMIZE
from gradlife.hunting.process.private_pages import PrivateMemory
from gradlife.hunting.workers import merge
from gradlife.hunting.workers.copies import containers, copies, copy_on_read
from gradlife.hunting.workers.entries import PLACES, PLAIN, StepQueue, loader_worker
from gradlife.hunting.workers.hunt import WorkerHunt
from gradlife.hunting.workers.install import replace_function
from gradlife.hunting.workers.merge import with_workers
from gradlife.hunting.workers.worker import (
    MAX_GROUPS,
    MAX_LIVES,
    MAX_WORKERS,
    REPORT,
    VARIABLE,
    Worker,
    announce_writer,
    join,
    work_of_writer,
)
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport, HuntVerdict
from gradlife.model.ranks import Spread
from gradlife.program.hunt.processes import replace_start

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


def test_a_report_is_waited_for_as_long_as_its_writer_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two minutes the worker counted as one with too few steps, however busy the machine was."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + 100))
    monkeypatch.setattr(merge, "time", clock)
    monkeypatch.setattr(merge, "is_written", lambda path: False)
    monkeypatch.setattr(merge, "work_of_writer", lambda path: min(now[0], 1000.0))
    merge.wait_until_written("a worker's folder")
    assert now == [1000.0 + 2 * 100]


def test_the_work_of_the_process_that_writes_is_its_processor_time(tmp_path: Path) -> None:
    assert work_of_writer(str(tmp_path)) == 0
    announce_writer(str(tmp_path), os.getpid())
    began = work_of_writer(str(tmp_path))
    while work_of_writer(str(tmp_path)) == began:
        pass
    announce_writer(str(tmp_path), 2**22 + 1)
    assert work_of_writer(str(tmp_path)) == 0


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


def test_threads_of_a_pool_run_the_programs_tasks_without_a_hunt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ThreadPool finds the function of Pool's workers: in its threads the program's own hunt ended."""
    left: list[str] = []
    monkeypatch.setattr(multiprocessing.pool, "worker", multiprocessing.pool.worker)  # type: ignore[attr-defined]
    monkeypatch.setitem(PLAIN, "multiprocessing.pool", multiprocessing.pool.worker)  # type: ignore[attr-defined]
    monkeypatch.setattr("gradlife.hunting.workers.entries.LEAVE_HUNT", [lambda: left.append("left")])
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    [place] = [one for one in PLACES if one.module == "multiprocessing.pool"]
    replace_function(place, multiprocessing.pool)
    with multiprocessing.pool.ThreadPool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    assert (left, list(tmp_path.iterdir())) == ([], [])


def test_two_loaders_of_one_class_are_two_groups_of_workers(tmp_path: Path) -> None:
    """The report of the second hid that of the first, or the second was not hunted in."""
    training, validation = replace(LOADER, source="1f"), replace(LOADER, source="2f")
    leave(tmp_path, training, LEAKING)
    leave(tmp_path, validation, CLEAN)
    report = with_workers(CLEAN, str(tmp_path))
    assert [(row.workers, row.verdict) for row in report.workers] == [("0", "leak"), ("0", "clean")]
    assert report.verdict is HuntVerdict.LEAK


def test_a_dataset_made_anew_for_each_epoch_is_hunted_in_a_few_times(tmp_path: Path) -> None:
    joined = [join(str(tmp_path), replace(LOADER, source=str(number))) for number in range(MAX_GROUPS + 1)]
    assert [one is not None for one in joined] == [True] * MAX_GROUPS + [False]


def test_loaders_are_told_apart_by_their_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = iter(["fork", "fork", "spawn", "spawn"])
    monkeypatch.setattr("gradlife.hunting.workers.entries.start_method", lambda: next(methods))
    first, second = [1, 2], [1, 2]
    forked = [loader_worker(one, 0, 2) for one in (first, second)]
    spawned = [loader_worker(one, 0, 2) for one in (first, iter(first))]
    assert [one.source for one in forked] == [f"{id(first):x}", f"{id(second):x}"]
    assert [one.source for one in spawned] == ["2", ""]


def test_a_leak_stays_when_a_later_process_of_the_worker_is_clean(tmp_path: Path) -> None:
    for report in (LEAKING, CLEAN):  # both started before the first was written
        joined = join(str(tmp_path), LOADER)
        assert joined is not None
        Path(joined[0], "end").write_text(hunt_codec.dumps(report))
    assert [row.verdict for row in with_workers(CLEAN, str(tmp_path)).workers] == ["leak"]


class Task:
    """A process whose `run` is decorated: it has a name that is found nowhere."""

    def __init__(self) -> None:
        self.done: list[int] = []

    run = (lambda plain: lambda self: plain(self))(lambda self: self.done.append(1))


def test_the_work_of_a_process_is_pickled_without_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decorated `run` could not be pickled, so a process that spawns failed under the hunt only."""
    started: list[Task] = []

    class BaseProcess:
        def start(self) -> None:
            started.append(pickle.loads(pickle.dumps(self)))

    monkeypatch.setattr("gradlife.program.hunt.processes.LEAVE_HUNT", [])
    monkeypatch.delenv(VARIABLE, raising=False)
    module = SimpleNamespace(BaseProcess=BaseProcess)
    replace_start(module)
    module.BaseProcess.start(Task())
    [received] = started
    vars(received)["run"]()
    assert received.done == [1]


def test_an_older_python_that_the_program_starts_prints_nothing(tmp_path: Path) -> None:
    """`sys.orig_argv` is there from 3.10 on; gradlife runs from 3.11 on."""
    text = SITECUSTOMIZE.format(folder=str(tmp_path), variable="GRADLIFE_NONE", module=JOINED_BY)
    (tmp_path / "sitecustomize.py").write_text(f"import sys; del sys.orig_argv; sys.version_info = (3, 9)\n{text}")
    done = subprocess.run(
        [sys.executable, "-c", "import sys; print('gradlife' in sys.modules)"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_copy_that_judges_holds_no_output_open(tmp_path: Path) -> None:
    """A program that reads the output of its child to the end waited until the copy had judged."""
    code = (
        "import os; from gradlife.hunting.workers.hunt import keep_open; keep_open(set());"
        "print([os.path.samestat(os.fstat(one), os.stat(os.devnull)) for one in range(3)], file=open('found', 'w'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, (tmp_path / "found").read_text()) == (0, "[True, True, True]\n")
