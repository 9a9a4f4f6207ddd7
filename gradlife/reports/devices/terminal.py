"""The memory of devices in the terminal: a first screen for each device, or every owner."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from gradlife.model.device.memory import (
    Advice,
    BlockOwner,
    DeviceMemory,
    DeviceReport,
    FailedRequest,
    Frame,
    OwnerKind,
    program_frame,
)
from gradlife.reports.layout import Hanging
from gradlife.reports.theme import BAD, GOOD, NOTE, QUIET, TITLE
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

#: Most owners on the first screen.
MAX_OWNERS = 10

#: Least share of reserved memory that is free to be worth a line.
MIN_FREE = 0.05

#: Memory outside of the allocator below this part of the device is not worth a line.
MIN_OUTSIDE = 0.02

PINS = 3

#: A line that is cut where it has no room, or one that wraps.
Line = Text | Hanging

#: Most pieces of advice on the first screen.
MAX_ADVICE = 3


@shows_report
def print_devices(console: Console, report: DeviceReport, in_full: bool = False) -> None:
    """Print the first screen of each device, or every owner."""
    if not report.devices:
        console.print(Text.assemble((report.source, TITLE), ": the allocator holds no memory"))
    for number, memory in enumerate(report.devices):
        if number:
            console.print()
        for line in device_lines(memory, report.source, in_full):
            console.print(line, no_wrap=not in_full, overflow="fold" if in_full else "ellipsis")
    for line in pinned_lines(report):
        console.print(line, overflow="fold")
    for limit in report.limits:
        console.print(Text(limit, QUIET))


def device_lines(memory: DeviceMemory, source: str, in_full: bool) -> Iterator[Line]:
    """Yield the lines of one device."""
    yield head(memory, source)
    if memory.failed is not None:
        yield from failure_lines(memory, memory.failed)
    yield from owner_lines(memory, in_full)
    yield from drag_lines(memory, in_full)
    yield from free_lines(memory, in_full)
    yield from outside_lines(memory)
    yield from advice_lines(memory, in_full)


def head(memory: DeviceMemory, source: str) -> Text:
    """Yield the memory in use and the memory reserved."""
    word, style = ("OUT OF MEMORY", BAD) if memory.failed is not None else ("memory", GOOD)
    used = f"{size(memory.used_bytes)} used of {size(memory.reserved_bytes)} reserved"
    return Text.assemble((word, style), "  ", (source, TITLE), f", {memory.device}: {used}")


def failure_lines(memory: DeviceMemory, failed: FailedRequest) -> Iterator[Text]:
    """Yield what a failed allocation asked for, and what was free."""
    place = program_frame(failed.frames)
    at = f" at {short_place(place)}" if place is not None else ""
    left = f"free blocks up to {size(memory.largest_free_bytes)}, device {size(failed.device_free_bytes)} free"
    yield Text(f"   {size(failed.bytes)} requested{at}: {left}")
    if memory.free_bytes >= failed.bytes > memory.largest_free_bytes:
        yield Text(f"   fragmentation: {size(memory.free_bytes)} is free, in pieces", NOTE)


def owner_lines(memory: DeviceMemory, in_full: bool) -> Iterator[Text]:
    """Yield the largest owners, each with its share and its line."""
    shown = memory.owners if in_full else memory.owners[:MAX_OWNERS]
    for number, owner in enumerate(shown, 1):
        yield owner_line(number, owner, memory)
    rest = memory.owners[len(shown) :]
    if rest:
        text = f"   {counted(len(rest), 'owner')} more: {size(sum(owner.bytes for owner in rest))}, --all"
        yield Text(text, QUIET)


def owner_line(number: int, owner: BlockOwner, memory: DeviceMemory) -> Text:
    """Format an owner: ``1  12.1 GB  33 %  train.py:41  logits = self.head(h)  (3 blocks)``."""
    whole = memory.used_bytes + memory.waiting_bytes
    share = f"{100 * owner.bytes / whole:3.0f} %" if whole else ""
    line = source_line(owner.place) if owner.place is not None else ""
    is_named = owner.place is not None and owner.kind is not OwnerKind.LINE
    where = f"  {short_place(owner.place)}" if is_named and owner.place else ""
    code = f"  `{line}`" if line and owner.kind is not OwnerKind.STREAM else ""
    waits = f"  for {owner.path}" if owner.kind is OwnerKind.STREAM and owner.path else ""
    return Text.assemble(
        f"{number:2}  {size(owner.bytes):>7}  {share}  ",
        (name_of(owner), TITLE),
        f"  {counted(owner.blocks, 'block')}{unused(owner)}{waits}{where}{code}",
    )


def unused(owner: BlockOwner) -> str:
    """Return the words for what an owner holds and nothing reads again."""
    if not owner.unused_bytes:
        return ""
    return f", {'' if owner.unused_bytes == owner.bytes else size(owner.unused_bytes) + ' '}not read again"


def drag_lines(memory: DeviceMemory, in_full: bool) -> Iterator[Text]:
    """Yield how much is held longer than it is used, and in full by whom."""
    if memory.drag:
        yield Text(f"   {size(memory.drag_bytes)} is held longer than it is used: nothing reads it again")
    for one in memory.drag if in_full else ():
        yield Text(f"   {size(one.bytes)} of it: {counted(one.blocks, 'block')} of {one.words}", QUIET)


def name_of(owner: BlockOwner) -> str:
    """Return an owner's name; a line with its file shortened as far as possible."""
    return short_place(owner.place) if owner.kind is OwnerKind.LINE and owner.place else owner.text


