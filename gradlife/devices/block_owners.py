"""Find the owner of each block: the storage in it, the library that allocated it, or the allocating line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradlife.model.device.memory import Block, BlockOwner, BlockState, Frame, OwnerKind, Segment

#: Libraries that keep their own memory, by a part of a function's name in the allocation's stack.
LIBRARIES = (
    ("CUDABlasLtWorkspace", "cuBLASLt workspace"),
    ("getNewWorkspace", "cuBLAS workspace"),
    ("CUDABlasHandle", "cuBLAS workspace"),
    ("cublas", "cuBLAS workspace"),
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

#: Folders of installed packages.
PACKAGES = ("/site-packages/", "/dist-packages/")

PRIVATE_POOL = "private pool (CUDA graph or MemPool)"
NO_STACK = "owner not seen: no allocation history"


@dataclass(frozen=True)
class Owned:
    """The owner of one block."""

    kind: OwnerKind
    text: str
    place: Frame | None = None


#: Holders of storages by their address on the device.
Holders = Mapping[int, str]


def owner_of(segment: Segment, block: Block, holders: Holders) -> Owned:
    """Return the owner of a block in use."""
    place = program_frame(block.frames)
    if block.state is BlockState.WAITING:
        return Owned(OwnerKind.STREAM, f"freed, waits for streams (made on {segment.stream:#x})", place)
    held = holders.get(block.address)
    if held is not None:
        return Owned(OwnerKind.HOLDER, held, place)
    library = library_of(block.frames)
    if library:
        return Owned(OwnerKind.LIBRARY, library, place)
    if segment.pool != (0, 0):
        return Owned(OwnerKind.LIBRARY, PRIVATE_POOL, place)
    if place is not None:
        return Owned(OwnerKind.LINE, str(place), place)
    return Owned(OwnerKind.UNSEEN, block.frames[0].function if block.frames else NO_STACK)


def library_of(frames: Sequence[Frame]) -> str:
    """Return the library that allocated for itself; empty if the program did."""
    for frame in frames[:NEAREST]:
        for part, name in LIBRARIES:
            if part.lower() in frame.function.lower() and not frame.file.endswith(".py"):
                return name
    return ""


def program_frame(frames: Iterable[Frame]) -> Frame | None:
    """Return the innermost line of the program: in its own files, else in a package other than torch, else in torch's
    Python.
    """
    python = [frame for frame in frames if frame.file.endswith(".py") or frame.file.startswith("<")]
    own = [frame for frame in python if not any(part in frame.file for part in PACKAGES)]
    others = [frame for frame in python if not any(f"{part}torch/" in frame.file for part in PACKAGES)]
    return next(iter(own or others or python), None)


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
