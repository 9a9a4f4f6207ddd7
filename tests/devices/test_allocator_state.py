"""PyTorch's description of its caching allocator, read as values."""

from __future__ import annotations

from typing import Any

import pytest

from allocator_files import MB, block, frame, out_of_memory, segment, snapshot
from gradlife.devices.allocator_state import allocator_state
from gradlife.devices.plain_pickle import AllocatorFileError
from gradlife.model.device.memory import BlockState, Frame


def test_blocks_keep_their_address_size_state_and_stack() -> None:
    state = allocator_state(
        snapshot(
            segment(
                4 * MB,
                block(512, "active_allocated", frame("train.py", 7), requested=400),
                block(1024, "active_awaiting_free"),
                block(2048, "active_pending_free"),
                block(MB, "inactive", frame("old.py", 1)),
                stream=5,
                segment_pool_id=(0, 3),
                is_expandable=True,
            )
        )
    )
    (found,) = state.segments
    assert (found.bytes, found.stream, found.pool, found.is_expandable) == (MB + 3584, 5, (0, 3), True)
    assert [(one.address - 4 * MB, one.bytes, one.requested_bytes, one.state) for one in found.blocks] == [
        (0, 512, 400, BlockState.USED),
        (512, 1024, 1024, BlockState.WAITING),
        (1536, 2048, 2048, BlockState.WAITING),
        (3584, MB, 0, BlockState.FREE),
    ]
    assert [one.frames for one in found.blocks] == [(Frame("train.py", 7, "forward"),), (), (), ()]
    assert state.has_history


def test_blocks_of_torch_1_13_have_their_stack_in_a_history() -> None:
    old = {"size": 512, "state": "active_allocated", "history": [{"real_size": 100, "frames": [frame("a.py", 1)]}]}
    found = allocator_state(
        {"segments": [{"device": 1, "address": 64, "total_size": 1024, "blocks": [old, dict(old)]}]}
    )
    assert [(one.address, one.requested_bytes, len(one.frames)) for one in found.segments[0].blocks] == [
        (64, 100, 1),
        (576, 100, 1),
    ]


def test_failed_requests_are_taken_from_the_history_of_their_device() -> None:
    traces: tuple[list[dict[str, object]], ...] = (
        [],
        [{"action": "alloc", "size": 3}, out_of_memory(7 * MB, 11, frame("big.py", 3))],
    )
    (failed,) = allocator_state(snapshot(traces=traces)).failed
    assert (failed.device, failed.bytes, failed.device_free_bytes) == (1, 7 * MB, 11)
    assert failed.frames == (Frame("big.py", 3, "forward"),)


def test_a_failed_request_that_the_program_has_survived_is_no_failure() -> None:
    """Training that caught it and went on with smaller batches was said to have run out of memory."""
    served = {"action": "alloc", "size": 7 * MB}
    traces = ([out_of_memory(7 * MB, 11), {"action": "free_requested", "size": 1}, served, out_of_memory(8 * MB, 5)],)
    assert [one.bytes for one in allocator_state(snapshot(traces=traces)).failed] == [8 * MB]


def test_a_file_that_torch_does_not_know_the_name_of_is_none() -> None:
    found = allocator_state(snapshot(segment(0, block(8, "active_allocated", frame("??", 0, "at::empty")))))
    assert found.segments[0].blocks[0].frames == (Frame("", 0, "at::empty"),)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"segments": 3},
        {"segments": [{}]},
        {"segments": [{"address": -1, "total_size": 1, "blocks": []}]},
        {"segments": [{"address": "0", "total_size": 1, "blocks": []}]},
        {"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": 1, "state": "melted"}]}]},
        {"segments": [{"address": 0, "total_size": 1, "blocks": [], "segment_pool_id": (1, 2, 3)}]},
        {"segments": [], "device_traces": [[{}]]},
        {"segments": [], "device_traces": 7},
        {"segments": [{"address": 0, "total_size": 10**400, "blocks": []}]},
        {"segments": [{"address": 0, "total_size": 1, "blocks": [{"size": 1, "state": []}]}]},
    ],
)
def test_anything_else_is_refused_in_one_line(wrong: Any) -> None:
    with pytest.raises(AllocatorFileError, match="no state of a caching allocator") as caught:
        allocator_state(wrong)
    assert "\n" not in str(caught.value)