def short_place(place: Frame) -> str:
    """Return a line with its file from the working folder on if it is below it, else with the file's last two parts."""
    if not os.path.isabs(place.file):
        return str(place)
    below = os.path.relpath(place.file)
    name = below if not below.startswith("..") else os.path.join(*place.file.split(os.sep)[-2:])
    return f"{name}:{place.line}"


def source_line(place: Frame) -> str:
    """Return the source of a line; empty where it is not here. The name may come from a stranger's file: it may be a pipe."""
    return linecache.getline(place.file, place.line).strip() if os.path.isfile(place.file) else ""


def free_lines(memory: DeviceMemory, in_full: bool) -> Iterator[Text]:
    """Yield how much reserved memory is unused, and which owners keep it."""
    if not in_full and memory.free_bytes < MIN_FREE * memory.reserved_bytes:
        return
    idle = f"; torch.cuda.empty_cache() returns {size(memory.idle_bytes)} of it" if memory.idle_bytes else ""
    yield Text(f"   {size(memory.free_bytes)} is reserved and free{idle}")
    names = {owner.text: name_of(owner) for owner in memory.owners}
    worth = [pin for pin in memory.pins if pin.free_bytes >= MIN_FREE * memory.reserved_bytes]
    for pin in memory.pins if in_full else worth[:PINS]:
        blocks = f"{counted(pin.blocks, 'block')} ({size(pin.bytes)}) of {names.get(pin.owner, pin.owner)}"
        yield Text(f"   {size(pin.free_bytes)} of it is held up by {blocks}", QUIET)


def outside_lines(memory: DeviceMemory) -> Iterator[Line]:
    """What PyTorch's allocator does not have."""
    if memory.outside_bytes > MIN_OUTSIDE * memory.capacity_bytes:
        users = "the context, communicators (NCCL), other processes"
        used = f"{size(memory.outside_bytes)} is used outside of PyTorch's allocator: {users}"
        yield Hanging(Text("   "), Text(used, QUIET))


def pinned_lines(report: DeviceReport) -> Iterator[Line]:
    """The cache of pinned memory, where it keeps much."""
    if report.pinned is not None and report.pinned.advice is not None:
        yield Text(f"pinned host memory: {size(report.pinned.active_bytes)} used of {size(report.pinned.bytes)}")
        yield advice_line(report.pinned.advice)


def advice_lines(memory: DeviceMemory, in_full: bool) -> Iterator[Line]:
    """Yield the advice, the largest saving first."""
    for one in memory.advice if in_full else memory.advice[:MAX_ADVICE]:
        yield advice_line(one)
    if memory.failed is not None and not memory.drag:
        yield Text("   To see what is held longer than it is used: gradlife peak SCRIPT", QUIET)


def advice_line(one: Advice) -> Hanging:
    """``→ 67.1 MB  GL904  let graphs share a pool``. Never cut: the call to make comes last."""
    code = f"  {one.code}" if one.code else ""
    lead = Text.assemble("   → ", (f"{size(one.saved_bytes):>7}", TITLE), f"{code}  ", style=NOTE)
    return Hanging(lead, Text(one.text, NOTE))
