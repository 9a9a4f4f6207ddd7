"""Work in a forked copy of the process."""

from __future__ import annotations

import errno
import os
import sys
import warnings

import pytest

from gradlife import _heap
from gradlife.hunting.process import forked
from gradlife.hunting.process.forked import CAN_FORK, Answer, in_fork


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_what_profiles_the_program_does_not_see_the_work_of_a_copy() -> None:
    before = sys.getprofile()

    def profile(*_: object) -> None:
        """A program's own."""

    sys.setprofile(profile)
    try:
        assert in_fork(lambda: (sys.gettrace(), sys.getprofile())) == (None, None)
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)


class Made:
    """An object whose creation is recorded."""


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_what_a_copy_creates_is_not_recorded() -> None:
    def count() -> int:
        return len(_heap.recorded()[0]) // 8

    def recorded() -> int:
        before = count()
        kept = [Made() for _ in range(200)]  # a few of them at addresses that are known already
        return (count() - before) * bool(kept)

    _heap.start_recording((), (), (), None)
    try:
        _heap.want_type(Made)
        assert in_fork(recorded) < 100 < recorded()
    finally:
        _heap.stop_recording()


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_a_copy_knows_that_it_is_one() -> None:
    assert in_fork(lambda: forked.is_copy)
    assert not forked.is_copy


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_two_copies_work_at_once_and_are_waited_for() -> None:
    """The first ends only after the second has begun."""
    reading, writing = os.pipe()
    first = Answer(lambda: os.read(reading, 1), 0)
    second = Answer(lambda: os.write(writing, b"x"), 0)
    second.wait()
    first.wait()
    assert (first.is_there, first.read(), second.read()) == (True, b"x", 1)
    os.close(reading)
    os.close(writing)


def test_where_no_copy_can_be_made_the_work_is_done_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(_heap, "fork_silently", refuse)
    assert in_fork(os.getpid) == os.getpid()


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_a_warning_that_the_program_has_shown_is_not_shown_again_after_a_fork() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("slow path", UserWarning, stacklevel=1)
            assert in_fork(lambda: 1) == 1
    assert [str(one.message) for one in shown] == ["slow path"]


@pytest.mark.skipif(not CAN_FORK, reason="no copy is made here")
def test_the_half_answer_of_a_copy_that_was_killed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was unpickled, which raised an error in the program."""
    here = os.getpid()

    def written(descriptor: int, data: memoryview) -> int:
        os.writev(descriptor, [data[: len(data) // 2]])
        os._exit(1)

    def work() -> list[int]:
        if os.getpid() != here:
            monkeypatch.setattr(os, "write", written)
        return list(range(1000))

    assert in_fork(work) == list(range(1000))
    answer = Answer(work)
    answer.wait()
    with pytest.raises(MemoryError):
        answer.read()
