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

#: Bits of an address.
BITS = 64

#: Frames kept of a stack.
MAX_FRAMES = 64


def allocator_state(snapshot: Any, kind: str = "cuda") -> AllocatorState:
    """Convert the state that torch describes. Raises AllocatorFileError for anything else."""
    try:
        segments = tuple(segment_of(one) for one in listed(snapshot["segments"]))
        failed = tuple(failed_requests(snapshot.get("device_traces", ())))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise AllocatorFileError(f"no state of a caching allocator: {type(error).__name__}: {error}", REMEDY) from None
    has_history = any(block.frames for segment in segments for block in segment.blocks)
    return AllocatorState(kind, segments, failed, has_history)


def segment_of(raw: Mapping[str, Any]) -> Segment:
    """Convert one segment with its blocks."""
    address = whole(raw["address"])
    return Segment(
        whole(raw.get("device", 0)),
        address,
        whole(raw["total_size"]),
        whole(raw.get("stream", 0)),
        tuple(blocks_of(listed(raw["blocks"]), address)),
        pool_of(raw.get("segment_pool_id", (0, 0))),
        bool(raw.get("is_expandable", False)),
    )


def blocks_of(raw: list[Any], address: int) -> Iterator[Block]:
    """Yield the blocks of a segment that starts at an address."""
    for one in raw:
        nbytes = whole(one["size"])
        state = STATES[one["state"]]
        yield Block(
            whole(one.get("address", address)),
            nbytes,
            0 if state is BlockState.FREE else requested(one, nbytes),
            state,
            () if state is BlockState.FREE else frames_of(one),
        )
        address += nbytes


def requested(raw: Mapping[str, Any], nbytes: int) -> int:
    """Return the requested size of a block."""
    history = raw.get("history")
    if history:
        return min(nbytes, whole(history[0]["real_size"]))
    return min(nbytes, whole(raw.get("requested_size", nbytes)))


def frames_of(raw: Mapping[str, Any]) -> tuple[Frame, ...]:
    """Convert the stack of an allocation, innermost first."""
    history = raw.get("history")
    frames = listed(history[0].get("frames", ()) if history else raw.get("frames") or ())
    return tuple(frame_of(one) for one in frames[:MAX_FRAMES])


def frame_of(raw: Mapping[str, Any]) -> Frame:
    """Convert one frame; torch uses ``??`` for code without a source file."""
    file = printable(str(raw["filename"]))
    return Frame("" if file == "??" else file, whole(raw["line"]), printable(str(raw["name"])))


def printable(text: str) -> str:
    """Escape characters that a terminal acts on: control characters, marks that change text direction."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def failed_requests(traces: Any) -> Iterator[FailedRequest]:
    """Return the failed requests from each device's history. The program has survived one if as much was served later."""
    for device, entries in enumerate(listed(traces)):
        served = 0
        failed = []
        for entry in reversed(listed(entries)):
            nbytes = whole(entry["size"]) if entry["action"] in ("oom", "alloc") else 0
            if entry["action"] == "alloc":
                served = max(served, nbytes)
            elif entry["action"] == "oom" and nbytes > served:
                failed.append(FailedRequest(device, nbytes, whole(entry.get("device_free", 0)), frames_of(entry)))
        yield from reversed(failed)


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
