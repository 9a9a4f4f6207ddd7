"""Convert PyTorch's description of a caching allocator (`torch.cuda.memory._snapshot`) to values.

The format is that of torch 2.0 and later; in 1.12 to 1.13 blocks have no address and keep their stack in a history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gradlife.devices.plain_pickle import REMEDY, AllocatorFileError
from gradlife.model.device.memory import AllocatorState, Block, BlockState, FailedRequest, Frame, Segment

#: torch's names for block states. It uses two spellings of the second one.
STATES = {
    "active_allocated": BlockState.USED,
    "active_pending_free": BlockState.WAITING,
    "active_awaiting_free": BlockState.WAITING,
    "inactive": BlockState.FREE,
}

#: Bits of an address, and the largest sum of sizes: pages divide them without losing a byte.
BITS, MAX_BYTES = 64, 2**53

#: Frames kept of a stack, and characters of the names in one.
MAX_FRAMES, MAX_LETTERS = 64, 1000

#: Devices of one kind. PyTorch numbers them with a signed byte.
MAX_DEVICES = 128


def allocator_state(snapshot: Any, kind: str = "cuda") -> AllocatorState:
    """Convert the state that torch describes. Raises AllocatorFileError for anything else."""
    reading = Reading()
    try:
        found = (reading.segment(one) for one in listed(snapshot["segments"]))
        segments = tuple(one for one in found if one.bytes)
        failed = tuple(reading.failed_requests(snapshot.get("device_traces", ())))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise AllocatorFileError(f"no state of a caching allocator: {type(error).__name__}: {error}", REMEDY) from None
    has_history = any(block.frames for segment in segments for block in segment.blocks)
    return AllocatorState(kind, segments, failed, has_history)


class Reading:
    """One pass over a description. A stack that blocks share is converted once; nothing else may be in two places, so that
    the pass takes time in proportion to the file.
    """

    def __init__(self) -> None:
        self._stacks: dict[int, tuple[Any, tuple[Frame, ...]]] = {}  # by the list's id; keeps the list
        self._seen: dict[int, Any] = {}
        self._bytes = 0

    def size(self, raw: Any) -> int:
        """Return the size of a segment. Raises ValueError if all together are larger than any memory."""
        nbytes = whole(raw)
        self._bytes += nbytes
        if self._bytes > MAX_BYTES:
            raise ValueError("its segments are larger than any memory")
        return nbytes

    def once(self, raw: Any) -> list[Any]:
        """Return the items of a list. Raises ValueError if it was read before."""
        items = listed(raw)
        if items and id(raw) in self._seen:
            raise ValueError("a list of it is in two places")
        self._seen[id(raw)] = raw  # keeps it, so that no other list has its id
        return items

    def segment(self, raw: Mapping[str, Any]) -> Segment:
        """Convert one segment with its blocks."""
        address, nbytes = whole(raw["address"]), self.size(raw["total_size"])
        blocks = tuple(self.blocks(self.once(raw["blocks"]), address))
        if sum(block.bytes for block in blocks) > nbytes:
            raise ValueError("blocks are larger than their segment")
        return Segment(
            device_of(raw.get("device", 0)),
            address,
            nbytes,
            whole(raw.get("stream", 0)),
            blocks,
            pool_of(raw.get("segment_pool_id", (0, 0))),
            bool(raw.get("is_expandable", False)),
        )

    def blocks(self, raw: list[Any], address: int) -> Iterator[Block]:
        """Yield the blocks of a segment that starts at an address."""
        for one in raw:
            nbytes = whole(one["size"])
            state = STATES[text(one["state"])]
            yield Block(
                whole(one.get("address", address)),
                nbytes,
                0 if state is BlockState.FREE else requested(one, nbytes),
                state,
                () if state is BlockState.FREE else self.frames(one),
            )
            address += nbytes

    def frames(self, raw: Mapping[str, Any]) -> tuple[Frame, ...]:
        """Convert the stack of an allocation, innermost first."""
        history = raw.get("history")
        frames = history[0].get("frames", ()) if history else raw.get("frames") or ()
        known = self._stacks.get(id(frames))
        if known is None:
            if not isinstance(frames, (list, tuple)):
                raise TypeError(f"{type(frames).__name__} where a list belongs")
            known = self._stacks[id(frames)] = frames, tuple(frame_of(one) for one in frames[:MAX_FRAMES])
        return known[1]

    def failed_requests(self, traces: Any) -> Iterator[FailedRequest]:
        """Return the failed requests from each device's history. The program has survived one if as much was served later."""
        for device, entries in enumerate(listed(traces)):
            served = 0
            failed = []
            for entry in reversed(self.once(entries)):
                action = text(entry["action"])
                nbytes = bounded(entry["size"]) if action in ("oom", "alloc") else 0
                if action == "alloc":
                    served = max(served, nbytes)
                elif action == "oom" and nbytes > served:
                    free = bounded(entry.get("device_free", 0))
                    failed.append(FailedRequest(device_of(device), nbytes, free, self.frames(entry)))
            yield from reversed(failed)


def requested(raw: Mapping[str, Any], nbytes: int) -> int:
    """Return the requested size of a block."""
    history = raw.get("history")
    if history:
        return min(nbytes, whole(history[0]["real_size"]))
    return min(nbytes, whole(raw.get("requested_size", nbytes)))


def frame_of(raw: Mapping[str, Any]) -> Frame:
    """Convert one frame; torch uses ``??`` for code without a source file."""
    file = text(raw["filename"])
    return Frame("" if file == "??" else file, whole(raw["line"]), text(raw["name"]))


def text(raw: Any) -> str:
    """Return the beginning of a text. Raises TypeError for anything else: its text may be without an end."""
    if not isinstance(raw, str):
        raise TypeError(f"{type(raw).__name__} where a text belongs")
    return raw[:MAX_LETTERS]


def bounded(raw: Any) -> int:
    """Return a size of its own. Raises TypeError or ValueError for anything else."""
    nbytes = whole(raw)
    if nbytes > MAX_BYTES:
        raise ValueError("a request is larger than any memory")
    return nbytes


def device_of(raw: Any) -> int:
    """Return the number of a device. Raises TypeError or ValueError for anything else."""
    number = whole(raw)
    if number >= MAX_DEVICES:
        raise ValueError(f"device {number:,}, of at most {MAX_DEVICES}")
    return number


def pool_of(raw: Any) -> tuple[int, int]:
    """Return the number of a pool, which has two parts."""
    first, second = raw
    return whole(first), whole(second)


def listed(raw: Any) -> list[Any]:
    """Return the items of a list or tuple. Raises TypeError for anything else."""
    if not isinstance(raw, (list, tuple)):
        raise TypeError(f"{type(raw).__name__} where a list belongs")
    return list(raw)


def whole(raw: Any) -> int:
    """Return a non-negative integer of 64 bits. Raises TypeError or ValueError for anything else."""
    if not isinstance(raw, int):
        raise TypeError(f"{type(raw).__name__} where a number belongs")
    if raw.bit_length() > BITS:
        raise ValueError(f"a number of {raw.bit_length():,} bits where a size or an address belongs")
    if raw < 0:
        raise ValueError(f"{raw} where a size or an address belongs")
    return raw
