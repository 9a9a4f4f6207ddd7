"""The caching allocators of this process, as PyTorch describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gradlife.devices.allocator_patterns import ASYNC_BACKEND, pinned_memory
from gradlife.devices.allocator_state import allocator_state
from gradlife.hunting.process.device_limits import answer, modules_in_use
from gradlife.model.device.memory import AllocatorState, Block, BlockState, Capacity, Frame, PinnedMemory, Segment
from gradlife.safe_access import LibraryObject

NO_BLOCKS = f"{ASYNC_BACKEND} lists no blocks: set PYTORCH_CUDA_ALLOC_CONF=backend:native to see their owners"


def allocator_states() -> list[AllocatorState]:
    """Return the state of every caching allocator in use. Initializes and allocates nothing.

    Cost: that of `torch.cuda.memory._snapshot`, some 10 microseconds per block.
    """
    return [state_of(kind, module) for kind, module in modules_in_use() if snapshot_function(module) is not None]


def snapshot_function(device_module: LibraryObject) -> Any:
    """Return the function that describes a device's allocator; None if it has none."""
    return getattr(getattr(device_module, "memory", None), "_snapshot", None)


def state_of(kind: str, module: LibraryObject) -> AllocatorState:
    """Return the state of an allocator; its sums alone, or nothing, if it describes no blocks."""
    try:
        state = allocator_state(snapshot_function(module)(), kind)
    except RuntimeError as error:  # backends other than the native one refuse
        state = state_of_sums(kind, module, str(error).partition("\n")[0])
    devices = sorted({segment.device for segment in state.segments})  # others would be initialized by the question
    return replace(state, capacities=capacities(module, devices), pinned=pinned(module))


def state_of_sums(kind: str, module: LibraryObject, refusal: str) -> AllocatorState:
    """Return the state of an allocator that has sums alone: for each device a used block and a free one."""
    backend = answer(getattr(module, "get_allocator_backend", None), "")
    sums = [(one, stats_of(module, one)) for one in range(answer(getattr(module, "device_count", None), 0))]
    segments = tuple(segment_of_sums(number, used, reserved) for number, (used, reserved) in sums if reserved)
    return AllocatorState(kind, segments, limit=NO_BLOCKS if backend == ASYNC_BACKEND else f"{kind}: {refusal}")


def stats_of(module: LibraryObject, device: int) -> tuple[int, int]:
    """Return the allocated and the reserved bytes of a device; zeros if they are not known."""
    stats: Mapping[str, int] = answer(getattr(module, "memory_stats", None), {}, device)
    return stats.get("allocated_bytes.all.current", 0), stats.get("reserved_bytes.all.current", 0)


def segment_of_sums(device: int, used: int, reserved: int) -> Segment:
    """Return what is reserved as one segment."""
    where = (Frame("", 0, "owner not seen: the allocator lists no blocks"),)
    blocks = (Block(0, used, used, BlockState.USED, where), Block(used, reserved - used, 0, BlockState.FREE))
    return Segment(device, 0, reserved, 0, tuple(block for block in blocks if block.bytes))


def capacities(module: LibraryObject, devices: list[int]) -> tuple[Capacity, ...]:
    """Return the free and the total bytes of devices, if they are known."""
    found = ((one, answer(getattr(module, "mem_get_info", None), None, one)) for one in devices)
    return tuple(Capacity(one, *map(int, info)) for one, info in found if info is not None)


def pinned(module: LibraryObject) -> PinnedMemory | None:
    """Return the cache of pinned memory; None if there is none."""
    stats: Mapping[str, int] = answer(getattr(module, "host_memory_stats", None), {})
    owned = stats.get("allocated_bytes.current", 0)
    return pinned_memory(owned, min(owned, stats.get("active_bytes.current", owned))) if owned else None
