"""Find the owner of each block: the storage in it, the library that allocated it, or the allocating line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradlife.model.device.memory import Block, BlockOwner, BlockState, Frame, OwnerKind, Segment, program_frame

#: Requests of torch for a cuBLAS workspace: the default, and that of Hopper and later devices.
WORKSPACES = frozenset({(4096 * 2 + 16 * 8) << 10, (4096 * 8) << 10})
WORKSPACE = "cuBLAS workspace"
WORKSPACE_BY_SIZE = f"{WORKSPACE} (recognized by its size)"

#: Libraries that keep their own memory, by a part of a function's name in the allocation's stack.
LIBRARIES = (
    ("CUDABlasLtWorkspace", "cuBLASLt workspace"),
    ("CublasLtWorkspace", "cuBLASLt workspace"),
    ("getNewWorkspace", WORKSPACE),
    ("CUDABlasHandle", WORKSPACE),
    ("cublas", WORKSPACE),
    ("hipblas", "hipBLAS workspace"),
    ("cudnn", "cuDNN workspace"),
    ("miopen", "MIOpen workspace"),
    ("cusparse", "cuSPARSE workspace"),
    ("cusolver", "cuSOLVER workspace"),
    ("cufft", "cuFFT workspace"),
    ("ProcessGroupNCCL", "NCCL buffers"),
    ("NCCLComm", "NCCL buffers"),
    ("triton", "Triton scratch memory"),
)

#: Innermost frames in which a library's name counts: further out is the operation that runs.
NEAREST = 12

#: The file of torch.compile that captures CUDA graphs.
GRAPH_TREES = "torch/_inductor/cudagraph_trees.py"

COMPILED_POOL = "CUDA graphs of torch.compile"
GRAPH_POOL = "private pool of a CUDA graph"
SHARED_POOL = "private pool (graph_pool_handle or MemPool)"
NO_STACK = "owner not seen: no allocation history"


@dataclass(frozen=True)
class Owned:
    """The owner of one block."""

    kind: OwnerKind
    text: str
    place: Frame | None = None


#: Holders of storages by their address on the device.
Holders = Mapping[int, str]


def owner_of(segment: Segment, block: Block, holders: Holders | None, pool: str) -> Owned:
    """Return the owner of a block in use. ``holders``: None if the storages are not known; ``pool``: its private pool."""
    place = program_frame(block.frames)
    if block.state is BlockState.WAITING:
        return Owned(OwnerKind.STREAM, f"freed; waits for {other_than(segment.stream)}", place)
    held = holders.get(block.address) if holders is not None else None
    if held is not None:
        return Owned(OwnerKind.HOLDER, held, place)
    library = library_of(block.frames)
    if library:
        return Owned(OwnerKind.LIBRARY, library, place)
    if pool:
        return Owned(OwnerKind.LIBRARY, pool, place)
    if holders is not None and block.requested_bytes in WORKSPACES:  # no storage has it
        return Owned(OwnerKind.LIBRARY, WORKSPACE_BY_SIZE, place)
    if place is not None:
        return Owned(OwnerKind.LINE, str(place), place)
    return Owned(OwnerKind.UNSEEN, block.frames[0].function if block.frames else NO_STACK)


def other_than(stream: int) -> str:
    """Return the words for the streams that a block may wait for: all but the one that it was allocated on."""
    return f"a stream other than {stream:#x}" if stream else "a non-default stream"


def pool_name(segment: Segment) -> str:
    """Return the kind of a private pool: torch numbers those of captures by the first number, others by the second."""
    if segment.is_compiled or any(
        frame.file.endswith(GRAPH_TREES) for block in segment.blocks for frame in block.frames
    ):
        return COMPILED_POOL
    return GRAPH_POOL if segment.pool[0] else SHARED_POOL


def library_of(frames: Sequence[Frame]) -> str:
    """Return the library that allocated for itself; empty if the program did."""
    for frame in frames[:NEAREST]:
        for part, name in LIBRARIES:
            if part.lower() in frame.function.lower() and not frame.file.endswith(".py"):
                return name
    return ""


def grouped(owned: Iterable[tuple[Block, Owned]]) -> tuple[BlockOwner, ...]:
    """Group blocks by owner, the largest first."""
    rows: dict[tuple[OwnerKind, str], list[tuple[Block, Owned]]] = {}
    for block, owner in owned:
        rows.setdefault((owner.kind, owner.text), []).append((block, owner))
    found = (
        BlockOwner(kind, text, sum(block.bytes for block, _ in row), len(row), largest_place(row))
        for (kind, text), row in rows.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.text)))


def largest_place(row: list[tuple[Block, Owned]]) -> Frame | None:
    """Return the line that allocated an owner's largest block."""
    return max(row, key=lambda one: (one[0].bytes, -one[0].address))[1].place
