"""Tables that the reader sorts, filters and searches; the page draws only the rows that are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Rows that stand in the page at once; more are drawn on demand, or found by the search.
ROWS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it has numbers, which stand to the right and are sorted as such."""

    name: str
    is_number: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, what it is sorted by if that is something else, a class of the style sheet, a link within the page."""

    text: object
    sort: object = None
    style: str = ""
    link: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns. A cell may be a plain text or number; the first cell of a row is its heading.

    `tags` has words for each row, separated by blanks; `filters` says which of them the reader may ask for, and how a
    person calls them: each becomes a box to tick that leaves only the rows with its tag.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str | int | float]]
    shown: int = ROWS_SHOWN
    tags: Sequence[str] = ()
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> list[tuple[str, list[Cell]]]:
        """Every row as its tags and its cells."""
        tags = self.tags or [""] * len(self.rows)
        cells = [[cell if isinstance(cell, Cell) else plain(cell) for cell in row] for row in self.rows]
        return list(zip(tags, cells, strict=True))


def plain(value: str | int | float) -> Cell:
    """A cell for a text, or for a number, which is written with commas and sorted as it is."""
    return Cell(value) if isinstance(value, str) else Cell(f"{value:,}", value)
