"""Places that hold one thing which takes more and more."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.hunting.growth.inplace_growth import gets_pieces, is_replaced, place_of, places_that_grow
from gradlife.hunting.growth.reachable_growth import GrownGroup, evidence_of
from gradlife.hunting.snapshots.step_snapshots import Collect, take_snapshot

numpy = pytest.importorskip("numpy")

STEPS = 7
LOOKS = 6


class Log:
    """Holds an array."""

    def __init__(self) -> None:
        self.data: Any = numpy.zeros(4096)


def hunted(step: Callable[[int], object]) -> list[GrownGroup]:
    """Return the in-place growth in rounds of a few steps."""
    return hunted_with_graph(step)[1]


def hunted_with_graph(step: Callable[[int], object]) -> tuple[Any, list[GrownGroup]]:
    """Return the last graph, and the in-place growth in rounds of a few steps."""
    seen = [take_snapshot(0, collect=Collect.NOTHING)]
    for number in range(1, LOOKS):
        for at in range(STEPS):
            step(STEPS * (number - 1) + at)
        seen.append(take_snapshot(STEPS * number, collect=Collect.NOTHING))
    evidence = evidence_of(seen)
    return evidence.graph, [one for one in places_that_grow(evidence, []) if "Log" in holder_of(one, evidence.graph)]


def holder_of(one: GrownGroup, graph: object) -> str:
    """The type of what has it."""
    assert one.group.anchor is not None
    return str(graph.describe(one.group.anchor)[1])  # type: ignore[attr-defined]


module_log = Log()


@pytest.mark.whole
def test_a_tensor_that_gets_longer_is_found_though_the_running_step_has_a_view_of_it_too() -> None:
    """Nothing but the process holds its storage alone: a module's variable does, and a variable of a running function."""
    module_log.data = torch.zeros(512)
    given: Any = None

    def step(number: int) -> None:
        nonlocal given
        module_log.data = torch.cat([module_log.data, torch.zeros(512)])
        given = module_log.data[:64]

    [found] = hunted(step)
    assert found.per_step.bytes == 2048
    assert given is not None
    module_log.data = given = None


@pytest.mark.whole
def test_an_array_that_every_step_makes_longer_is_reported_with_its_rate() -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = numpy.concatenate([log.data, numpy.zeros(100)])

    [found] = hunted(step)
    assert found.per_step.bytes == 800.0
    assert found.per_step.tensors == 0.0


@pytest.mark.whole
def test_a_tensor_that_stands_where_the_last_one_stood_is_reported_what_holds_it() -> None:
    """It was taken for the place itself, and its own memory for what grows there."""
    log = Log()
    log.data = torch.zeros(64)

    def step(number: int) -> None:
        items = log.data.tolist()
        log.data = None  # as a rule the next wrapper gets its block
        log.data = torch.tensor([*items, *range(16)])

    [found] = hunted(step)
    assert found.per_step.bytes == 64.0


@pytest.mark.whole
def test_an_array_that_is_replaced_by_one_as_large_is_not() -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = numpy.zeros(4096)

    assert hunted(step) == []


@pytest.mark.whole
def test_batches_that_are_now_larger_and_now_smaller_are_not() -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = numpy.zeros(5000 + 300 * (number % 4))

    assert hunted(step) == []


@pytest.mark.whole
def test_an_array_that_is_full_after_a_while_is_not() -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = numpy.concatenate([log.data, numpy.zeros(100)])[: 4096 + 100 * 3 * STEPS].copy()

    assert hunted(step) == []


def test_two_rounds_are_too_few() -> None:
    log = Log()
    seen = []
    for number in range(3):
        log.data = numpy.zeros(4096 + 100 * number)
        seen.append(take_snapshot(number, collect=Collect.NOTHING))
    assert places_that_grow(evidence_of(seen), []) == []


