"""Report on a caching allocator's state: bytes by owner, and which owners pin free memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gradlife.devices.advice import advice_for
from gradlife.devices.block_owners import Holders, Owned, grouped, owner_of
from gradlife.devices.memory_map import memory_map
from gradlife.model.device.memory import (
    AllocatorState,
    Block,
    BlockState,
    DeviceMemory,
    DeviceReport,
    Pin,
    Segment,
)

NO_HISTORY = (
    "The allocator recorded no stacks: call torch.cuda.memory._record_memory_history() at the start of the program"
)

#: Holders by device and address.
HoldersByDevice = Mapping[int, Holders]


def report_of(source: str, state: AllocatorState, holders: HoldersByDevice | None = None) -> DeviceReport:
    """Return who owns the memory of each device. ``holders``: of this process's storages, if known."""
    devices = sorted({segment.device for segment in state.segments} | {one.device for one in state.failed})
    limits = () if state.has_history or holders or not state.segments else (NO_HISTORY,)
    return DeviceReport(source, tuple(memory_of(state, number, holders or {}) for number in devices), limits)


def memory_of(state: AllocatorState, number: int, holders: HoldersByDevice) -> DeviceMemory:
    """Return the memory of one device."""
    segments = [segment for segment in state.segments if segment.device == number]
    owned = [
        (segment, block, owner_of(segment, block, holders.get(number, {})))
        for segment in segments
        for block in segment.blocks
        if block.state is not BlockState.FREE
    ]
    used = [block for _, block, _ in owned if block.state is BlockState.USED]
    free = [block for segment in segments for block in segment.blocks if block.state is BlockState.FREE]
    memory = DeviceMemory(
        device=f"{state.kind}:{number}",
        segments=len(segments),
        reserved_bytes=sum(segment.bytes for segment in segments),
        used_bytes=total(used),
        waiting_bytes=sum(segment.bytes_in(BlockState.WAITING) for segment in segments),
        free_bytes=total(free),
        rounding_bytes=sum(block.bytes - block.requested_bytes for block in used),
        idle_bytes=sum(segment.bytes for segment in segments if segment.is_idle),
        largest_free_bytes=max((block.bytes for block in free), default=0),
        owners=grouped((block, owner) for _, block, owner in owned),
        pins=pins_of(owned),
        failed=next((one for one in reversed(state.failed) if one.device == number), None),
    )
    return replace(memory, map=memory_map(segments, owned, memory.owners), advice=advice_for(memory))


def total(blocks: Sequence[Block]) -> int:
    """Sum the bytes of blocks."""
    return sum(block.bytes for block in blocks)


def pins_of(owned: Sequence[tuple[Segment, Block, Owned]]) -> tuple[Pin, ...]:
    """Return the owners whose blocks pin partly free segments, the largest pin first.

    A segment with several owners counts for each: it is returned when the last of them is gone. Expandable segments
    return single pages and are left out.
    """
    blocks: dict[str, list[Block]] = defaultdict(list)
    kept: dict[str, dict[int, int]] = defaultdict(dict)
    for segment, block, owner in owned:
        free = segment.bytes_in(BlockState.FREE)
        if free and not segment.is_expandable:
            blocks[owner.text].append(block)
            kept[owner.text][segment.address] = free
    pins = (Pin(text, total(row), len(row), sum(kept[text].values())) for text, row in blocks.items())
    return tuple(sorted(pins, key=lambda pin: (-pin.free_bytes, pin.bytes, pin.owner)))
