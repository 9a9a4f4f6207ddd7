"""A report of `gradlife.on_oom` in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from gradlife.model.watching.out_of_memory import OutOfMemory
from gradlife.reports.devices.terminal import Line, device_lines
from gradlife.reports.theme import BAD, QUIET, TITLE
from gradlife.reports.values import size

#: Most lines of each part on the first screen.
MAX_ROWS = 10


def print_out_of_memory(console: Console, report: OutOfMemory, source: str, in_full: bool = False) -> None:
    """Print who held the memory, what had grown, and the owners of each device."""
    for line in lines(report, source, in_full):
        console.print(line, no_wrap=not in_full, overflow="fold" if in_full else "ellipsis")


def lines(report: OutOfMemory, source: str, in_full: bool) -> Iterator[Line]:
    """Yield the lines, in full or as a first screen."""
    most = None if in_full else MAX_ROWS
    rank = f", rank {report.rank}" if report.rank is not None else ""
    yield Text.assemble(("OUT OF MEMORY", BAD), "  ", (source, TITLE), f", process {report.pid}{rank}, {report.time}")
    yield Text(f"   {report.cause}")
    yield Text(f"   {size(report.resident_bytes)} resident, the limit is {size(report.limit_bytes)}")
    yield Text("Held by (what would be freed with each)", TITLE)
    yield from (Text(f"   {size(one.bytes):>7}  {one.name}") for one in report.owners[:most])
    yield Text("Grown most since gradlife.on_oom()", TITLE)
    for row in report.growth[:most]:
        yield Text(f"   {size(row.bytes):>7}  {row.type}, {row.objects:,} more", QUIET)
    if report.held:
        yield Text("Held by the failed step", TITLE)
        yield from (Text(f"   {size(one.bytes):>7}  {one.what}") for one in report.held[:most])
    for memory in report.device_memory:
        yield from device_lines(memory, source, in_full)
