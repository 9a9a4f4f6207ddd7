"""Tables. On a page the reader can sort, filter and search them, and the page draws only the visible rows."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

#: Rows on the page at first; more are drawn on demand or found by the search.
ROWS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it has numbers, which are right-aligned and sorted by value."""

    name: str
    is_number: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, its sort key if different, a CSS class, and a link within the page."""

    text: object
    sort: object = None
    style: str = ""
    link: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns. A cell may be a plain text or number; the first cell of a row is its heading.

    `tags` has words for each row, separated by blanks. `filters` has the tags that become check boxes, with their
    labels: a ticked box leaves only the rows with its tag.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str | int | float]]
    shown: int = ROWS_SHOWN
    tags: Sequence[str] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    key: str = ""  # its id in a page
    is_folded: bool = False  # a page shows it on a click on its caption

    @property
    def lines(self) -> list[tuple[str, list[Cell]]]:
        """Yield every row as its tags and its cells."""
        tags = self.tags or [""] * len(self.rows)
        cells = [[cell if isinstance(cell, Cell) else plain(cell) for cell in row] for row in self.rows]
        return list(zip(tags, cells, strict=True))


def table(
    caption: str, heads: Sequence[str], numbers: Container[str], rows: Sequence[Sequence[Cell | str]], key: str
) -> Table:
    """Return a table of texts; those under the heads in `numbers` are numbers."""
    return Table(caption, [Column(head, head in numbers) for head in heads], rows, key=key)


def plain(value: str | int | float) -> Cell:
    """Return a cell for a text or a number; a number is shown with commas and sorted by value."""
    return Cell(value) if isinstance(value, str) else Cell(f"{value:,}", value)
