"""A table of short values: a wide label, then a narrow column per system. It never grows wider than the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from gradlife.reports.run.names import Heading, heading_width, numbered
from gradlife.reports.theme import QUIET, TITLE

#: A column narrower than this is too narrow for a verdict.
MIN_COLUMN = 5
MIN_LABEL = 26
GAP = 1


@dataclass(frozen=True)
class Cell:
    """A short value, the mark behind it, and the style of both."""

    text: str
    mark: str = ""
    style: str = ""
    mark_style: str = ""

    @property
    def width(self) -> int:
        """The number of columns that the cell takes."""
        return cell_len(self.text) + len(self.mark)

    def render(self, width: int) -> Text:
        """Return the cell, padded to a width."""
        text = Text(self.text, self.style, no_wrap=True)
        text.append(self.mark, self.mark_style)
        text.append(" " * (width - self.width))
        return text


@dataclass(frozen=True)
class Row:
    """A label and a cell per column; without cells a title over the rows that follow.

    A note follows the label if there is room for it on the same line.
    """

    label: str
    cells: tuple[Cell, ...] = ()
    indent: int = 0
    style: str = ""
    note: str = ""

    @property
    def width(self) -> int:
        """The number of columns that the label takes with its note."""
        return self.indent + len(self.label) + len(self.note)

    def text(self, width: int) -> str:
        """Return the label, with its note if both fit."""
        return self.label + (self.note if self.width <= width else "")


@dataclass
class Grid:
    """Headings and rows. Columns that do not fit side by side are drawn in several blocks, one below the other.

    If headings would push columns into another block, numbers replace them, unless headings must be kept.
    """

    headings: Sequence[Heading]
    rows: list[Row] = field(default_factory=list)
    keeps_headings: bool = False

    def title(self, label: str, style: str = TITLE, indent: int = 0) -> None:
        """Add a title."""
        self.rows.append(Row(label, (), indent, style))

    def row(self, label: str, cells: Sequence[Cell], indent: int = 0, note: str = "") -> None:
        """Add a row."""
        self.rows.append(Row(label, tuple(cells), indent, note=note))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headings = self.fitting_headings(options.max_width)
        widths = [self.column_width(headings, column) for column in range(len(headings))]
        for block in blocks(widths, options.max_width - self.min_label_width):
            yield from self.draw(headings, widths, block, options)

    @property
    def min_label_width(self) -> int:
        """The least width of labels; no more than they need if headings are kept."""
        if not self.keeps_headings:
            return MIN_LABEL
        return min(MIN_LABEL, max((row.width for row in self.rows if row.cells), default=MIN_LABEL))

    def fitting_headings(self, room: int) -> list[Heading]:
        """Return the headings, or numbers if names would push columns into another block."""
        needed = sum(self.column_width(self.headings, column) + GAP for column in range(len(self.headings)))
        fits = self.keeps_headings or needed <= room - self.min_label_width
        return list(self.headings) if fits else numbered(len(self.headings))

    def column_width(self, headings: Sequence[Heading], column: int) -> int:
        """Return the width that a column needs."""
        cells = max((row.cells[column].width for row in self.rows if row.cells), default=0)
        return max(MIN_COLUMN, heading_width(headings[column]), cells)

    def draw(
        self, headings: Sequence[Heading], widths: Sequence[int], block: range, options: ConsoleOptions
    ) -> Iterator[Text]:
        """Draw some of the columns."""
        room = options.max_width - sum(widths[column] + GAP for column in block)
        label_width = min(room, max((row.width for row in self.rows if row.cells), default=0))
        yield from draw_headings(
            [headings[column] for column in block], [widths[column] for column in block], label_width
        )
        total = label_width + sum(widths[column] + GAP for column in block)
        yield Text(("-" if options.ascii_only else "─") * total, QUIET)
        for row in self.rows:
            if row.cells:
                yield from draw_row(row, widths, block, label_width)
            else:
                yield from draw_title(row, options.max_width)


def blocks(widths: Sequence[int], room: int) -> Iterator[range]:
    """Yield ranges of columns that fit beside a label."""
    start, used = 0, 0
    for column, width in enumerate(widths):
        if used + width + GAP > room and column > start:
            yield range(start, column)
            start, used = column, 0
        used += width + GAP
    yield range(start, len(widths))


def draw_headings(headings: Sequence[Heading], widths: Sequence[int], label_width: int) -> Iterator[Text]:
    """Yield the lines of the headings, aligned at the bottom."""
    height = max(map(len, headings), default=0)
    for line in range(height):
        text = Text(" " * label_width, TITLE, no_wrap=True)
        for heading, width in zip(headings, widths, strict=True):
            above = line - (height - len(heading))
            text.append(" " * GAP + (heading[above] if above >= 0 else "").ljust(width))
        text.rstrip()
        yield text


def draw_row(row: Row, widths: Sequence[int], block: range, label_width: int) -> Iterator[Text]:
    """Draw a row; a label that is too long continues on the line below."""
    first, *rest = folded(row.text(label_width), label_width, row.indent)
    line = Text(first.ljust(label_width), row.style, no_wrap=True)
    for column in block:
        line.append(" " * GAP)
        line.append_text(row.cells[column].render(widths[column]))
    line.rstrip()
    yield line
    for more in rest:
        yield Text(more, row.style, no_wrap=True)


def draw_title(row: Row, width: int) -> Iterator[Text]:
    """Draw a title over the whole width."""
    for line in folded(row.label, width, row.indent):
        yield Text(line, row.style, no_wrap=True)


def folded(text: str, width: int, indent: int = 0) -> list[str]:
    """Wrap the text to `width`, after blanks and `_./,=`; further lines are indented more."""
    lines: list[str] = []
    line = " " * indent
    for piece in re.findall(r"[^\s_./,=]*[\s_./,=]*", text):
        while piece:
            if len(line) + len(piece.rstrip()) <= width:
                line += piece
                break
            if line.strip():
                lines.append(line.rstrip())
                line = " " * (indent + 2)
            else:
                lines.append(line + piece[: width - len(line)])
                piece = piece[width - len(line) :]
                line = " " * (indent + 2)
    return [*lines, line.rstrip()] if line.strip() or not lines else lines
