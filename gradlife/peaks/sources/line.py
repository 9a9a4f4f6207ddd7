"""A line number with a column: tells statements on one line apart."""

from __future__ import annotations


class Line(int):
    """A line number that also has the column of what the frame runs, in bytes."""

    column: int

    @classmethod
    def at(cls, line: int, column: int) -> int:
        """Return a line with its column; the plain number if that is unknown."""
        if column < 0:
            return line
        found = cls(line)
        found.column = column
        return found
