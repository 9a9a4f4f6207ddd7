"""What one forked copy found in a snapshot is there for the next."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.snapshots import survivors
from gradlife.hunting.snapshots.notes import Notes
from gradlife.hunting.snapshots.step_snapshots import take_snapshot
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.hunting.workers.hunt import keep_open

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no forked copies")


def never() -> int:
    raise AssertionError("it was noted before")


def test_a_copy_has_what_an_earlier_copy_found() -> None:
    notes = Notes()
    assert in_fork(lambda: notes.find(("new", 1), lambda: 42)) == 42
    assert in_fork(lambda: (notes.find(("new", 1), never), notes.find("totals", lambda: 7))) == (42, 7)
    assert (notes.find(("new", 1), never), notes.find("totals", never)) == (42, 7)


def test_a_record_that_is_not_whole_is_found_again() -> None:
    notes = Notes()
    in_fork(lambda: notes.find("totals", lambda: list(range(1000))))
    os.ftruncate(notes.descriptor, 100)
    assert notes.find("totals", lambda: 8) == 8


def test_copies_that_write_at_once_write_one_after_the_other() -> None:
    notes = Notes()
    in_fork(lambda: notes.find("a", lambda: list(range(1000))))
    os.lseek(notes.descriptor, 0, os.SEEK_SET)  # as if another copy had begun to write
    in_fork(lambda: notes.find("b", lambda: 2))
    assert in_fork(lambda: (len(notes.find("a", list)), notes.find("b", never))) == (1000, 2)


def test_two_graphs_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[list[int]] = []
    snapshots = []
    for number in range(3):
        kept.append([number])
        snapshots.append(take_snapshot(number))

    def compared() -> tuple[int, list[int]]:
        calls = 0
        new_objects = survivors.new_objects

        def count(*graphs: object) -> object:
            nonlocal calls
            calls += 1
            return new_objects(*graphs)  # type: ignore[arg-type]

        monkeypatch.setattr(survivors, "new_objects", count)
        born = survivors.births(snapshots)
        return calls, [born[snapshots[-1].graph.find(id(one)) or 0] for one in kept[1:]]

    assert in_fork(compared) == (2, [0, 1])
    kept.append([3])
    snapshots.append(take_snapshot(3))
    assert in_fork(compared) == (1, [0, 1, 2])


def test_a_worker_that_closes_its_other_files_to_judge_keeps_the_notes() -> None:
    hunt = Hunt(schedule_for(None, is_endless=False))
    hunt.snapshots = [take_snapshot(number) for number in range(2)]
    copy = os.fork()
    if not copy:
        try:
            keep_open(hunt.descriptors)
            hunt.snapshots[0].noted("totals", lambda: 42)
            os._exit(0 if os.fstat(hunt.snapshots[0].file.notes.descriptor).st_size else 1)  # type: ignore[union-attr]
        finally:
            os._exit(2)
    assert os.waitpid(copy, 0)[1] == 0
    assert hunt.snapshots[0].noted("totals", never) == 42
    hunt.forget()


def test_only_open_files_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of a billion files took minutes on a Python without `close_range`."""
    monkeypatch.setattr(os, "closerange", lambda first, last: os._exit(3))
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        try:
            keep_open({writing})
            os.fstat(writing)
            os.fstat(reading)
        except OSError as error:
            os._exit(4 if error.errno == errno.EBADF else 5)
        finally:
            os._exit(2)
    os.close(reading)
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 4


def test_what_follows_a_record_that_is_not_whole_is_not_read_across_it() -> None:
    notes = Notes()
    in_fork(lambda: notes.find("text", lambda: "x" * 1000))
    os.ftruncate(notes.descriptor, 500)  # as a full disk leaves it
    in_fork(lambda: notes.find("other", lambda: "y" * 1000))
    assert notes.find("text", lambda: "found again") == "found again"
