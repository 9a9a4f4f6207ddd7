"""Each pattern of an allocator's state is recognized, and its look-alike is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from allocator_files import MB, NATIVE, block, frame, out_of_memory, pinned_stats, segment, snapshot
from gradlife.devices.allocator_state import allocator_state
from gradlife.devices.memory_report import report_of
from gradlife.devices.torch import NO_BLOCKS, state_of
from gradlife.model.device.memory import Capacity, DeviceMemory, OwnerKind
from gradlife.patterns import PATTERNS

HERE = frame("/home/me/train.py", 41, "step")
TREES = frame("/venv/lib/python3.11/site-packages/torch/_inductor/cudagraph_trees.py", 1210, "_record")
WORKSPACE_BYTES = 8_519_680
USED, FREE, WAITING = "active_allocated", "inactive", "active_awaiting_free"


def memory(*segments: dict[str, Any], holders: dict[int, str] | None = None, traces: Any = ()) -> DeviceMemory:
    state = allocator_state(snapshot(*segments, traces=traces))
    (found,) = report_of("a", state, None if holders is None else {0: holders}).devices
    return found


def codes(found: DeviceMemory) -> list[tuple[str, int]]:
    """The codes and their bytes."""
    return [(one.code, one.saved_bytes) for one in found.advice]


def native(name: str) -> dict[str, Any]:
    return frame("??", 0, name)


def workspace(nbytes: int = WORKSPACE_BYTES) -> dict[str, Any]:
    return block(nbytes, USED, *NATIVE, native("at::cuda::(anonymous namespace)::getNewWorkspace()"), HERE)


def test_a_graphs_pool_keeps_what_no_tensor_is_in() -> None:
    output, scratch = block(2 * MB, USED, HERE), block(18 * MB, FREE)
    found = memory(segment(64, output, scratch, segment_pool_id=(3, 0)), holders={64: "static output of __main__"})
    assert codes(found) == [("GL904", 18 * MB)]
    assert (found.idle_bytes, found.largest_free_bytes, found.private_free_bytes) == (0, 0, 18 * MB)
    assert found.pins == ()


def test_an_idle_segment_of_a_private_pool_is_not_returned_by_empty_cache() -> None:
    found = memory(segment(0, block(20 * MB, FREE), segment_pool_id=(1, 0)), segment(99 * MB, block(2 * MB, FREE)))
    assert (found.free_bytes, found.idle_bytes, found.largest_free_bytes) == (22 * MB, 2 * MB, 2 * MB)


def test_several_pools_are_counted() -> None:
    pools = [segment(n * 99 * MB, block(MB, FREE), segment_pool_id=(n, 0)) for n in (1, 2)]
    (advice,) = memory(*pools).advice
    assert (advice.code, advice.saved_bytes) == ("GL904", 2 * MB)
    assert advice.reason == "2 private pools: a private pool keeps memory that only it can use"
    assert advice.text.endswith("torch.cuda.graph(g, pool=first.pool())")


@pytest.mark.parametrize(
    ("pool", "frames", "owner"),
    [
        ((3, 0), [HERE], "private pool of a CUDA graph"),
        ((0, 3), [HERE], "private pool (graph_pool_handle or MemPool)"),
        ((0, 3), [TREES, HERE], "CUDA graphs of torch.compile"),
    ],
)
def test_the_numbers_of_a_pool_and_its_stacks_say_whose_it_is(
    pool: tuple[int, int], frames: list[dict[str, Any]], owner: str
) -> None:
    (found,) = memory(segment(0, block(MB, USED, *frames), segment_pool_id=pool)).owners
    assert (found.kind, found.text) == (OwnerKind.LIBRARY, owner)


def test_every_segment_of_the_pool_of_torch_compile_counts() -> None:
    """A segment whose blocks have no stack belongs to the pool all the same."""
    named = segment(0, block(MB, USED, TREES), segment_pool_id=(0, 1))
    unnamed = segment(99 * MB, block(3 * MB, FREE), segment_pool_id=(0, 1))
    assert codes(memory(named, unnamed)) == [("GL905", 4 * MB)]


def test_blocks_that_wait_for_a_stream() -> None:
    assert codes(memory(segment(0, block(4 * MB, WAITING), block(4 * MB, WAITING)))) == [("GL906", 8 * MB)]


def test_a_workspace_for_each_stream_is_a_pattern_and_one_workspace_is_none() -> None:
    first, second = segment(0, workspace()), segment(99 * MB, workspace(), stream=7)
    assert codes(memory(first, second)) == [("GL907", 2 * WORKSPACE_BYTES)]
    assert codes(memory(first)) == []


@pytest.mark.parametrize("nbytes", [8_519_680, 33_554_432])
def test_without_native_frames_a_workspace_is_recognized_by_its_size_if_no_storage_is_in_it(nbytes: int) -> None:
    one = segment(64, block(nbytes, USED, HERE))
    assert [owner.text for owner in memory(one, holders={}).owners] == ["cuBLAS workspace (recognized by its size)"]
    assert [owner.text for owner in memory(one, holders={64: "kept of __main__"}).owners] == ["kept of __main__"]
    assert [owner.text for owner in memory(one).owners] == ["/home/me/train.py:41"]


def test_free_memory_of_private_pools_is_no_fragmentation() -> None:
    private = segment(0, block(90 * MB, FREE), segment_pool_id=(1, 0))
    found = memory(private, segment(99 * MB, block(9 * MB, USED, HERE)), traces=([out_of_memory(20 * MB, 5)],))
    assert codes(found) == [("GL904", 90 * MB)]


def test_free_memory_of_segments_that_grow_is_not_in_pieces() -> None:
    """The setting that makes them grow was advised where it was on."""
    growing = segment(0, block(9 * MB, FREE), block(MB, USED, HERE), is_expandable=True)
    failing = ([out_of_memory(20 * MB, 5)],)
    assert [one.text for one in memory(growing, traces=failing).advice] == []
    fixed = segment(99 * MB, block(9 * MB, FREE), block(MB, USED, HERE))
    (advice,) = memory(growing, fixed, traces=failing).advice
    assert (advice.text, advice.saved_bytes) == ("set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", 9 * MB)


def test_a_small_amount_is_no_advice() -> None:
    assert codes(memory(segment(0, block(999 * MB, USED, HERE), block(MB, WAITING)))) == []


# --- what a device's module describes ---


def module(**functions: Any) -> SimpleNamespace:
    """A module as torch.cuda, in use."""
    take = functions.pop("snapshot", lambda: snapshot(segment(0, block(MB))))
    memory = SimpleNamespace(_snapshot=take)
    return SimpleNamespace(is_initialized=lambda: True, memory=memory, **functions)


def refuse() -> Any:
    raise RuntimeError("Calling snapshot with backend:cudaMallocAsync is not meaningful.\nmore")


def sums(used: int, reserved: int) -> Any:
    """What `memory_stats` says of device 1; device 0 has nothing."""
    stats = {"allocated_bytes.all.current": used, "reserved_bytes.all.current": reserved}
    return lambda device: stats if device == 1 else {}


def test_cuda_malloc_async_has_sums_alone() -> None:
    backend = {"get_allocator_backend": lambda: "cudaMallocAsync", "device_count": lambda: 2}
    state = state_of("cuda", module(snapshot=refuse, memory_stats=sums(2 * MB, 9 * MB), **backend))
    report = report_of("a", state, {})
    (found,) = report.devices
    assert (found.device, found.used_bytes, found.reserved_bytes) == ("cuda:1", 2 * MB, 9 * MB)
    assert codes(found) == [("GL909", 7 * MB)]
    assert report.limits == (NO_BLOCKS,)
    assert [owner.text for owner in found.owners] == ["owner not seen: the allocator lists no blocks"]


def test_an_allocator_that_describes_nothing_is_named_with_its_refusal() -> None:
    state = state_of("cuda", module(snapshot=refuse, get_allocator_backend=lambda: "pluggable"))
    assert report_of("a", state, {}).limits == (
        "cuda: Calling snapshot with backend:cudaMallocAsync is not meaningful.",
    )


def test_only_devices_in_use_are_asked_for_their_capacity() -> None:
    """The question creates a context on a device that had none."""
    asked: list[int] = []

    def info(device: int) -> tuple[int, int]:
        asked.append(device)
        return 5 * MB, 40 * MB

    taken = snapshot(segment(0, block(MB), device=2))
    state = state_of("cuda", module(snapshot=lambda: taken, mem_get_info=info, device_count=lambda: 8))
    assert (asked, state.capacities) == ([2], (Capacity(2, 5 * MB, 40 * MB),))
    (found,) = report_of("a", state).devices
    assert (found.capacity_bytes, found.outside_bytes) == (40 * MB, 34 * MB)


@pytest.mark.parametrize(("owned", "active", "code"), [(64, 8, "GL908"), (64, 33, ""), (0.5, 0, ""), (64, 0, "GL908")])
def test_a_cache_of_pinned_memory_that_mostly_serves_nobody(owned: float, active: float, code: str) -> None:
    stats = pinned_stats(int(owned * MB), int(active * MB))
    found = state_of("cuda", module(host_memory_stats=lambda: stats)).pinned
    assert found is not None
    assert (found.advice.code if found.advice else "") == code


def test_without_pinned_memory_there_is_no_line() -> None:
    assert state_of("cuda", module(host_memory_stats=lambda: pinned_stats(0, 0))).pinned is None
    assert state_of("cuda", module()).pinned is None


def test_rows_of_an_allocators_state_fit_no_trace() -> None:
    rows = [row for row in PATTERNS if row.code in {f"GL90{digit}" for digit in range(4, 10)}]
    assert [(row.code, row.kinds, row.paths) for row in rows] == [(f"GL90{n}", frozenset(), ()) for n in range(4, 10)]