REPLACED = """
import gradlife, torch
from types import SimpleNamespace
grown, replaced = SimpleNamespace(seen=torch.zeros(64)), SimpleNamespace(batch=None)
def step(number):
    grown.seen = torch.cat([grown.seen, torch.ones(16)])
    replaced.batch = torch.ones(64 + 16 * number)
report = gradlife.hunt(step, steps=90)
print([(one.code, one.trace.steps[-2].via) for one in report.findings])
print([one.kind for one in report.explained])
"""


@pytest.mark.whole
def test_a_tensor_that_is_made_of_the_last_one_leaks_and_one_that_only_takes_its_place_does_not() -> None:
    pytest.importorskip("torch")
    command = [sys.executable, "-c", REPLACED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.splitlines() == ["[('GL704', '.seen')]", "['larger in each step']"]


@pytest.mark.whole
@pytest.mark.parametrize("part", ["x" * 1000, b"x" * 1000], ids=["str", "bytes"])
def test_a_text_that_every_step_makes_longer_is_reported_with_its_rate(part: Any) -> None:
    log = Log()
    log.data = 10 * part

    def step(number: int) -> None:
        log.data += part

    [found] = hunted(step)
    assert found.per_step.bytes == pytest.approx(1000, rel=0.01)


@pytest.mark.whole
@pytest.mark.parametrize(("make", "is_tensor"), [(torch.zeros, True), (numpy.zeros, False), ("x".__mul__, False)])
def test_only_of_a_tensor_it_is_known_that_it_was_not_made_of_the_last(make: Any, is_tensor: bool) -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = make(8192 + 500 * number)

    step(0)
    graph, [found] = hunted_with_graph(step)
    assert is_replaced(graph, found, {place_of(graph, found)}) == is_tensor
    assert not is_replaced(graph, found, set())


@pytest.mark.whole
def test_a_small_tensor_beside_an_array_that_gets_longer_is_no_part_of_it() -> None:
    log = Log()

    def step(number: int) -> None:
        log.data = (numpy.concatenate([log.data[0], numpy.zeros(100)]), torch.zeros(64))

    log.data = (numpy.zeros(4096), torch.zeros(64))
    graph, [found] = hunted_with_graph(step)
    assert {graph.type(node) for node in found.group.members if graph.kind(node) == "storage"} == set()
    assert "numpy.ndarray" in {graph.type(node) for node in found.group.members}


@pytest.mark.whole
@pytest.mark.parametrize(("parts", "count"), [((100, 100, 100), 1), ((100, 100, 180), 0)])
def test_in_three_rounds_what_grows_evenly_is_found(parts: tuple[int, ...], count: int) -> None:
    """A hunt with `--steps 40` has three rounds; a text that every step made longer was called clean."""
    log = Log()
    seen = [take_snapshot(0, collect=Collect.NOTHING)]
    for number, part in enumerate(parts, 1):
        for _ in range(STEPS):
            log.data = numpy.concatenate([log.data, numpy.zeros(part)])
        seen.append(take_snapshot(STEPS * number, collect=Collect.NOTHING))
    evidence = evidence_of(seen)
    found = [one for one in places_that_grow(evidence, []) if "Log" in holder_of(one, evidence.graph)]
    assert [one.per_step.bytes for one in found] == [800.0] * count


class Written(io.StringIO):
    """A class of the program."""


@pytest.mark.whole
@pytest.mark.parametrize("make", [io.StringIO, io.BytesIO, Written])
def test_a_file_in_memory_that_every_step_writes_to_is_reported_as_one_thing_with_its_rate(make: Any) -> None:
    """It was growth whose cause was not found. Python 3.11 keeps long texts apart from the file until it is read."""
    log = Log()
    log.data = make()
    log.data.write(part_of(log.data, 10_000))

    def step(number: int) -> None:
        log.data.write(part_of(log.data, 5_000))

    graph, [found] = hunted_with_graph(step)
    assert found.per_step.bytes == 5_000.0
    assert graph.describe(found.group.tops[0]).address == id(log.data)


def part_of(file: Any, length: int) -> Any:
    """Return what can be written to a file in memory."""
    return length * (b"x" if isinstance(file, io.BytesIO) else "x")


@pytest.mark.whole
def test_a_file_in_memory_that_is_emptied_after_use_does_not_grow() -> None:
    log = Log()
    log.data = io.BytesIO()

    def step(number: int) -> None:
        log.data.write(bytes(10_000 + number))
        log.data.seek(0)
        log.data.truncate()

    assert hunted(step) == []


def test_a_tensor_that_gets_longer_is_seen_beside_texts_of_each_of_its_sizes() -> None:
    """It was not looked for: an object of the same size was there before."""
    log, texts = Log(), ["x" * length for length in range(600, 4000)]
    log.data = torch.zeros(64)

    def step(number: int) -> None:
        log.data = torch.cat([log.data, torch.zeros(4)])

    [found] = hunted(step)
    assert found.per_step.bytes == pytest.approx(16, abs=1)
    assert len(texts) == 3400


def grown_locals(parts: Callable[[int], int], batches: Callable[[int], int]) -> list[float]:
    """Return the bytes per step of each local variable of this function that grows in place."""
    bank, batch = torch.zeros(64), torch.zeros(64)
    seen = [take_snapshot(0, collect=Collect.NOTHING)]
    for number in range(1, LOOKS):
        for at in range(STEPS):
            step = STEPS * (number - 1) + at
            bank = torch.cat([bank, torch.zeros(parts(step))]) if parts(step) else bank
            batch = torch.zeros(batches(step))
        seen.append(take_snapshot(STEPS * number, collect=Collect.NOTHING))
    evidence = evidence_of(seen)
    frames = [one for one in places_that_grow(evidence, []) if evidence.graph.kind(one.group.anchor or 0) == "root"]
    assert batch.numel() == batch_size(STEPS * (LOOKS - 1) - 1)
    return [one.per_step.bytes for one in frames]


def batch_size(step: int) -> int:
    """Return the length of a batch, by the round."""
    return (900, 200, 700, 100, 1000)[step // STEPS]


@pytest.mark.whole
def test_a_local_variable_that_gets_longer_is_found_beside_a_batch_of_varying_size() -> None:
    """A running call holds it; only objects and global variables were looked at, and all of these together."""
    assert grown_locals(lambda step: 256, batch_size) == [1024.0]


@pytest.mark.whole
def test_local_variables_that_get_no_longer_are_not() -> None:
    assert grown_locals(lambda step: 0, batch_size) == []


@pytest.mark.parametrize(
    ("added", "found"),
    [
        ((0, 8, 8, 16, 24, 24), True),
        ((0, 0, 24, 48, 72, 72), True),
        ((0, 80, 93, 131, 202, 240), False),  # no pieces of one size
        ((0, 8, 8, 0, 24, 24), False),  # a round as long as that of two pieces had none
        ((8, 8, -8, 16, 24, 24), False),
        ((0, 0, 0, 0, 8, 8), False),
    ],
)
def test_what_grows_by_equal_pieces_now_and_then_grows(added: tuple[int, ...], found: bool) -> None:
    """A bank that got a row every 25 steps was clean: the first round is of five steps."""
    assert gets_pieces(added, (5, 20, 28, 40, 60, 60)) == found


@pytest.mark.whole
@pytest.mark.parametrize(("count", "found"), [(1, 0), (8, 1)])
def test_an_array_with_one_more_number_for_each_step_is_no_more_than_a_list_of_them(count: int, found: int) -> None:
    """`history = np.append(history, loss.item())` was a minor leak, the same numbers in a list were none."""
    log = Log()

    def step(number: int) -> None:
        log.data = numpy.append(log.data, numpy.zeros(count))

    assert len(hunted_with_graph(step)[1]) == found
