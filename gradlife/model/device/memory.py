"""The blocks of a device's caching allocator, and a report of who owns them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from gradlife.model.trace import PathStep

#: Folders of installed packages.
PACKAGES = ("/site-packages/", "/dist-packages/")


@dataclass(frozen=True)
class Advice:
    """Something to do about the memory of a device."""

    text: str  # an imperative with the code to type
    saved_bytes: int  # at most
    reason: str
    code: str = ""  # GL904, if a pattern recognized the allocator's state


class BlockState(StrEnum):
    """Whether the program, a stream or nobody uses a block."""

    USED = "used"
    WAITING = "waiting"  # freed by the program; a stream may still use it
    FREE = "free"


@dataclass(frozen=True)
class Frame:
    """One line of an allocation's stack."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


def program_frame(frames: Iterable[Frame]) -> Frame | None:
    """Return the innermost line of the program: in its own files, else in a package other than torch, else in torch's
    Python.
    """
    python = [frame for frame in frames if frame.file.endswith(".py") or frame.file.startswith("<")]
    own = [frame for frame in python if not any(part in frame.file for part in PACKAGES)]
    others = [frame for frame in python if not any(f"{part}torch/" in frame.file for part in PACKAGES)]
    return next(iter(own or others or python), None)


@dataclass(frozen=True)
class Block:
    """A piece of a segment."""

    address: int
    bytes: int
    requested_bytes: int  # before rounding; 0 if free
    state: BlockState
    frames: tuple[Frame, ...] = ()  # stack of the allocation, innermost first; empty if no history was recorded


@dataclass(frozen=True)
class Segment:
    """Memory that the allocator took from the device in one piece, and its blocks by address."""

    device: int
    address: int
    bytes: int
    stream: int
    blocks: tuple[Block, ...]
    pool: tuple[int, int] = (0, 0)  # (0, 0) is the common pool; (n, 0) a CUDA graph's; (0, n) a MemPool's or a handle's
    is_expandable: bool = False
    is_compiled: bool = False  # in the pool of torch.compile's CUDA graphs

    def bytes_in(self, state: BlockState) -> int:
        """Return the bytes of its blocks in a state."""
        return sum(block.bytes for block in self.blocks if block.state is state)

    @property
    def is_private(self) -> bool:
        """Whether it serves one pool alone: free memory in it is not for other requests, and stays while the pool lives."""
        return self.pool != (0, 0)

    @property
    def is_idle(self) -> bool:
        """Whether all of it is free and common, so that the allocator can return it to the device."""
        return not self.is_private and all(block.state is BlockState.FREE for block in self.blocks)


@dataclass(frozen=True)
class FailedRequest:
    """An allocation that failed because memory ran out."""

    device: int
    bytes: int
    device_free_bytes: int  # that the device still had
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Capacity:
    """The memory of a device, whoever uses it."""

    device: int
    free_bytes: int
    total_bytes: int


@dataclass(frozen=True)
class PinnedMemory:
    """The cache of pinned host memory, from which copies to a device are made."""

    bytes: int  # taken from the system
    active_bytes: int  # of bytes: in tensors, or in a copy that runs
    advice: Advice | None = None  # if much of it is cached


@dataclass(frozen=True)
class AllocatorState:
    """The caching allocator of one kind of device at one moment."""

    kind: str  # cuda, xpu
    segments: tuple[Segment, ...]
    failed: tuple[FailedRequest, ...] = ()  # of the allocator's history, oldest first
    has_history: bool = False  # whether allocations were recorded with their stacks
    capacities: tuple[Capacity, ...] = ()  # of the process's devices; none for a file
    pinned: PinnedMemory | None = None
    limit: str = ""  # what this allocator does not describe


class OwnerKind(StrEnum):
    """The way in which the owner of a block is known."""

    HOLDER = "holder"  # a tensor's storage; its holder is known
    LINE = "line"  # only the allocating line is known
    LIBRARY = "library"
    STREAM = "stream"  # no owner: the block waits for a stream
    UNSEEN = "unseen"


