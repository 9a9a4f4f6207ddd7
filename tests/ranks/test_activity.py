"""Whether ranks still work."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from gradlife.ranks import activity
from gradlife.ranks.activity import Activity, Usage, usage_below

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")


@pytest.fixture
def usages(monkeypatch: pytest.MonkeyPatch) -> list[Usage]:
    """What is used at each second from now on."""
    found: list[Usage] = []
    seconds = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))
    monkeypatch.setattr(activity, "usage_below", lambda parents: found.pop(0))
    return found


def idle(usages: list[Usage], *rows: tuple[float, bool]) -> list[float]:
    usages += [Usage(*row) for row in rows]
    watched = Activity()
    return [watched.idle_seconds({1}) for _ in rows]


def test_a_rank_that_only_waits_is_idle(usages: list[Usage]) -> None:
    assert idle(usages, (7.0, False), (7.0, False), (7.01, False)) == [0, 1, 2]


def test_a_rank_that_computes_is_not_idle(usages: list[Usage]) -> None:
    assert idle(usages, (7.0, False), (7.5, False), (8.0, False)) == [0, 0, 0]


def test_a_rank_that_waits_for_a_processor_is_not_idle(usages: list[Usage]) -> None:
    assert idle(usages, (7.0, False), (7.0, True), (7.0, False)) == [0, 0, 1]


def test_seconds_of_descendants_count_and_not_those_of_the_process_itself() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert usage_below({os.getpid()}).seconds >= 0.1
        assert usage_below({child.pid}) == Usage(0, False)
        child.stdin.write(b"\n")
