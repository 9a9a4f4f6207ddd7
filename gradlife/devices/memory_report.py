"""Report on a caching allocator's state: bytes by owner, and which owners pin free memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gradlife.devices.advice import advice_for
from gradlife.devices.allocator_patterns import recognized
from gradlife.devices.block_owners import Holders, Owned, grouped, owner_of, pool_name
from gradlife.devices.drag import UnreadStorages, drag_of, with_unused
from gradlife.devices.memory_map import memory_map
from gradlife.model.device.memory import (
    AllocatorState,
    Block,
    BlockState,
    Capacity,
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
UnreadByDevice = Mapping[int, UnreadStorages]


def report_of(
    source: str,
    state: AllocatorState,
    holders: HoldersByDevice | None = None,
    unread: UnreadByDevice = MappingProxyType({}),
) -> DeviceReport:
    """Return who owns the memory of each device. ``holders``, ``unread``: of this process's storages, if known."""
    devices = sorted({segment.device for segment in state.segments} | {one.device for one in state.failed})
    is_known = state.has_history or holders or state.limit or not state.segments
    limits = (state.limit,) * bool(state.limit) if is_known else (NO_HISTORY,)
    memories = tuple(memory_of(state, number, holders, unread.get(number, {})) for number in devices)
    return DeviceReport(source, memories, limits, state.pinned)


def memory_of(
    state: AllocatorState, number: int, holders: HoldersByDevice | None, unread: UnreadStorages
) -> DeviceMemory:
    """Return the memory of one device."""
    segments = [segment for segment in state.segments if segment.device == number]
    known = holders.get(number, {}) if holders is not None else None
    owned = [
        (segment, block, owner_of(segment, block, known, pool))
        for segment in segments
        for pool in (pool_name(segment) if segment.is_private else "",)
        for block in segment.blocks
        if block.state is not BlockState.FREE
    ]
    used = [block for _, block, _ in owned if block.state is BlockState.USED]
    free = [(segment, block) for segment in segments for block in segment.blocks if block.state is BlockState.FREE]
    common = [block for segment, block in free if not segment.is_private]
    capacity = next((one for one in state.capacities if one.device == number), Capacity(number, 0, 0))
    memory = DeviceMemory(
        device=f"{state.kind}:{number}",
        segments=len(segments),
        reserved_bytes=sum(segment.bytes for segment in segments),
        used_bytes=total(used),
        waiting_bytes=sum(segment.bytes_in(BlockState.WAITING) for segment in segments),
        free_bytes=total([block for _, block in free]),
        rounding_bytes=sum(block.bytes - block.requested_bytes for block in used),
        idle_bytes=sum(segment.bytes for segment in segments if segment.is_idle),
        largest_free_bytes=max((block.bytes for block in common), default=0),
        owners=with_unused(grouped((block, owner) for _, block, owner in owned), owned, unread),
        pins=pins_of(owned),
        failed=next((one for one in reversed(state.failed) if one.device == number), None),
        private_free_bytes=sum(block.bytes for segment, block in free if segment.is_private),
        capacity_bytes=capacity.total_bytes,
        device_free_bytes=capacity.free_bytes,
        drag=drag_of(owned, unread),
    )
    expandable = sum(segment.bytes_in(BlockState.FREE) for segment in segments if is_growing(segment))
    advice = advice_for(memory, recognized(state, segments, owned), expandable)
    return replace(memory, map=memory_map(segments, owned, memory.owners), advice=advice)


def is_growing(segment: Segment) -> bool:
    """Whether a segment in use can grow, so that its free memory serves requests of any size."""
    return segment.is_expandable and not segment.is_private and not segment.is_idle


def total(blocks: Sequence[Block]) -> int:
    """Sum the bytes of blocks."""
    return sum(block.bytes for block in blocks)


def pins_of(owned: Sequence[tuple[Segment, Block, Owned]]) -> tuple[Pin, ...]:
    """Return the owners whose blocks pin partly free segments, the largest pin first.

    A segment with several owners counts for each: it is returned when the last of them is gone. Expandable segments
    return single pages, and private ones nothing while their pool lives: both are left out.
    """
    blocks: dict[str, list[Block]] = defaultdict(list)
    kept: dict[str, dict[int, int]] = defaultdict(dict)
    known: dict[int, int] = {}
    for segment, block, owner in owned:
        free = known.get(id(segment))
        if free is None:
            free = known[id(segment)] = segment.bytes_in(BlockState.FREE)
        if free and not segment.is_expandable and not segment.is_private:
            blocks[owner.text].append(block)
            kept[owner.text][segment.address] = free
    pins = (Pin(text, total(row), len(row), sum(kept[text].values())) for text, row in blocks.items())
    return tuple(sorted(pins, key=lambda pin: (-pin.free_bytes, pin.bytes, pin.owner)))
