"""Looking at the engine: live counts, bytes, the event log, use counts and the drawing of who owns whom."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator

import pytest

import gradlife.engine as torch
from lifetimes import EVERY_PROFILE, doubling, failure, in_threads, leaf, nothing, save_input

KINDS = ["tensor", "storage", "node", "block", "saved", "hook", "context"]
EVENT_KINDS = {
    "created",
    "wrapped",
    "dropped",
    "flipped",
    "resurrected",
    "saved",
    "packed",
    "unpacked",
    "released",
    "hook",
    "destroyed",
}
CAPACITY = 65_536


@pytest.fixture(autouse=True)
def fresh_log() -> Iterator[None]:
    torch.clear_events()
    yield
    torch.log_events(True)


def more_than(before: dict[str, int]) -> dict[str, int]:
    now = torch.live_counts()
    return {kind: now[kind] - before[kind] for kind in now if now[kind] != before[kind]}


# --- live counts and bytes ---


def test_counts_name_every_kind() -> None:
    assert list(torch.live_counts()) == KINDS
    assert all(type(count) is int for count in torch.live_counts().values())


def test_counts_of_a_small_graph_are_exact() -> None:
    before = torch.live_counts()
    x = leaf()
    assert more_than(before) == {"tensor": 1, "storage": 1}
    y = x.sin()
    assert more_than(before) == {"tensor": 2, "storage": 2, "node": 2, "saved": 1}
    y.register_hook(nothing)
    assert more_than(before)["hook"] == 2
    y.sum().backward()
    assert more_than(before) == {"tensor": 3, "storage": 3, "node": 2, "hook": 2}
    del x, y
    assert more_than(before) == {}


def test_view_is_a_tensor_without_a_storage_of_its_own() -> None:
    before = torch.live_counts()
    x = torch.ones(4)
    views = [x[i:] for i in range(3)]
    assert more_than(before) == {"tensor": 4, "storage": 1}
    del views, x
    assert more_than(before) == {}


def test_context_is_counted_apart_from_its_node() -> None:
    before = torch.live_counts()
    y = doubling().apply(leaf())
    assert more_than(before)["context"] == 1
    assert more_than(before)["node"] == 2
    del y
    assert more_than(before) == {}


def test_bytes_are_those_of_live_storages_each_once() -> None:
    before = torch.live_bytes()
    x = torch.ones(100)
    assert torch.live_bytes() == before + 400
    view = x[:10]
    assert torch.live_bytes() == before + 400
    wide = torch.ones(100, dtype=torch.float64)
    assert torch.live_bytes() == before + 1200
    del x
    assert torch.live_bytes() == before + 1200
    del view, wide
    assert torch.live_bytes() == before


def test_empty_tensor_has_no_bytes() -> None:
    before = torch.live_bytes()
    x = torch.empty(0)
    assert torch.live_bytes() == before
    del x


def test_counts_returned_are_a_copy() -> None:
    torch.live_counts()["tensor"] = 10**6
    assert torch.live_counts()["tensor"] < 10**6


@pytest.mark.parametrize("profile", EVERY_PROFILE)
def test_counts_are_back_to_what_they_were_after_threads_built_and_dropped(profile: str) -> None:
    def work() -> None:
        with torch.profile(profile):
            for _ in range(20):
                doubling(save_input).apply(leaf()).sum().backward()

    gc.collect()
    before = torch.live_counts()
    in_threads(*[work] * 4)
    gc.collect()
    assert more_than(before) == {}


# --- events ---


def test_events_of_one_operation_in_order() -> None:
    x = leaf()
    torch.clear_events()
    y = x.sin()
    del y
    seen = [(event.kind, event.object_kind, event.name) for event in torch.events()]
    assert ("created", "node", "SinBackward0") in seen
    assert seen.index(("created", "node", "SinBackward0")) < seen.index(("destroyed", "node", "SinBackward0"))
    assert Counter(kind for kind, _, _ in seen)["created"] == Counter(kind for kind, _, _ in seen)["destroyed"]


def test_events_are_numbered_timed_and_of_known_kinds() -> None:
    doubling(save_input).apply(leaf()).sum().backward()
    result = torch.events()
    assert {event.kind for event in result} <= EVENT_KINDS
    assert [event.seq for event in result] == list(range(result[0].seq, result[0].seq + len(result)))
    assert [event.time for event in result] == sorted(event.time for event in result)
    assert {event.object_kind for event in result} <= set(KINDS)


def test_events_report_saving_hooks_and_release() -> None:
    y = leaf().sin()
    y.register_hook(nothing)
    y.sum().backward()
    kinds = [event.kind for event in torch.events() if event.name == "SinBackward0"]
    assert kinds.count("released") == 1
    assert kinds.index("created") < kinds.index("released")
    assert [event.detail for event in torch.events() if event.kind == "saved"] == ["input"]


def test_events_report_packing_and_unpacking() -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed):
        y = leaf().sin()
    y.sum().backward()
    kinds = [event.kind for event in torch.events()]
    assert (kinds.count("packed"), kinds.count("unpacked")) == (1, 1)
    assert kinds.index("packed") < kinds.index("unpacked")


def test_reading_with_clear_forgets_what_was_read() -> None:
    x = torch.ones(1)
    assert len(torch.events(clear=True)) > 0
    assert torch.events() == []
    del x
    assert [event.kind for event in torch.events()][:1] == ["dropped"]


def test_clearing_keeps_the_numbers_running() -> None:
    first = torch.ones(1)
    last = torch.events()[-1].seq
    torch.clear_events()
    second = torch.ones(1)
    assert torch.events()[0].seq == last + 1
    del first, second


def test_log_keeps_the_newest_events_and_forgets_the_oldest() -> None:
    for _ in range(CAPACITY // 4):
        torch.ones(1)
    result = torch.events()
    assert len(result) == CAPACITY
    assert [event.seq for event in result] == list(range(result[0].seq, result[0].seq + CAPACITY))
    assert result[-1].kind == "destroyed"


def test_log_may_be_turned_off_and_on_again() -> None:
    torch.log_events(False)
    x = torch.ones(1)
    assert torch.events() == []
    torch.log_events(True)
    del x
    assert {event.kind for event in torch.events()} == {"dropped", "destroyed"}


def test_event_log_keeps_nothing_alive() -> None:
    x = leaf()
    y = doubling().apply(x)
    alive = weakref.ref(y.grad_fn)
    result = torch.events()
    del y
    assert alive() is None
    assert len(result) > 0


# --- use counts ---


def test_use_count_counts_the_wrapper_and_every_owner_in_cpp() -> None:
    x = leaf()
    assert torch.use_count(x) == x._use_count() == 1
    y = x.sin()
    # the saved slot and the accumulator
    assert torch.use_count(x) == 3
    assert torch.use_count(y) == 1
    assert torch.use_count(x.untyped_storage()) == 2
    # the output, and the wrapper that is looked through
    assert torch.use_count(y.grad_fn) == 2
    del y
    assert torch.use_count(x) == 1


def test_use_count_of_what_has_no_engine_object_is_refused() -> None:
    assert failure(lambda: torch.use_count(3)) == "TypeError: int has no engine object behind it"
    assert failure(lambda: torch.use_count("x")) == "TypeError: str has no engine object behind it"


def test_use_count_of_a_shell_is_refused() -> None:
    with torch.profile("torch-1.2"):
        fn = doubling().apply(leaf()).grad_fn
        assert failure(lambda: torch.use_count(fn)) == "TypeError: FBackward has no engine object behind it"
