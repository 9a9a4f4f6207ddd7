"""A memory map: a row per segment, a bar per run of blocks in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlife.reports.drawing.svg import Svg, element, joined, picture

ROW, GAP = 16.0, 5.0
#: Least width of a bar.
MIN_WIDTH = 0.75
#: Room for the size of a segment, to the left of its row.
LABEL = 64.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A run of blocks."""

    start: float  # bytes from the beginning of the row
    length: float
    tone: str  # the CSS class of its colour
    description: str
    owner: int  # the owner's number in the table; -1: free


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One segment and its runs of blocks."""

    label: str  # its size
    length: float
    description: str
    bars: tuple[Bar, ...]


def memory_rows(rows: Sequence[MemoryRow], width: float, title: str, description: str) -> Svg:
    """Draw the rows below one another, all at the scale of the longest."""
    longest = max((row.length for row in rows), default=1.0)
    scale = (width - LABEL - 2) / longest
    parts = [row_drawing(row, number * (ROW + GAP) + 1, scale) for number, row in enumerate(rows)]
    height = max(1, len(rows)) * (ROW + GAP)
    return picture(width, height, title, description, parts, kind="memory-map", role="group")


def row_drawing(row: MemoryRow, top: float, scale: float) -> Svg:
    """Draw one segment: its size, its outline, its bars."""
    label = element("text", row.label, x=LABEL - 8, y=top + 0.75 * ROW, text_anchor="end", class_="tick")
    width = max(MIN_WIDTH, row.length * scale)
    outline = element("rect", x=LABEL, y=top, width=width, height=ROW, class_="outline")
    return element("g", element("title", row.description), label, joined([outline, *bars(row, top, scale)]))


def bars(row: MemoryRow, top: float, scale: float) -> Iterator[Svg]:
    """Draw the runs of a segment."""
    for bar in row.bars:
        yield element(
            "rect",
            element("title", bar.description),
            x=LABEL + bar.start * scale,
            y=top,
            width=max(MIN_WIDTH, bar.length * scale),
            height=ROW,
            class_=f"run tone-{bar.tone}",
            data_owner=str(bar.owner),
        )
