"""Every block that is used or waits has an owner; free memory is explained by what keeps it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from allocator_files import MB, NATIVE, block, frame, out_of_memory, segment, snapshot
from gradlife.devices.allocator_state import STATES, allocator_state
from gradlife.devices.memory_report import NO_HISTORY, report_of
from gradlife.model.device.memory import BlockOwner, DeviceMemory, Frame, OwnerKind, Pin
from gradlife.reports.devices.terminal import source_line

HERE = frame("/home/me/train.py", 41, "step")
LINEAR = frame("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125)
TRAINER = frame("/venv/lib/python3.11/site-packages/trainer/loop.py", 9, "run")


def memory(
    *segments: dict[str, Any], holders: dict[int, str] | None = None, traces: tuple[Any, ...] = ()
) -> DeviceMemory:
    state = allocator_state(snapshot(*segments, traces=traces))
    (found,) = report_of("a", state, None if holders is None else {0: holders}).devices
    return found


def native(name: str) -> dict[str, Any]:
    return frame("??", 0, name)


@pytest.mark.parametrize(
    ("frames", "kind", "text"),
    [
        ([*NATIVE, LINEAR, HERE], OwnerKind.LINE, "/home/me/train.py:41"),
        ([*NATIVE, LINEAR, TRAINER, HERE], OwnerKind.LINE, "/home/me/train.py:41"),
        ([*NATIVE, LINEAR, TRAINER], OwnerKind.LINE, "/venv/lib/python3.11/site-packages/trainer/loop.py:9"),
        ([*NATIVE, LINEAR], OwnerKind.LINE, "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py:125"),
        (
            [*NATIVE, native("at::cuda::(anonymous namespace)::getNewWorkspace()"), HERE],
            OwnerKind.LIBRARY,
            "cuBLAS workspace",
        ),
        ([*NATIVE, native("at::native::cudnn_convolution"), HERE], OwnerKind.LIBRARY, "cuDNN workspace"),
        ([*NATIVE, native("c10d::ProcessGroupNCCL::allreduce"), HERE], OwnerKind.LIBRARY, "NCCL buffers"),
        (NATIVE, OwnerKind.UNSEEN, NATIVE[0]["name"]),
        ([], OwnerKind.UNSEEN, "owner not seen: no allocation history"),
    ],
)
def test_the_owner_of_a_block_is_a_library_or_the_innermost_line_of_the_program(
    frames: list[dict[str, Any]], kind: OwnerKind, text: str
) -> None:
    (owner,) = memory(segment(0, block(MB, "active_allocated", *frames))).owners
    assert (owner.kind, owner.text) == (kind, text)


def test_a_function_of_python_called_like_a_library_is_no_library() -> None:
    mine = frame("/home/me/cudnn_bench.py", 3, "try_cudnn")
    (owner,) = memory(segment(0, block(MB, "active_allocated", *NATIVE, mine))).owners
    assert (owner.kind, owner.text) == (OwnerKind.LINE, "/home/me/cudnn_bench.py:3")


def test_a_holder_goes_before_the_line() -> None:
    blocks = block(MB, "active_allocated", HERE), block(2 * MB, "active_allocated", HERE)
    found = memory(segment(64, *blocks), holders={64: "parameters"})
    assert found.owners == (
        BlockOwner(OwnerKind.LINE, "/home/me/train.py:41", 2 * MB, 1, Frame("/home/me/train.py", 41, "step")),
        BlockOwner(OwnerKind.HOLDER, "parameters", MB, 1, Frame("/home/me/train.py", 41, "step")),
    )


def test_a_block_that_waits_for_a_stream_is_owned_by_nobody() -> None:
    (owner,) = memory(segment(64, block(MB, "active_awaiting_free", HERE), stream=0x70), holders={64: "old"}).owners
    assert (owner.kind, owner.text) == (OwnerKind.STREAM, "freed; waits for a stream other than 0x70")


def test_blocks_of_a_private_pool_are_its_own() -> None:
    (owner,) = memory(segment(0, block(MB, "active_allocated", HERE), segment_pool_id=(0, 1))).owners
    assert (owner.kind, owner.text) == (OwnerKind.LIBRARY, "private pool (graph_pool_handle or MemPool)")


def test_free_memory_is_split_into_idle_segments_and_what_blocks_keep() -> None:
    found = memory(
        segment(0, block(10 * MB, "inactive")),
        segment(100 * MB, block(MB, "active_allocated", HERE), block(7 * MB, "inactive")),
        segment(200 * MB, block(MB, "active_allocated", HERE), block(3 * MB, "inactive"), is_expandable=True),
        traces=([out_of_memory(12 * MB, 5)],),
    )
    assert (found.reserved_bytes, found.free_bytes, found.idle_bytes) == (22 * MB, 20 * MB, 10 * MB)
    assert found.largest_free_bytes == 10 * MB
    assert found.pins == (Pin("/home/me/train.py:41", MB, 1, 7 * MB),)
    assert found.failed is not None
    assert found.failed.bytes == 12 * MB


def test_rounding_is_what_used_blocks_have_more_than_was_asked_for() -> None:
    blocks = block(1024, requested=1000), block(512, "active_awaiting_free", requested=1), block(512, "inactive")
    assert memory(segment(0, *blocks)).rounding_bytes == 24


def test_without_stacks_the_report_says_how_to_record_them() -> None:
    assert report_of("a", allocator_state(snapshot(segment(0, block(8))))).limits == (NO_HISTORY,)
    assert report_of("a", allocator_state(snapshot(segment(0, block(8, "active_allocated", HERE))))).limits == ()


def test_devices_come_in_order_and_one_with_a_failed_request_alone_is_there() -> None:
    state = allocator_state(snapshot(segment(0, block(8), device=2), traces=([], [out_of_memory(7, 0)])))
    assert [one.device for one in report_of("a", state).devices] == ["cuda:1", "cuda:2"]


blocks = st.builds(
    block,
    st.integers(1, 2**40),
    st.sampled_from(sorted(STATES)),
    st.sampled_from([HERE, LINEAR, TRAINER, *NATIVE]),
)
segments = st.lists(st.lists(blocks, min_size=1, max_size=6), min_size=1, max_size=6)


@given(segments)
def test_every_byte_is_used_waits_or_is_free_and_has_one_owner(made: list[list[dict[str, Any]]]) -> None:
    found = memory(*(segment(number * 2**44, *row) for number, row in enumerate(made)))
    assert found.reserved_bytes == found.used_bytes + found.waiting_bytes + found.free_bytes
    assert sum(owner.bytes for owner in found.owners) == found.used_bytes + found.waiting_bytes
    states = [STATES[one["state"]].value for row in made for one in row]
    assert sum(owner.blocks for owner in found.owners) == len(states) - states.count("free")
    assert all(pin.free_bytes <= found.free_bytes - found.idle_bytes for pin in found.pins)


def test_a_report_is_printed_as_a_first_screen() -> None:
    state = allocator_state(snapshot(segment(64, block(MB, "active_allocated", HERE))))
    assert str(report_of("this process", state, {0: {64: "kept of __main__"}})).splitlines() == [
        "memory  this process, cuda:0: 1.05 MB used of 1.05 MB reserved",
        " 1  1.05 MB  100 %  kept of __main__  1 block  me/train.py:41",
    ]


def test_a_line_in_a_pipe_is_not_read(tmp_path: Path) -> None:
    """The names of source files come from the file; reading a pipe would wait for its other end."""
    os.mkfifo(tmp_path / "train.py")
    assert source_line(Frame(str(tmp_path / "train.py"), 1, "step")) == ""
    (tmp_path / "real.py").write_text("x = 1\n")
    assert source_line(Frame(str(tmp_path / "real.py"), 1, "step")) == "x = 1"
