"""Snapshots at the return of the function that takes the steps."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

from gradlife.hunting.session.last_snapshot import Returns
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.steps.schedule import Schedule


def watched(returns: Returns, steps: int) -> None:
    """A function that takes steps."""
    step = returns.around(lambda: False)
    for _ in range(steps):
        step()


@pytest.fixture
def hunt() -> Hunt:
    return Hunt(Schedule(may_end=True))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each snapshot that is asked for."""
    found: list[int] = []
    monkeypatch.setattr(Returns, "_take_snapshot", lambda self: found.append(1))
    return found


@pytest.fixture(autouse=True)
def no_profile() -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(None)
    yield
    sys.setprofile(before)


@pytest.mark.parametrize(("steps", "snapshots"), [(1, 0), (2, 1), (9, 1)])
def test_a_function_has_the_loop_if_two_steps_are_taken_in_it(
    hunt: Hunt, asked: list[int], steps: int, snapshots: int
) -> None:
    returns = Returns(hunt, threading.RLock())
    watched(returns, steps)
    assert len(asked) == snapshots
    returns.stop()
    assert sys.getprofile() is None


def test_a_generator_that_pauses_has_not_returned(hunt: Hunt, asked: list[int]) -> None:
    returns = Returns(hunt, threading.RLock())
    step = returns.around(lambda: False)

    def steps() -> Iterator[None]:
        for _ in range(3):
            step()
            step()
            yield

    for _ in steps():
        assert asked == []
    assert asked == [1]
    returns.stop()


def test_a_coroutine_that_waits_has_not_returned(hunt: Hunt, asked: list[int]) -> None:
    returns = Returns(hunt, threading.RLock())
    step = returns.around(lambda: False)

    async def train() -> None:
        for _ in range(3):
            step()
            await asyncio.sleep(0)
            assert asked == []

    asyncio.run(train())
    assert asked[:1] == [1]
    returns.stop()


def test_a_program_that_profiles_itself_keeps_its_profile(hunt: Hunt, asked: list[int]) -> None:
    def own(*_: Any) -> None:
        return None

    for first in (own, None):
        sys.setprofile(first)
        returns = Returns(hunt, threading.RLock())
        step: Callable[[], bool] = returns.around(lambda: False)
        step()
        sys.setprofile(own)
        step()
        assert sys.getprofile() is own
        sys.setprofile(None)
        step()
        assert sys.getprofile() is None


def test_a_thread_that_watches_no_longer_profiles_after_another_thread_has_ended_the_watch(
    hunt: Hunt, asked: list[int]
) -> None:
    returns = Returns(hunt, threading.RLock())
    step = returns.around(lambda: False)
    step()
    other = threading.Thread(target=step)
    other.start()
    other.join()
    watched(returns, 2)
    assert (sys.getprofile(), asked) == (None, [])


def test_an_error_of_the_look_is_none_of_the_programs(hunt: Hunt) -> None:
    hunt.snapshots = [None, None]  # type: ignore[list-item]  # not snapshots
    returns = Returns(hunt, threading.RLock())
    returns._steps[0] = 1
    returns._take_snapshot()
    assert hunt.at_return is None
    returns.stop()
