"""Programs of plain data, a leak beside its look-alike: lists in a dict, open files, arrays of numbers, cycles of arrays."""

from __future__ import annotations

import gc
import itertools
import tempfile
from array import array
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from gradlife.hunting.steps.schedule import Schedule  # noqa: E402
from gradlife.model.hunt import FindingKind, HuntReport  # noqa: E402
from script_hunts import Count, hunted  # noqa: E402

STEPS = 60


def report_of_steps(step: Callable[[int], object]) -> HuntReport:
    def program(count: Count) -> None:
        for number in range(STEPS):
            step(number)
            count()

    return hunted(Schedule(may_end=True), program)


def found_in(step: Callable[[int], object]) -> list[str]:
    report = report_of_steps(step)
    assert report.trouble == ""
    return [f"{one.diagnosis.code} {one.diagnosis.title}" for one in report.findings]


POSTED = [3 + (at * 5) % 11 for at in range(44)]


def posted(postings: dict[str, list[float]], number: int) -> None:
    """Add numbers to some of forty lists, unevenly."""
    for at, items in enumerate(postings.values()):
        items.extend(1e6 + number + part / 97 for part in range(POSTED[(at + number) % 44]))


@pytest.mark.whole
def test_lists_in_a_dict_that_each_get_a_little_are_one_leak() -> None:
    """Each list got less than counts, or too unevenly; together they got 9 kB a step."""
    postings: dict[str, list[float]] = {f"word {number}": [] for number in range(40)}
    assert found_in(lambda number: posted(postings, number)) == ["GL512 each step adds items to several containers"]


@pytest.mark.whole
def test_lists_in_a_dict_that_are_cut_do_not_grow() -> None:
    postings: dict[str, list[float]] = {f"word {number}": [] for number in range(40)}

    def step(number: int) -> None:
        posted(postings, number)
        for items in postings.values():
            del items[:-20]

    assert found_in(step) == []


@pytest.mark.whole
def test_files_left_open_are_a_leak() -> None:
    files: list[Any] = []
    try:
        found = found_in(lambda number: files.append(tempfile.TemporaryFile()))  # noqa: SIM115, it is to be left open
    finally:
        for one in files:
            one.close()
    assert found == ["GL512 each step leaves a file or a socket open"]


@pytest.mark.whole
def test_files_that_are_closed_and_dropped_are_none() -> None:
    files: list[Any] = []

    def step(number: int) -> None:
        files.append(tempfile.TemporaryFile())  # noqa: SIM115, it is closed in the next line
        files.pop(0).close()

    assert found_in(step) == []


@pytest.mark.whole
def test_an_array_of_numbers_that_gets_longer_is_named() -> None:
    """It was memory of native code that no object holds."""
    numbers = array("d")
    found = found_in(lambda number: numbers.extend(float(one + number) for one in range(1024)))
    assert found == ["GL704 a text or a buffer is made longer at each step"]


@pytest.mark.whole
def test_an_array_of_numbers_that_is_cut_does_not_grow() -> None:
    numbers = array("d")

    def step(number: int) -> None:
        numbers.extend(float(one + number) for one in range(1024))
        del numbers[:-512]

    assert found_in(step) == []


class Clip:
    """Frames, and a function that finds one of them."""

    def __init__(self, is_cycle: bool) -> None:
        self.frames = [numpy.ones((100, 100)) for _ in range(4)]
        if is_cycle:
            self.frame_at = lambda number: self.frames[number]


@pytest.mark.whole
@pytest.mark.parametrize(("is_cycle", "kinds"), [(True, [FindingKind.NEEDS_GC]), (False, [])])
def test_large_arrays_in_cycles_wait_for_the_collector(is_cycle: bool, kinds: list[FindingKind]) -> None:
    """A look for garbage asked for tensors only."""
    report = report_of_steps(lambda number: Clip(is_cycle))
    assert [one.kind for one in report.findings] == kinds


@pytest.mark.whole
@pytest.mark.parametrize("threshold", [700, 7000])
def test_a_cycle_says_how_much_of_it_waits_at_the_threshold_of_the_program(threshold: int) -> None:
    usual = gc.get_threshold()
    gc.set_threshold(threshold)
    try:
        [finding] = report_of_steps(lambda number: Clip(is_cycle=True)).findings
    finally:
        gc.set_threshold(*usual)
    waits = finding.waits
    assert waits is not None
    assert waits.threshold == threshold
    assert 2 <= waits.objects <= 12  # a clip, its list, function, closure and cell; the hunt frees some of its own
    assert waits.bytes == round(finding.per_step.retained_bytes * waits.steps)


@pytest.mark.whole
@pytest.mark.parametrize("is_copied", [True, False])
def test_a_dict_that_is_made_anew_with_one_more_tensor_is_found(is_copied: bool) -> None:
    """Where an untracked dict had stood, the new one was taken for that."""
    state: dict[str, Any] = {"settings": {}}
    names = itertools.count()

    def step(number: int) -> None:
        kept = state["settings"] if is_copied else {}
        state["settings"] = {**kept, f"input {next(names)}": torch.ones(16, 64)}
        _ = [{"a": one} for one in range(20)]  # dicts without containers, which the collector does not track

    assert bool(found_in(step)) == is_copied


class Heads(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Gets one more head at each step, or another in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.ModuleList([torch.nn.Linear(32, 4)])

    def add(self) -> None:
        self.heads.append(torch.nn.Linear(32, 4))

    def renew(self) -> None:
        self.heads[0] = torch.nn.Linear(32, 4)


@pytest.mark.whole
def test_a_list_of_modules_that_gets_longer_is_shown_where_it_is_filled() -> None:
    """It was a copy of the model for each step, made where the model was."""
    model = Heads()
    (found,) = report_of_steps(lambda number: model.add()).findings
    assert (found.diagnosis.code, found.stored_at and found.stored_at.source) == (
        "GL615",
        "self.heads.append(torch.nn.Linear(32, 4))",
    )


@pytest.mark.whole
def test_a_list_of_modules_whose_item_is_replaced_does_not_grow() -> None:
    model = Heads()
    assert found_in(lambda number: model.renew()) == []
