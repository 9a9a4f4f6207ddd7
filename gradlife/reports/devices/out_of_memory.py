"""A report of `gradlife.on_oom` in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gradlife.model.heap import device_of
from gradlife.model.watching.out_of_memory import Growth, OutOfMemory
from gradlife.reports.devices.terminal import Line, device_lines
from gradlife.reports.hunt.ranks import OF_A_TENSOR
from gradlife.reports.layout import MIN_TEXT, middle_out
from gradlife.reports.theme import BAD, QUIET, TITLE
from gradlife.reports.values import counted, size
from gradlife.reports.visible_report import shows_report

#: Most lines of each part on the first screen.
MAX_ROWS = 10

#: The least of a row on the first screen, as a share of the largest row of its part.
MIN_SHARE = 0.01

#: The columns before the text of a row.
LEAD = len("   16.8 MB  ")

#: A variable by its name, and the words before it.
VARIABLE = re.compile(r"(?:global|local) variable '([^']+)'")

#: What hangs on a variable of a function: ``local variable 'out' → grad_fn of step, train.py:14``.
PATH_FROM_VARIABLE = re.compile(r"(?P<variable>(?:local variable|argument) '[^']+') → .* of (?P<function>[^→]+)")

#: The type of a tensor's storage, with its device if that is not the CPU.
STORAGE = "torch::StorageImpl"


@dataclass(frozen=True)
class Row:
    """A line of a part: how much, where, and what is there."""

    bytes: int
    place: str
    type: str
    count: str
    is_always_shown: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return f"{self.place}: {self.type}{self.count}" if self.type else self.place + self.count


@shows_report
def print_out_of_memory(console: Console, report: OutOfMemory, source: str, in_full: bool = False) -> None:
    """Print who held the memory, what had grown, and the owners of each device."""
    for line in lines(report, source, console.width, in_full):
        console.print(line, no_wrap=not in_full, overflow="fold" if in_full else "ellipsis")


def lines(report: OutOfMemory, source: str, width: int, in_full: bool) -> Iterator[Line]:
    """Yield the lines, in full or as a first screen."""
    rank = f", rank {report.rank}" if report.rank is not None else ""
    yield Text.assemble(("OUT OF MEMORY", BAD), "  ", (source, TITLE), f", process {report.pid}{rank}, {report.time}")
    yield Text(f"   {report.cause if in_full else middle_out(report.headline, max(MIN_TEXT, width - 3))}")
    yield Text(f"   {size(report.resident_bytes)} resident, the limit is {size(report.limit_bytes)}")
    room = None if in_full else width
    yield from part("Held by (what would be freed with each)", owner_rows(report, in_full), room)
    yield from part("Held by the failed step", held_rows(report), room)
    yield from part("Grown most since gradlife.on_oom()", growth_rows(report), room, QUIET)
    for memory in report.device_memory:
        yield from device_lines(memory, source, in_full)


def part(title: str, rows: Sequence[Row], width: int | None, style: str = "") -> Iterator[Text]:
    """Yield the title and the rows: all in full, or the largest, as short as the width requires."""
    most = max((row.bytes for row in rows), default=0)
    large = [row for row in rows if row.is_always_shown or row.bytes >= MIN_SHARE * most]
    shown = rows if width is None else large[:MAX_ROWS]
    if shown:
        yield Text(title, TITLE)
    texts = [row.text for row in shown] if width is None else fitted(shown, width - LEAD)
    yield from (Text(f"   {size(row.bytes):>7}  {text}", style) for row, text in zip(shown, texts, strict=True))


def fitted(rows: Sequence[Row], room: int) -> list[str]:
    """Return the texts in the longest form that fits all rows; names and lines say more than words and types."""
    short = [replace(row, place=short_place(row.place)) for row in rows]
    for form in (rows, short):
        if all(cell_len(row.text) <= room for row in form):
            return [row.text for row in form]
    return [cut(row, room) for row in short]


def cut(row: Row, room: int) -> str:
    """Return the text of a row without its type, and without the middle of its place, if it has no room."""
    if cell_len(row.text) <= room:
        return row.text
    return middle_out(row.place, max(MIN_TEXT, room - cell_len(row.count))) + row.count


def short_place(place: str) -> str:
    """Return ``trainer.history`` for ``module __main__: global variable 'trainer'.history``."""
    return VARIABLE.sub(r"\1", re.sub("^module __main__: (?=global)", "", place))


def owner_rows(report: OutOfMemory, in_full: bool) -> list[Row]:
    """Return the owners, on the first screen without parts of others and what the failed step has."""
    held = () if in_full else {place_of(one.what) for one in report.held}
    shown = (one for one in report.owners if in_full or not (one.is_part or root_of(place_of(one.name)) in held))
    return [Row(one.bytes, place_of(one.name), type_of(one.name), count(one.objects, "object")) for one in shown]


def root_of(place: str) -> str:
    """Return the variable of a function that a path begins with; the place itself if it begins elsewhere."""
    found = PATH_FROM_VARIABLE.fullmatch(place)
    return f"{found['variable']} of {found['function']}" if found else place


def held_rows(report: OutOfMemory) -> list[Row]:
    """Return what the variables of the failed step hold."""
    return [
        Row(one.bytes, place_of(one.what), type_of(one.what), count(one.storages, "storage")) for one in report.held
    ]


def place_of(name: str) -> str:
    """Return the place of an object, without its type and without the way from a tensor to its storage."""
    return name.removesuffix(OF_A_TENSOR) if name.endswith(OF_A_TENSOR) else name.rpartition(": ")[0]


def type_of(name: str) -> str:
    """Return the type at the end of a name."""
    return "Tensor" if name.endswith(OF_A_TENSOR) else name.rpartition(": ")[2]


def count(number: int, noun: str) -> str:
    """Return the number of objects behind a name if there are several."""
    return f", {counted(number, noun)}" if number > 1 else ""


def growth_rows(report: OutOfMemory) -> list[Row]:
    """Return the kinds of objects that grew, the storages on devices first."""
    first = sorted(report.growth, key=lambda one: (not is_on_device(one), -one.bytes))
    return [Row(one.bytes, kind(one), "", f", {one.objects:,} more", is_on_device(one)) for one in first]


def is_on_device(growth: Growth) -> bool:
    """Whether it is the growth of storages on a device."""
    return growth.type.startswith(STORAGE) and device_of(growth.type) != "cpu"


def kind(growth: Growth) -> str:
    """Return the type as a user knows it."""
    if not growth.type.startswith(STORAGE):
        return growth.type
    return f"storages of tensors on {device_of(growth.type)}" if is_on_device(growth) else "storages of tensors"
