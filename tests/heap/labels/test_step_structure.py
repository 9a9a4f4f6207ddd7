"""The data of a step beside its text: full types and their bases, the references it stands for, retained size."""

from __future__ import annotations

import functools
import gc
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gradlife
import gradlife.heap
from gradlife.model.trace import PathStep

pytestmark = pytest.mark.whole

ROOMS: dict[str, object] = {}


class Guest:
    pass


class Shelf(OrderedDict[int, object]):
    pass


def steps_to_guest_in(make: Callable[[Guest], object]) -> dict[str, PathStep]:
    """By type, of the path from `ROOMS` to a guest that only a room knows."""
    guest = Guest()
    address = id(guest)
    ROOMS["room"] = make(guest)
    del guest
    return {step.object: step for step in gradlife.heap.snapshot().why(address).steps}


@pytest.fixture(autouse=True)
def rooms() -> Iterator[None]:
    yield
    ROOMS.clear()


@pytest.mark.parametrize("most", [None, 7])
def test_a_deque_says_how_much_it_may_hold(most: int | None) -> None:
    step = steps_to_guest_in(lambda guest: deque([guest], maxlen=most))["deque"]
    assert (step.length, step.most) == (1, most)


@pytest.mark.parametrize("most", [None, 3])
def test_an_lru_cache_says_how_much_it_may_hold_and_whose_it_is(most: int | None) -> None:
    @functools.lru_cache(maxsize=most)
    def room_of(guest: Guest) -> int:
        return 1

    def ask(guest: Guest) -> object:
        room_of(guest)
        return room_of

    step = steps_to_guest_in(ask)["_lru_cache_wrapper"]
    assert step.most == most
    assert "room_of (test_step_structure.py:" in step.detail


def test_bases_show_what_a_class_of_the_program_is() -> None:
    step = steps_to_guest_in(lambda guest: Shelf({1: guest}))["Shelf"]
    assert step.type.endswith("test_step_structure.Shelf")
    assert step.bases[:2] == ("collections.OrderedDict", "dict")
    assert step.is_a("dict")
    assert not step.is_a("list")


def closing_over(guest: Guest) -> object:
    return lambda: guest


def test_a_closure_is_one_step_that_stands_for_three_references() -> None:
    hops = steps_to_guest_in(closing_over)["function"].hops
    assert [(hop.type, hop.relation) for hop in hops] == [("function", "internal"), ("tuple", "item"), ("cell", "cell")]


def test_a_function_says_where_it_is_defined() -> None:
    assert "(test_step_structure.py:" in steps_to_guest_in(closing_over)["function"].detail


def test_a_cycle_does_not_begin_inside_an_object() -> None:
    guest = Guest()
    guest.itself = [guest]  # type: ignore[attr-defined]
    address = id(guest)
    gc.disable()
    del guest
    cycle = gradlife.heap.snapshot().why(address).cycle
    gc.enable()
    assert [step.object for step in cycle] == ["Guest", "list"]
    assert [step.via for step in cycle] == [".itself", "[0]"]


def test_bases_are_kept_in_a_file(tmp_path: Path) -> None:
    guest = Guest()
    address = id(guest)
    ROOMS["shelf"] = Shelf({1: guest})
    del guest
    gradlife.heap.snapshot().save(tmp_path / "one.glheap")
    steps = gradlife.heap.open_snapshot(tmp_path / "one.glheap").why(address).steps
    assert next(step for step in steps if step.object == "Shelf").is_a("collections.OrderedDict")


@pytest.mark.torch
def test_a_tensor_says_what_hangs_on_it() -> None:
    import torch

    weight = torch.ones(4, requires_grad=True)
    whole = torch.ones(64, 64)
    for tensor, grad_fn, is_view in [(weight, "", False), (weight * 2, "MulBackward0", False), (whole[0], "", True)]:
        facts = gradlife.why(tensor).tensor
        assert facts is not None
        assert (facts.grad_fn, facts.is_view) == (grad_fn, is_view)
    weight.sum().backward()
    facts = gradlife.why(weight).tensor
    assert facts is not None
    assert not facts.is_view


@pytest.mark.torch
def test_a_tensor_of_a_custom_function_names_it() -> None:
    import torch

    class Twice(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    facts = gradlife.why(Twice.apply(torch.ones(4, requires_grad=True))).tensor
    assert facts is not None
    assert facts.grad_fn == "TwiceBackward"


@pytest.mark.torch
def test_a_view_knows_the_bytes_of_its_storage() -> None:
    import torch

    row = torch.ones(64, 64)[0]
    facts = gradlife.heap.snapshot().why(id(row)).tensor
    assert facts is not None
    assert facts.storage_bytes is not None
    assert facts.storage_bytes == 64 * 64 * 4


def test_an_object_that_is_no_tensor_has_no_facts_of_one() -> None:
    guest = Guest()
    ROOMS["guest"] = [guest]
    assert gradlife.why(guest).tensor is None


class Host:
    pass


def test_what_hangs_on_a_cycle_is_reported_with_the_path_to_it() -> None:
    host, guest = Host(), Guest()
    host.itself = host  # type: ignore[attr-defined]
    host.guests = [guest]  # type: ignore[attr-defined]
    address = id(guest)
    gc.disable()
    del host, guest
    trace = gradlife.heap.snapshot().why(address)
    gc.enable()
    assert trace.steps == ()
    assert [(step.object, step.via) for step in trace.cycle] == [("Host", ".itself")]
    assert [(step.object, step.via) for step in trace.tail] == [("Host", ".guests"), ("list", "[0]"), ("Guest", "")]


def test_of_several_cycles_the_nearest_is_reported() -> None:
    far, near, guest = Host(), Host(), Guest()
    far.itself, near.itself = far, near  # type: ignore[attr-defined]
    far.friend = near  # type: ignore[attr-defined]
    near.guest = guest  # type: ignore[attr-defined]
    address, near_address = id(guest), id(near)
    gc.disable()
    del far, near, guest
    snapshot = gradlife.heap.snapshot()
    gc.enable()
    assert [step.via for step in snapshot.why(address).tail] == [".guest", ""]
    assert [step.via for step in snapshot.why(near_address).cycle] == [".itself"]


def test_of_paths_alike_the_one_that_was_written_first_is_reported() -> None:
    addresses = []
    gc.disable()
    for _ in range(5):
        guest, host = Guest(), Host()
        lists = [[guest] for _ in range(5)]
        host.itself = host  # type: ignore[attr-defined]
        host.first, host.second = lists[3], lists[1]  # type: ignore[attr-defined]
        addresses.append(id(guest))
        del guest, host, lists
    snapshot = gradlife.heap.snapshot()
    gc.enable()
    assert {snapshot.why(address).tail[0].via for address in addresses} == {".first"}


def test_an_object_in_a_cycle_has_no_tail() -> None:
    host = Host()
    host.itself = host  # type: ignore[attr-defined]
    address = id(host)
    gc.disable()
    del host
    assert gradlife.heap.snapshot().why(address).tail == ()
    gc.enable()
