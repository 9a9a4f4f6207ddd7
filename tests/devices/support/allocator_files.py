"""Descriptions of a caching allocator as torch writes them, made of a few numbers."""

from __future__ import annotations

from typing import Any

MB = 2**20

#: A stack of a kernel that allocates, innermost frame first, as torch records it with C++ frames.
NATIVE = [
    {"filename": "??", "line": 0, "name": "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc"},
    {"filename": "??", "line": 0, "name": "at::empty_cuda"},
]


def frame(file: str, line: int, function: str = "forward") -> dict[str, Any]:
    """A frame of Python."""
    return {"filename": file, "line": line, "name": function}


def block(nbytes: int, state: str = "active_allocated", *frames: dict[str, Any], requested: int = 0) -> dict[str, Any]:
    """A block; its address follows from those before it."""
    return {"size": nbytes, "requested_size": requested or nbytes, "state": state, "frames": list(frames)}


def segment(address: int, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A segment of these blocks."""
    at = address
    for one in blocks:
        one["address"] = at
        at += one["size"]
    return {
        "device": 0,
        "address": address,
        "total_size": at - address,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "blocks": list(blocks),
        **fields,
    }


def snapshot(*segments: dict[str, Any], traces: tuple[Any, ...] = ()) -> dict[str, Any]:
    """What `torch.cuda.memory._snapshot` returns."""
    return {"segments": list(segments), "device_traces": list(traces), "allocator_settings": {}}


def out_of_memory(nbytes: int, device_free: int, *frames: dict[str, Any]) -> dict[str, Any]:
    """The entry of a failed request in a device's history."""
    return {"action": "oom", "size": nbytes, "device_free": device_free, "stream": 0, "frames": list(frames)}


def pinned_stats(owned: int, active: int) -> dict[str, int]:
    """What `torch.cuda.host_memory_stats` returns, as far as it is read."""
    return {"allocated_bytes.current": owned, "active_bytes.current": active}
