"""The memory map of a device: its segments, with neighbouring blocks of one owner merged into runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from gradlife.devices.block_owners import Owned
from gradlife.model.device.memory import Block, BlockOwner, BlockState, MappedSegment, Run, Segment

#: The place of a free block's owner.
NOBODY = -1


def memory_map(
    segments: Sequence[Segment], owned: Sequence[tuple[Segment, Block, Owned]], owners: Sequence[BlockOwner]
) -> tuple[MappedSegment, ...]:
    """Return the segments by address. ``owned``: each block that is not free; ``owners``: those of the report."""
    places = {(owner.kind, owner.text): place for place, owner in enumerate(owners)}
    by_address = {block.address: places[owner.kind, owner.text] for _, block, owner in owned}
    ordered = sorted(segments, key=lambda segment: segment.address)
    return tuple(mapped(segment, by_address) for segment in ordered)


def mapped(segment: Segment, owners: Mapping[int, int]) -> MappedSegment:
    """Return one segment of the map."""

    def key(block: Block) -> tuple[BlockState, int]:
        return block.state, NOBODY if block.state is BlockState.FREE else owners[block.address]

    runs: list[Run] = []
    offset = 0
    for (state, owner), group in groupby(segment.blocks, key):
        blocks = list(group)
        nbytes = sum(block.bytes for block in blocks)
        runs.append(Run(offset, nbytes, len(blocks), state, owner))
        offset += nbytes
    return MappedSegment(segment.address, segment.bytes, segment.stream, segment.pool != (0, 0), tuple(runs))
