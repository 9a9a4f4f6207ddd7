"""Group the blocks that only unread variables hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gradlife.devices.block_owners import Owned
from gradlife.model.device.memory import Block, BlockOwner, BlockState, Drag, Frame, OwnerKind, Segment


@dataclass(frozen=True)
class Unread:
    """The variables that alone hold a storage, and that nothing reads again."""

    holder: str  # "logits of step"
    release: str  # "del logits below"; empty for gradients
    place: Frame | None  # the line that `release` is about


#: Unread holders of storages by their address on the device.
UnreadStorages = Mapping[int, Unread]

OwnedBlocks = Iterable[tuple[Segment, Block, Owned]]


def drag_of(owned: OwnedBlocks, unread: UnreadStorages) -> tuple[Drag, ...]:
    """Return the blocks that nothing reads again, by holder, the most bytes first."""
    rows: dict[Unread, list[int]] = defaultdict(list)
    for block, found in unread_blocks(owned, unread):
        rows[found].append(block.bytes)
    drag = (Drag(one.holder, sum(row), len(row), one.release, one.place) for one, row in rows.items())
    return tuple(sorted(drag, key=lambda one: (-one.bytes, one.holder)))


def with_unused(owners: Iterable[BlockOwner], owned: OwnedBlocks, unread: UnreadStorages) -> tuple[BlockOwner, ...]:
    """Add to each owner how many of its bytes nothing reads again."""
    kinds = {block.address: (owner.kind, owner.text) for _, block, owner in owned}
    sums: dict[tuple[OwnerKind, str], int] = defaultdict(int)
    for block, _ in unread_blocks(owned, unread):
        sums[kinds[block.address]] += block.bytes
    return tuple(replace(one, unused_bytes=sums[one.kind, one.text]) for one in owners)


def unread_blocks(owned: OwnedBlocks, unread: UnreadStorages) -> Iterable[tuple[Block, Unread]]:
    """Yield the used blocks that only unread variables hold."""
    for _, block, _ in owned:
        found = unread.get(block.address)
        if found is not None and block.state is BlockState.USED:
            yield block, found
