"""Recognize what keeps device memory from an allocator's state: pools, waiting blocks, workspaces, caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradlife.devices.block_owners import COMPILED_POOL, Owned, pool_name
from gradlife.model.device.memory import Advice, AllocatorState, Block, BlockState, OwnerKind, PinnedMemory, Segment
from gradlife.patterns import patterns_of

#: The codes of the rows.
POOLS, COMPILED_POOLS, WAITING, WORKSPACES, PINNED, ASYNC = "GL904", "GL905", "GL906", "GL907", "GL908", "GL909"

#: The allocator of CUDA that describes no blocks.
ASYNC_BACKEND = "cudaMallocAsync"

#: Workspaces of one handle and stream are no pattern.
USUAL_WORKSPACES = 1

#: A smaller cache of pinned memory is not worth a line.
MIN_PINNED = 1 << 20

Blocks = Sequence[tuple[Segment, Block, Owned]]


def recognized(state: AllocatorState, segments: Sequence[Segment], owned: Blocks) -> tuple[Advice, ...]:
    """Return an advice for each pattern that a device's memory shows. ``owned``: each block that is not free."""
    return (*pools(segments, owned), *waiting(owned), *workspaces(owned), *asynchronous(state, segments))


def pools(segments: Sequence[Segment], owned: Blocks) -> Iterator[Advice]:
    """Memory of private pools that no tensor of the program is in."""
    held = {block.address: block.bytes for _, block, owner in owned if owner.kind is OwnerKind.HOLDER}
    kept: dict[str, dict[tuple[int, int], int]] = {POOLS: {}, COMPILED_POOLS: {}}
    compiled = {one.pool for one in segments if one.is_private and pool_name(one) == COMPILED_POOL}
    for segment in segments:
        if segment.is_private:
            row = kept[COMPILED_POOLS if segment.pool in compiled else POOLS]
            used = sum(held.get(block.address, 0) for block in segment.blocks)
            row[segment.pool] = row.get(segment.pool, 0) + segment.bytes - used
    for code, row in kept.items():
        if row:
            yield advice_of(code, sum(row.values()), f"{len(row)} private pool{'s' * (len(row) > 1)}")


def waiting(owned: Blocks) -> Iterator[Advice]:
    """Blocks that were freed and wait for a stream."""
    found = [block.bytes for _, block, _ in owned if block.state is BlockState.WAITING]
    if found:
        yield advice_of(WAITING, sum(found), f"{len(found)} freed block{'s' * (len(found) > 1)}")


def workspaces(owned: Blocks) -> Iterator[Advice]:
    """Workspaces of the linear algebra library beyond one."""
    found = [block.bytes for _, block, owner in owned if owner.kind is OwnerKind.LIBRARY and "BLAS" in owner.text]
    if len(found) > USUAL_WORKSPACES:
        yield advice_of(WORKSPACES, sum(found), f"{len(found)} workspaces")


def asynchronous(state: AllocatorState, segments: Sequence[Segment]) -> Iterator[Advice]:
    """Memory that the driver's pool keeps after tensors were freed."""
    cached = sum(segment.bytes_in(BlockState.FREE) for segment in segments)
    if ASYNC_BACKEND in state.limit and cached:
        yield advice_of(ASYNC, cached, "the driver's pool")


def pinned_memory(owned_bytes: int, active_bytes: int) -> PinnedMemory:
    """Return the cache of pinned memory, with an advice if most of it serves no tensor and no copy."""
    cached = owned_bytes - active_bytes
    is_large = cached >= max(MIN_PINNED, active_bytes)
    advice = advice_of(PINNED, cached, "the cache of pinned memory") if is_large else None
    return PinnedMemory(owned_bytes, active_bytes, advice)


def advice_of(code: str, nbytes: int, holder: str) -> Advice:
    """Return the advice of a pattern's row."""
    (row,) = patterns_of(code)
    fix = f": {row.fix}" if row.fix else ""
    return Advice(f"{row.advice[:1].lower()}{row.advice[1:].rstrip('.')}{fix}", nbytes, f"{holder}: {row.title}", code)