@dataclass(frozen=True)
class BlockOwner:
    """Blocks in use that have one owner."""

    kind: OwnerKind
    text: str  # "parameters", "local logits of step", "train.py:41", "cuBLAS workspace"
    bytes: int
    blocks: int
    place: Frame | None = None  # the line of the program that allocated the largest block
    path: str = ""  # the references from a root to the largest storage, if the heap is known
    unused_bytes: int = 0  # of bytes: nothing reads them again
    trace: tuple[PathStep, ...] = ()  # `path`, object by object


@dataclass(frozen=True)
class Drag:
    """Blocks that are held longer than they are used: by variables that no later statement reads."""

    holder: str  # "logits of step", "gradients"
    bytes: int
    blocks: int
    release: str  # what frees them, in front of the place: "del logits below"; empty for gradients
    place: Frame | None = None

    @property
    def edit(self) -> str:
        """The edit that frees them: ``del logits below train.py:44``; empty for gradients."""
        return f"{self.release} {os.path.basename(self.place.file)}:{self.place.line}" if self.place else self.release

    @property
    def words(self) -> str:
        """The holder and the edit."""
        return ", ".join(filter(None, [self.holder, self.edit]))


@dataclass(frozen=True)
class Pin:
    """Blocks of one owner that keep partly free segments from being returned to the device."""

    owner: str
    bytes: int  # of these blocks
    blocks: int
    free_bytes: int  # free bytes in their segments


@dataclass(frozen=True)
class Run:
    """Neighbouring blocks of a segment in one state with one owner."""

    offset: int  # from the beginning of the segment
    bytes: int
    blocks: int
    state: BlockState
    owner: int = -1  # its place in DeviceMemory.owners; -1: free


@dataclass(frozen=True)
class MappedSegment:
    """A segment of the memory map, its blocks merged into runs."""

    address: int
    bytes: int
    stream: int
    is_private: bool  # of a graph's pool or a MemPool
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class DeviceMemory:
    """The memory of one device as its allocator sees it."""

    device: str  # cuda:0
    segments: int
    reserved_bytes: int
    used_bytes: int
    waiting_bytes: int
    free_bytes: int
    rounding_bytes: int  # of used_bytes: allocated beyond the requested size
    idle_bytes: int  # of free_bytes: in segments without a used block
    largest_free_bytes: int  # that any request can have: private pools are left out
    owners: tuple[BlockOwner, ...] = ()  # of all used or waiting blocks, largest first
    pins: tuple[Pin, ...] = ()  # by free_bytes, largest first
    failed: FailedRequest | None = None  # the last one
    map: tuple[MappedSegment, ...] = ()  # by address
    advice: tuple[Advice, ...] = ()  # by saved_bytes, largest first
    private_free_bytes: int = 0  # of free_bytes: in private pools
    capacity_bytes: int = 0  # of the device; 0: not known
    device_free_bytes: int = 0
    drag: tuple[Drag, ...] = ()  # of used_bytes: nothing reads them again; the most bytes first

    @property
    def drag_bytes(self) -> int:
        """Used bytes that nothing reads again."""
        return sum(one.bytes for one in self.drag)

    @property
    def outside_bytes(self) -> int:
        """Bytes in use outside of PyTorch's allocator: the context, communicators, other processes."""
        return max(0, self.capacity_bytes - self.device_free_bytes - self.reserved_bytes) if self.capacity_bytes else 0


@dataclass(frozen=True)
class DeviceReport:
    """The owners of the memory of each device."""

    source: str  # a file or the process
    devices: tuple[DeviceMemory, ...]
    limits: tuple[str, ...] = ()
    pinned: PinnedMemory | None = None

    def __str__(self) -> str:
        """The report as `gradlife open` prints it."""
        from gradlife import _text_of

        return _text_of(self)
