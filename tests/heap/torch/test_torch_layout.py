"""The layout of PyTorch's objects: what is wrong in it is noticed on toys, given up and said; nothing of it is followed."""

from __future__ import annotations

import _thread
import gc
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap import refs, snapshot, why
from gradlife.heap.torch_layout import torch as calibration
from gradlife.heap.torch_layout.checks import failed_fields
from gradlife.heap.torch_layout.fields import CLASSES, find_layout
from gradlife.heap.torch_layout.labels import ITS_IMPL
from gradlife.heap.torch_layout.specimens import Toys
from gradlife.model.trace import Lifetime
from leftovers import run_in_child

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

forward_ad = pytest.importorskip("torch.autograd.forward_ad")

with forward_ad.dual_level():  # tangents exist within a level only
    LAYOUT = find_layout(Toys(torch))


@pytest.fixture(autouse=True)
def _calibrated_again() -> Iterator[None]:
    with forward_ad.dual_level():
        yield
    calibration._state.clear()
    calibration.ensure_calibrated()


def calibrated_with(monkeypatch: pytest.MonkeyPatch, **wrong: Any) -> str:
    """Return the limits after a calibration that finds these fields wrong, or not at all."""
    found = {**LAYOUT, **wrong}
    found = {name: value for name, value in found.items() if value is not None}
    monkeypatch.setattr(calibration, "find_layout", lambda _: dict(found))
    return " ".join(calibration.calibrate(torch))


TOYS = Toys(torch)


def look_at_all_kinds() -> None:
    """Objects of every kind, with whatever layout there is, and what they refer to."""
    start = (
        TOYS.leaf,
        TOYS.storage,
        TOYS.node,
        TOYS.custom.grad_fn,
        TOYS.packed_leaf,
        TOYS.picked,
        TOYS.view,
        TOYS.dual,
        *([TOYS.saved] if hasattr(torch._C._autograd, "_make_saved_tensor") else []),
        TOYS.shown,
    )
    found = {
        shown._cdata for shown in (TOYS.leaf, TOYS.result, TOYS.view, TOYS.storage, TOYS.product, TOYS.meta_storage)
    }
    found |= {address for shown in start for _, _, kind, address in _heap._torch_references(shown) if kind != "python"}
    for address in [*found]:
        found |= {target for _, _, kind, target in _heap._torch_references(address) if kind != "python"}
    for address in found:
        _heap._torch_references(address)
        _heap._torch_description(address)


def test_the_layout_of_this_release_is_whole() -> None:
    assert set(LAYOUT) == set(calibration.MEANINGS)
    assert calibration.calibrate(torch) == ()


OFFSETS = sorted(name for name, value in LAYOUT.items() if type(value) is int)


#: The word behind each of the first two leads to the tangents too, and that behind the third to the same slot: it is its
#: owner's.
#: Nothing is lost by a word more of what tensors are made of. That sizes are a tensor can be seen on a nested one only,
#: and the first of these warns, which is for the program to hear. The number of a node is found by its value in several
#: nodes, and no reference depends on it. The size of an empty storage's block is no offset: it is measured.
UNNOTICED = {
    "tangents_in_meta",
    "tangents_in_slot",
    "slot_in_saved_tensor",
    "impl_bytes",
    "shapes_in_node",
    "shape_bytes",
    "sizes_in_shape",
    "sort_in_shape",
    "sequence_number_in_node",
    "storage_block",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*OFFSETS} - UNNOTICED))
def test_wrong_offset_is_given_up_and_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = calibrated_with(monkeypatch, **{name: LAYOUT[name] + 8})
    assert "not found: " in said, name


