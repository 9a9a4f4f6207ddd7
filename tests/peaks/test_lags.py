"""Memory that is made before it is needed."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest

import gradlife
from gradlife.model.peak.report import PeakReport, Use
from gradlife.reports.peak.words import headline, life, verdict

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def early_noise() -> None:
    noise = [torch.ones(30_000), torch.ones(10_000)]
    work = torch.ones(90_000)
    total = work.sum()
    del work
    for one in noise:
        total = total + one.sum()


def late_noise() -> None:
    work = torch.ones(90_000)
    total = work.sum()
    del work
    noise = [torch.ones(30_000), torch.ones(10_000)]
    for one in noise:
        total = total + one.sum()


@pytest.mark.whole
def test_a_buffer_that_is_made_too_early_could_be_made_where_it_is_read_first() -> None:
    before, after = gradlife.peak(early_noise), gradlife.peak(late_noise)
    [saving] = before.savings
    first = early_noise.__code__.co_firstlineno
    assert [edit.text for edit in saving.edits] == [
        f"make `noise` just above line {first + 6}, not at line {first + 1}"
    ]
    assert (saving.use, saving.bytes, saving.storages) == (Use.LAG, 160_000, 2)
    assert (saving.peak_after, after.savings) == (after.peak_bytes, ())


def words(report: PeakReport) -> tuple[str, str, str]:
    """The verdict, the headline without the peak, and the life of the first saving."""
    return verdict(report), headline(report).partition(": ")[2], life(report.savings[0], report.target)


@pytest.mark.whole
def test_the_report_tells_what_is_held_before_its_first_use() -> None:
    report = gradlife.peak(early_noise)
    first, name = early_noise.__code__.co_firstlineno, "test_lags.py"
    share = f"{100 * 160_000 / report.peak_bytes:.1f} %"
    assert words(report) == (
        "lag",
        f"{share} of it is held before its first use",
        f"made at {name}:{first + 1}, first read at {name}:{first + 6} (sum)",
    )


def derived() -> None:
    """What is made of something that is then deleted: if it were made later, the other would live longer."""
    base = torch.ones(90_000)
    part = base * 2
    del base
    work = torch.ones(90_000)
    total = work.sum()
    del work
    (part + total).sum()


def unpacked() -> None:
    """A loader gives both tensors at once."""
    for x, y in [(torch.ones(50_000), torch.ones(50_000))]:
        total = (x + 1).sum()
        (y + total).sum()


@pytest.mark.parametrize("step", [derived, unpacked])
@pytest.mark.whole
def test_what_cannot_be_made_later_is_no_saving(step: Callable[[], None]) -> None:
    assert [saving for saving in gradlife.peak(step).savings if saving.use is Use.LAG] == []


QUEUE: collections.deque[Any] = collections.deque()


def take_from_queue() -> None:
    x = QUEUE.popleft()
    QUEUE.append(torch.ones(50_000))
    (x + 1).sum()


def make_and_use() -> None:
    x = torch.ones(50_000)
    (x + 1).sum()


@pytest.mark.whole
def test_a_queue_holds_what_later_steps_read() -> None:
    QUEUE.extend(torch.ones(50_000) for _ in range(4))
    before = gradlife.peak(take_from_queue)
    QUEUE.clear()
    after = gradlife.peak(make_and_use)
    [saving] = before.savings
    line = take_from_queue.__code__.co_firstlineno + 2
    assert [edit.text for edit in saving.edits] == [f"put fewer items into `QUEUE` ahead at line {line}"]
    assert saving.holder == f"global QUEUE[*] of {__name__}"
    assert (saving.storages, saving.saved_bytes, before.peak_bytes - after.peak_bytes) == (4, 800_000, 800_000)