@pytest.mark.parametrize("name", OFFSETS)
def test_missing_offset_is_said_by_its_meaning(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = calibrated_with(monkeypatch, **{name: None})
    assert calibration.MEANINGS[name] in said
    assert name in said


# A context's node is a node all the same, and read as one; nobody counts on the undefined tensor, whatever its class;
# and no memory is mapped only to see whether it is known.
@pytest.mark.parametrize("name", sorted(CLASSES.keys() - {"context_node_class", "undefined_class", "mapping_class"}))
def test_wrong_class_name_is_given_up_and_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not found: " in calibrated_with(monkeypatch, **{name: "c10::NoSuchClass"})


@pytest.mark.parametrize("name", ["are_counts_coupled", "are_nodes_coupled", "context_owns_node"])
def test_wrong_ownership_is_given_up_and_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not found: " in calibrated_with(monkeypatch, **{name: not LAYOUT[name]})


def test_names_in_another_order_are_given_up_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = {name: names[::-1] for name, names in LAYOUT["saved_names"].items()}
    assert "names of saved tensors" in calibrated_with(monkeypatch, saved_names=turned)


@pytest.mark.parametrize("sort", ["object", "plain", "versioned"])
def test_functions_over_something_else_are_given_up_and_said(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dict.fromkeys(LAYOUT["closures"], sort)
    assert "owners of borrowed storage memory" in calibrated_with(monkeypatch, closures=wrong)


@pytest.mark.parametrize("wrong", [{"tensor_type": dict}, dict.fromkeys(OFFSETS, 16)])
def test_what_is_left_of_a_wrong_layout_can_be_used(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    calibrated_with(monkeypatch, **wrong)
    look_at_all_kinds()
    x = torch.ones(3, requires_grad=True)
    y = (x * x).sum()
    assert why(x).lifetime is Lifetime.HELD
    assert refs(y).count > 0


@pytest.mark.parametrize("name", OFFSETS)
def test_wrong_offset_that_nobody_checked_crashes_nothing(name: str) -> None:
    calibration.ensure_calibrated()
    for value in (0, 8, 56, 4096, 65528):
        _heap._set_torch_layout({**LAYOUT, name: value})
        look_at_all_kinds()


def test_what_most_toys_show_is_believed() -> None:
    found = [{"a": 8, "b": 16, "c": 24}, {"a": 8, "b": 24}, {"a": 40, "b": 32, "c": 24}]
    assert calibration.agreed(found) == {"a": 8, "c": 24}


def test_words_that_lead_there_by_chance_once_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(100))

    def found_wrong_at_first(toys: Toys) -> dict[str, Any]:
        is_first = next(calls) < calibration.TOYS_EACH
        return {**find_layout(toys), **({"grad_in_meta": LAYOUT["grad_in_meta"] + 8} if is_first else {})}

    monkeypatch.setattr(calibration, "find_layout", found_wrong_at_first)
    assert calibration.calibrate(torch) == ()


def test_release_whose_dlpack_hands_over_a_view_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """As up to 2.7, which also lacks versioned DLPack."""

    def by_view(toys: Toys) -> Any:
        return torch._C._from_dlpack(torch._C._to_dlpack(toys.big.view(-1)))

    def missing(toys: Toys) -> Any:
        raise AttributeError("_to_dlpack_versioned")

    monkeypatch.setattr(Toys, "handed_over", property(by_view))
    monkeypatch.setattr(Toys, "handed_over_by_version", property(missing))
    assert calibration.calibrate(torch) == ()


def test_release_without_private_names_is_said() -> None:
    other = types.SimpleNamespace(__version__="9.9.9", _C=types.SimpleNamespace(), autograd=None)
    [said] = calibration.calibrate(other)
    assert said.startswith("in PyTorch 9.9.9: tensors, storages, custom Functions, grad nodes")


def test_layout_that_is_being_verified_is_used_by_no_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder that runs meanwhile would follow words that are no addresses."""
    calibration.calibrate(torch)
    seen: list[Any] = []

    def look(of: Toys, known: set[str]) -> set[str]:
        thread = threading.Thread(target=lambda: seen.append(_heap._torch_references(TOYS.leaf)[0][0]))
        thread.start()
        thread.join()
        return failed_fields(of, known)

    monkeypatch.setattr(calibration, "failed_fields", look)
    assert "C++ object behind a tensor" in calibrated_with(monkeypatch, impl_in_wrapper=8)
    assert set(seen) == {ITS_IMPL}


def test_field_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="tensor_type is to be a type"):
        _heap._set_torch_layout({"tensor_type": 3})
    with pytest.raises(ValueError, match="torch's layout has no 'colour'"):
        _heap._set_torch_layout({"colour": 3})


def test_what_cannot_be_read_is_listed_in_every_result(monkeypatch: pytest.MonkeyPatch) -> None:
    said = calibrated_with(monkeypatch, grad_in_meta=None)
    calibration._state.update(known=(torch, "numpy" in sys.modules), limits=(said,))
    assert said in why(torch.ones(1)).limits
    assert said in snapshot().limits


def test_modes_hooks_and_devices_of_the_program_take_no_part() -> None:
    def refused(*_: Any) -> Any:
        raise AssertionError("this is the program's own")

    with torch.autograd.graph.saved_tensors_hooks(refused, refused), torch.inference_mode(), torch.device("meta"):
        assert calibration.calibrate(torch) == ()


def test_finding_the_layout_leaves_nothing_behind() -> None:
    def calibrate() -> None:
        threads = _thread._count()
        calibration.calibrate(torch)
        while _thread._count() > threads:  # the thread that looked has answered, but its function may still be there
            time.sleep(0.001)

    def left() -> tuple[int, int]:
        calibrate()
        gc.collect()
        before = len(gc.get_objects())
        calibrate()
        return len(gc.get_objects()) - before, gc.collect()

    objects, unreachable = run_in_child(left)  # no other thread makes objects there
    assert objects <= 2
    assert unreachable == 0


def test_torch_that_another_thread_is_importing_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration._state.clear()
    monkeypatch.setattr(torch.__spec__, "_initializing", True, raising=False)
    assert (calibration.ensure_calibrated(), calibration._state) == ((), {})
    monkeypatch.setattr(torch.__spec__, "_initializing", False, raising=False)
    calibration.ensure_calibrated()
    assert calibration._state["known"][0] is torch


def test_what_is_missing_is_told_by_kind_and_whether_it_hides_a_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration.ensure_calibrated()
    assert calibration.unread_layout() is None
    monkeypatch.setitem(calibration._state, "limits", calibrated_with(monkeypatch, dtype_in_impl=None))
    unread = calibration.unread_layout()
    assert unread is not None
    assert (unread.kinds, unread.hides_references, unread.torch) == (
        ("sizes of tensors", "dtypes"),
        False,
        torch.__version__,
    )
    monkeypatch.setitem(calibration._state, "limits", calibrated_with(monkeypatch, edges_in_node=None))
    unread = calibration.unread_layout()
    assert unread is not None
    assert unread.hides_references


@pytest.mark.parametrize(
    ("version", "release"), [("2.13.0+cpu", (2, 13)), ("2.16.0a0+git1", (2, 16)), ("unknown", ()), ("", ())]
)
def test_a_release_is_the_first_two_numbers_of_a_version(version: str, release: tuple[int, ...]) -> None:
    assert calibration.release_of(version) == release
